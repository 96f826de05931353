// The tags and texts of HTML in order, in one pass and without a tree, as browsers tell them apart
// (WHATWG HTML §13.2.5). Knows nothing of what a tag means, but which elements hold text alone.

export type Attributes = Readonly<Record<string, string>>

export type MarkupReader = {
  /** `attributes`: those asked for, names in lower case; `count`: how many the tag has. */
  open(name: string, attributes: Attributes, count: number): void
  close(name: string): void
  /** As it is written: entities are not decoded. Of `style` and the like what stands within. */
  text?(source: string): void
}

/** Elements whose content holds no tags, and what ends them. */
const RAW: ReadonlyMap<string, RegExp> = new Map(
  'script style textarea title xmp iframe noembed noframes'
    .split(' ')
    .map((name) => [name, new RegExp(`</${name}(?=[\\s/>])`, 'gi')]),
)
const NO_ATTRIBUTES: Attributes = {}
const NO_NAMES: ReadonlySet<string> = new Set()

/** Time is linear in the length of `html`. `wanted`: names of the attributes that are told. */
export function scanMarkup(
  html: string,
  reader: MarkupReader,
  wanted: ReadonlySet<string> = NO_NAMES,
): void {
  let textStart = 0
  let at = html.indexOf('<')
  while (at !== -1) {
    const isEnd = html.charCodeAt(at + 1) === SLASH
    const nameStart = isEnd ? at + 2 : at + 1
    const isTag = isLetter(html.charCodeAt(nameStart))
    if (!isTag && !isEnd && !isBang(html.charCodeAt(at + 1))) {
      at = html.indexOf('<', at + 1)
      continue
    }
    if (at > textStart) reader.text?.(html.slice(textStart, at))
    if (!isTag) {
      textStart = endOfComment(html, at)
    } else {
      const nameEnd = endOfName(html, nameStart)
      const name = html.slice(nameStart, nameEnd).toLowerCase()
      const tag = readTag(html, nameEnd, isEnd ? NO_NAMES : wanted)
      if (tag === null) return
      textStart = tag.end
      if (isEnd) reader.close(name)
      else {
        reader.open(name, tag.attributes, tag.count)
        if (RAW.has(name)) textStart = passRaw(html, name, tag.end, reader)
      }
    }
    if (textStart === -1) return
    at = html.indexOf('<', textStart)
  }
  if (textStart < html.length) reader.text?.(html.slice(textStart))
}

const SLASH = 0x2f
const GREATER = 0x3e
const EQUALS = 0x3d
const DOUBLE_QUOTE = 0x22
const SINGLE_QUOTE = 0x27

function isLetter(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)
}

/** `<!` and `<?`. */
function isBang(code: number): boolean {
  return code === 0x21 || code === 0x3f
}

/** The index behind a comment, a declaration or an end tag without a name; -1 where it has no end. */
function endOfComment(html: string, at: number): number {
  if (!html.startsWith('<!--', at)) {
    const end = html.indexOf('>', at)
    return end === -1 ? -1 : end + 1
  }
  const closing = /--!?>/g
  closing.lastIndex = at + 2
  return closing.exec(html) === null ? -1 : closing.lastIndex
}

function endOfName(html: string, start: number): number {
  let at = start
  for (; at < html.length; at++) {
    const code = html.charCodeAt(at)
    if (code <= 0x20 || code === SLASH || code === GREATER) break
  }
  return at
}

type Tag = { readonly end: number; readonly attributes: Attributes; readonly count: number }

/** From behind the tag's name; null where the tag has no end. */
function readTag(html: string, start: number, wanted: ReadonlySet<string>): Tag | null {
  let found: Record<string, string> | null = null
  let count = 0
  let at = start
  while (at < html.length) {
    const code = html.charCodeAt(at)
    if (code === GREATER) return { end: at + 1, attributes: found ?? NO_ATTRIBUTES, count }
    if (code <= 0x20 || code === SLASH) {
      at++
      continue
    }
    const nameStart = at
    at = endOfAttributeName(html, at)
    count++
    const nameEnd = at
    const value = valueAt(html, at)
    if (value === null) return null
    at = value.end
    if (nameEnd - nameStart > WANTED_LENGTH_MAX) continue
    const name = html.slice(nameStart, nameEnd).toLowerCase()
    if (!wanted.has(name)) continue
    found ??= {}
    found[name] ??= html.slice(value.from, value.to)
  }
  return null
}

const WANTED_LENGTH_MAX = 20

function endOfAttributeName(html: string, start: number): number {
  for (let at = start + 1; at < html.length; at++) {
    const code = html.charCodeAt(at)
    if (code <= 0x20 || code === SLASH || code === GREATER || code === EQUALS) return at
  }
  return html.length
}

/** From behind an attribute's name: where its value is, and what follows begins; null without an end. */
function valueAt(html: string, start: number): { from: number; to: number; end: number } | null {
  let at = passBlanks(html, start)
  if (html.charCodeAt(at) !== EQUALS) return { from: start, to: start, end: at }
  at = passBlanks(html, at + 1)
  const quote = html.charCodeAt(at)
  if (quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE) {
    const to = html.indexOf(quote === DOUBLE_QUOTE ? '"' : "'", at + 1)
    return to === -1 ? null : { from: at + 1, to, end: to + 1 }
  }
  const from = at
  while (at < html.length && html.charCodeAt(at) > 0x20 && html.charCodeAt(at) !== GREATER) at++
  return { from, to: at, end: at }
}

function passBlanks(html: string, start: number): number {
  let at = start
  while (at < html.length && html.charCodeAt(at) <= 0x20) at++
  return at
}

/** Tells the content of an element without tags, and its end; returns the index behind, -1 at the end. */
function passRaw(html: string, name: string, start: number, reader: MarkupReader): number {
  const closing = RAW.get(name) ?? /$/g
  closing.lastIndex = start
  const found = closing.exec(html)
  if (found === null) return -1
  if (found.index > start) reader.text?.(html.slice(start, found.index))
  reader.close(name)
  const end = html.indexOf('>', found.index)
  return end === -1 ? -1 : end + 1
}
