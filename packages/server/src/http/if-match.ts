// Changes of one version of a resource (RFC 9110 §13.1.1).

/** Whether the field `If-Match` allows a change of the resource that has this ETag now. A weak tag never matches. */
export function isMatch(field: string | string[] | undefined, etag: string): boolean {
  if (isAnyMatch(field)) return true
  return String(field)
    .split(',')
    .some((tag) => tag.trim() === etag)
}

/** Whether every version may be changed: without the field, or with `*`. */
export function isAnyMatch(field: string | string[] | undefined): boolean {
  return field === undefined || String(field).trim() === '*'
}
