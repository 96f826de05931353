// Long addresses made short for a reader who pays by the character: what is left shows the host and
// cannot be taken for an address that works.

/** A longer address is shortened, to about as many characters as are kept. */
const VIEW_LINK_LENGTH_MAX = 48
const VIEW_LINK_KEPT = 20

/** Shortens the links of one message, and numbers those in order. */
export class LinkShortener {
  readonly #isFull: boolean
  #count = 0
  #dataCount = 0

  /** With `isFull` addresses stay whole; data: URIs never do. */
  constructor(isFull: boolean) {
    this.#isFull = isFull
  }

  /** Links shortened so far. */
  get count(): number {
    return this.#count
  }

  /** data: URIs taken out of text so far. */
  get dataCount(): number {
    return this.#dataCount
  }

  /** `host/first…[link 3]` for an address that is too long. */
  shorten(url: string): string {
    if (this.#isFull || url.length <= VIEW_LINK_LENGTH_MAX) return url
    this.#count += 1
    return `${beginningOf(url)}…[link ${this.#count}]`
  }

  /** The same for every address in a text, with data: URIs told by size and type. Time is linear. */
  shortenAll(text: string): string {
    const withoutData = text.includes('data:')
      ? text.replace(DATA_URI, (_, type: string, data: string) => {
          this.#dataCount += 1
          return describeData(type, data.length)
        })
      : text
    if (this.#isFull || !withoutData.includes('://')) return withoutData
    return withoutData.replace(LONG_URL, (url) => this.shorten(url))
  }
}

const DATA_URI = /\bdata:([a-z]{1,20}\/[\w.+-]{1,60})(?:;[\w=.-]{1,40}){0,5},([\w+/=%-]{40,})/gi
const LONG_URL = new RegExp(
  `\\b(?:https?|ftp)://[^\\s<>"'\`\\])…]{${VIEW_LINK_LENGTH_MAX - 7},}`,
  'gi',
)

/** Host, and of the path what there is room for; a host that is too long loses its beginning. */
function beginningOf(url: string): string {
  const found = /^([a-z][a-z0-9+.-]{0,20}:\/\/)([^/?#\s]*)(.*)$/is.exec(url)
  if (found === null) return url.slice(0, VIEW_LINK_KEPT)
  const [, , authority = '', rest = ''] = found
  // What stands before an @ is a name, and only looks like the host.
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const shown = host.length > HOST_LENGTH_MAX ? `…${host.slice(-HOST_LENGTH_MAX)}` : host
  const path = rest.replace(/[?#].*$/s, '')
  return `${shown}${path.slice(0, Math.max(0, VIEW_LINK_KEPT - shown.length))}`
}

/** With its scheme shorter than what is shortened, so that nothing is shortened twice. */
const HOST_LENGTH_MAX = 36

/** `[image, 12 kB, image/png]`; `length` counts the characters of its base64. */
export function describeData(type: string, length: number): string {
  const plain = type.toLowerCase().slice(0, 60)
  return `[${plain.startsWith('image/') ? 'image' : 'data'}, ${kilobytes((length * 3) / 4)}, ${plain}]`
}

/** `12 kB`; thousands of octets, at least 1. */
export function kilobytes(sizeBytes: number): string {
  return `${Math.max(1, Math.round(sizeBytes / 1000))} kB`
}
