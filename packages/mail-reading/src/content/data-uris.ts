import { readReferences, readTags } from './markup.ts'

/**
 * Whether an attribute or a style sheet of the HTML has a `data:` URI (RFC 2397), which is a file in the HTML itself. Also
 * with references, escapes of CSS, and the white space that browsers leave out of URIs.
 */
export function hasDataUri(html: string): boolean {
  const source = readReferences(readTags(html))
    .text.replace(CSS_ESCAPES, (_, hex) => characterOf(Number.parseInt(hex, 16)))
    .replace(/[\0-\x1f\x7f]/g, '')
    .replace(/ +/g, ' ')
  let end = -1
  for (const { index } of source.matchAll(DATA)) {
    // Searched again only after it is passed, so that the time is linear.
    if (end < index) end = endOf(source, index)
    if (source[end] === ',') return true
  }
  return false
}

const CSS_ESCAPES = /\\([0-9a-f]{1,6})[ \t\n]?/gi
/** At the start of a value, a candidate of `srcset`, or a `url()`. */
const DATA = /[=("',;] ?(?:url=)?data:/gi

function characterOf(code: number): string {
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

function endOf(source: string, from: number): number {
  const end = /[,>]/g
  // The comma of the candidate before is not that of the URI.
  end.lastIndex = from + 1
  return end.exec(source)?.index ?? source.length
}
