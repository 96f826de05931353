import { readReferences, readTags } from './markup.ts'

/**
 * Whether an attribute or style sheet of the HTML has a `data:` URI (RFC 2397), which embeds a
 * file. Also finds URIs with character references, CSS escapes, and the white space that browsers
 * ignore in URIs.
 */
export function hasDataUri(html: string): boolean {
  const source = readReferences(readTags(html))
    .text.replace(CSS_ESCAPES, (_, hex) => characterOf(Number.parseInt(hex, 16)))
    .replace(/[\0-\x1f\x7f]/g, '')
    .replace(/ +/g, ' ')
  let end = -1
  for (const { index } of source.matchAll(DATA)) {
    // Each end is searched for once, so that the time is linear.
    if (end < index) end = endOf(source, index)
    if (source[end] === ',') return true
  }
  return false
}

const CSS_ESCAPES = /\\([0-9a-f]{1,6})[ \t\n]?/gi
/** Matches `data:` at the start of a value, of a candidate in `srcset`, or of a `url()`. */
const DATA = /[=("',;] ?(?:url=)?data:/gi

function characterOf(code: number): string {
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

function endOf(source: string, from: number): number {
  const end = /[,>]/g
  // Skips the comma of the preceding candidate.
  end.lastIndex = from + 1
  return end.exec(source)?.index ?? source.length
}
