/** Evaluates If-Match (RFC 9110 §13.1.1). A weak tag never matches. */
export function isMatch(field: string | string[] | undefined, etag: string): boolean {
  if (isAnyMatch(field)) return true
  return String(field)
    .split(',')
    .some((tag) => tag.trim() === etag)
}

export function isAnyMatch(field: string | string[] | undefined): boolean {
  return field === undefined || String(field).trim() === '*'
}
