// Mailto URIs (RFC 6068), which calendar files use for addresses.

/** Matches a local part without control characters and line ends. */
const LOCAL_PART = String.raw`(?:[^\s\p{Cc}@<>,;:"]+|"(?:[^"\\\p{Cc}\p{Zl}\p{Zp}]|\\[\x20-\x7e])*")`
const DOMAIN = String.raw`(?:[^\s\p{Cc}@<>,;:"[\]]+|\[[\w.:]+\])`
const ADDRESS = new RegExp(`^${LOCAL_PART}@${DOMAIN}$`, 'u')

/** Percent-encodes each part once (§2), without characters that mail programs expect unencoded. */
export function mailtoOf(address: string): string {
  const at = address.lastIndexOf('@')
  return `mailto:${encoded(address.slice(0, at))}@${encoded(address.slice(at + 1))}`
}

function encoded(part: string): string {
  return encodeURIComponent(part.toWellFormed()).replace(/%2B/g, '+').replace(/%24/g, '$')
}

/** The address of a URI with exactly one, or else null. Header fields in the URI are dropped. */
export function addressOfMailto(uri: string): string | null {
  const rest = /^\s*mailto:(.*)$/is.exec(uri)?.[1]?.trim()
  if (rest === undefined) return null
  return plainAddress(decoded(/^[^?]*@[^?]*/.exec(rest)?.[0] ?? rest))
}

/** The address in a text; null if the text is anything but one address. */
export function plainAddress(text: string): string | null {
  return ADDRESS.test(text) ? text : null
}

/** Returns the text unchanged if it contains an unencoded percent sign. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
