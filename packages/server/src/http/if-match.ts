// Changes of one version of a resource (RFC 9110 §13.1.1).

/** Whether the field `If-Match` allows a change of the resource that has this ETag now. A weak tag never matches. */
export function isMatch(field: string | string[] | undefined, etag: string): boolean {
  if (field === undefined) return true
  return String(field)
    .split(',')
    .some((tag) => ['*', etag].includes(tag.trim()))
}
