// Whether a body is HTML or plain text, by how it begins. Refuses to read on: markup further down in
// a text is somebody's example.

/** The elements of the living standard, and those that browsers still render. */
const ELEMENTS = new Set(
  `a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption
  cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset
  figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins
  kbd label legend li link main map mark math menu meta meter nav noscript object ol optgroup option
  output p param picture pre progress q rp rt ruby s samp script search section select selectedcontent
  slot small source span strong style sub summary sup svg table tbody td template textarea tfoot th
  thead time title tr track u ul var video wbr
  acronym applet basefont bgsound big blink center dir font frame frameset image isindex keygen
  listing marquee menuitem multicol nextid nobr noembed noframes plaintext rb rtc spacer strike tt
  xmp`.split(/\s+/),
)
/** `<` and a name up to white space, a slash or the end of the tag, which must come. */
const START_TAG = /<([a-z][a-z0-9]*)(?=[\s/>])[^>]*>/iy
const DOCTYPE = /<!doctype[\s>]/iy
const SPACE = /[\s\ufeff]*/y

/**
 * True when the first thing after white space, a byte order mark, comments and processing
 * instructions is a doctype or the start tag of a known element. An end tag is none: `</p>` begins
 * nothing, neither does `<john@example.com>`, `<3` or `<notes>`. Time is linear in the length.
 */
export function isHtml(text: string): boolean {
  let at = 0
  for (;;) {
    SPACE.lastIndex = at
    SPACE.exec(text)
    at = SPACE.lastIndex
    if (text[at] !== '<') return false
    const end = endOfComment(text, at)
    if (end === null) break
    at = end
  }
  if (matchesAt(DOCTYPE, text, at)) return true
  START_TAG.lastIndex = at
  const name = START_TAG.exec(text)?.[1]
  return name !== undefined && ELEMENTS.has(name.toLowerCase())
}

/** The index after a comment or what browsers take for one; null for anything else. */
function endOfComment(text: string, at: number): number | null {
  if (matchesAt(DOCTYPE, text, at)) return null
  if (text.startsWith('<!--', at)) return indexAfter(text, '-->', at + 2)
  if (text.startsWith('<!', at) || text.startsWith('<?', at)) return indexAfter(text, '>', at)
  return null
}

function indexAfter(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from)
  return found < 0 ? text.length : found + end.length
}

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}
