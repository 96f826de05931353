// Addresses as URIs (RFC 6068), which calendar files have.

/** Without a control character or the end of a line. */
const LOCAL_PART = String.raw`(?:[^\s\p{Cc}@<>,;:"]+|"(?:[^"\\\p{Cc}\p{Zl}\p{Zp}]|\\[\x20-\x7e])*")`
const DOMAIN = String.raw`(?:[^\s\p{Cc}@<>,;:"[\]]+|\[[\w.:]+\])`
const ADDRESS = new RegExp(`^${LOCAL_PART}@${DOMAIN}$`, 'u')

/** Each part percent-encoded once (§2), but for the signs that mail programs expect as they are. */
export function mailtoOf(address: string): string {
  const at = address.lastIndexOf('@')
  return `mailto:${encoded(address.slice(0, at))}@${encoded(address.slice(at + 1))}`
}

function encoded(part: string): string {
  return encodeURIComponent(part.toWellFormed()).replace(/%2B/g, '+').replace(/%24/g, '$')
}

/** Null for another URI, and for what is not one address. The fields of a message after it are left out. */
export function addressOfMailto(uri: string): string | null {
  const rest = /^\s*mailto:(.*)$/is.exec(uri)?.[1]?.trim()
  if (rest === undefined) return null
  return plainAddress(decoded(/^[^?]*@[^?]*/.exec(rest)?.[0] ?? rest))
}

/** Null for what is not one address. */
export function plainAddress(text: string): string | null {
  return ADDRESS.test(text) ? text : null
}

/** As it is where a program has not encoded a percent sign. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
