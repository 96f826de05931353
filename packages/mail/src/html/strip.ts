// HTML to text without a tree: one pass over the characters, for input that no parser should see.
// Refuses to know links, tables and anything else that needs more than the tag's name.

const BREAKING_TAGS = new Set(
  'address article blockquote br dd div dl dt footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul'.split(
    ' ',
  ),
)
const UNSEEN_TAGS = new Set(['script', 'style', 'title', 'noscript', 'template'])
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
])
const UNICODE_MAX = 0x10ffff

/** Time is linear in the length of `html`. */
export function stripTags(html: string): string {
  const pieces: string[] = []
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    if (open === -1) break
    pieces.push(html.slice(at, open))
    const tag = readTag(html, open)
    if (tag === null) return textOf(pieces)
    if (BREAKING_TAGS.has(tag.name)) pieces.push('\n')
    at = tag.end
  }
  pieces.push(html.slice(at))
  return textOf(pieces)
}

/** The tag's name and the index after it, with the contents of unseen elements; null at the end. */
function readTag(html: string, open: number): { name: string; end: number } | null {
  if (html.startsWith('<!--', open)) return endAfter('', html.indexOf('-->', open), 3)
  const close = html.indexOf('>', open)
  const name = /^<\/?([a-z][a-z0-9]*)/i.exec(html.slice(open, open + 20))?.[1]?.toLowerCase() ?? ''
  if (close !== -1 && UNSEEN_TAGS.has(name) && html[open + 1] !== '/') {
    const closing = html.slice(close).search(new RegExp(`</${name}`, 'i'))
    if (closing === -1) return null
    return endAfter(name, html.indexOf('>', close + closing), 1)
  }
  return endAfter(name, close, 1)
}

function endAfter(name: string, at: number, length: number): { name: string; end: number } | null {
  return at === -1 ? null : { name, end: at + length }
}

function textOf(pieces: readonly string[]): string {
  return pieces
    .join('')
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal, hex, name) => {
      if (name !== undefined) return ENTITIES.get(String(name).toLowerCase()) ?? whole
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
      return code > 0 && code <= UNICODE_MAX ? String.fromCodePoint(code) : whole
    })
}
