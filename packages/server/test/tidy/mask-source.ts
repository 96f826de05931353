// The text of TypeScript with comments, strings and patterns masked, so that regular expressions can be used on the
// rest. Lengths and line ends stay, so offsets in the mask are offsets in the text.

export type MaskedSource = {
  /** Comments, the insides of strings, templates and regular expressions are spaces. */
  readonly code: string
  /** Only the comments are left. */
  readonly comments: string
}

type Span = { start: number; end: number; kind: 'comment' | 'text' }

export function maskSource(text: string): MaskedSource {
  const spans = findSpans(text)
  const comments = spans.filter(({ kind }) => kind === 'comment')
  let onlyComments = ''
  let end = 0
  for (const span of comments) {
    onlyComments += blank(text.slice(end, span.start)) + text.slice(span.start, span.end)
    end = span.end
  }
  return { code: blankSpans(text, spans), comments: onlyComments + blank(text.slice(end)) }
}

function blankSpans(text: string, spans: readonly Span[]): string {
  let result = ''
  let end = 0
  for (const span of spans) {
    result += text.slice(end, span.start) + blank(text.slice(span.start, span.end))
    end = span.end
  }
  return result + text.slice(end)
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ')
}

/** A slash after one of these begins a regular expression; after anything else it divides. */
const BEFORE_REGEX =
  /(?:^|[=(,:[!&|?{};+\-*%<>~^]|=>|\b(?:return|typeof|case|in|of|await|yield))\s*$/

function findSpans(text: string): Span[] {
  const spans: Span[] = []
  /** Brace depths at which a template literal goes on. */
  const templates: number[] = []
  let depth = 0
  let at = 0
  const take = (kind: Span['kind'], from: number, to: number) => {
    spans.push({ kind, start: from, end: to })
    at = to
  }
  const takeTemplate = (from: number) => {
    const stop = endOfTemplate(text, from)
    take('text', from, stop.end)
    at = stop.end + (stop.isCode ? 2 : 1)
    if (stop.isCode) templates.push(depth)
  }
  while (at < text.length) {
    const character = text[at]
    if (text.startsWith('//', at)) take('comment', at, endOf(text, '\n', at))
    else if (text.startsWith('#!', at) && at === 0) take('comment', at, endOf(text, '\n', at))
    else if (text.startsWith('/*', at)) take('comment', at, endOf(text, '*/', at) + 2)
    else if (character === "'" || character === '"') {
      take('text', at + 1, endOfString(text, at + 1, character))
      at += 1
    } else if (character === '`') takeTemplate(at + 1)
    else if (character === '/' && BEFORE_REGEX.test(text.slice(lineStart(text, at), at))) {
      take('text', at + 1, endOfRegex(text, at + 1))
      at += 1
    } else if (character === '}' && templates.at(-1) === depth) {
      templates.pop()
      takeTemplate(at + 1)
    } else {
      if (character === '{') depth += 1
      if (character === '}') depth -= 1
      at += 1
    }
  }
  return spans
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

function endOf(text: string, mark: string, from: number): number {
  const end = text.indexOf(mark, from)
  return end === -1 ? text.length : end
}

function endOfString(text: string, from: number, quote: string): number {
  let at = from
  while (at < text.length && text[at] !== quote && text[at] !== '\n')
    at += text[at] === '\\' ? 2 : 1
  return Math.min(at, text.length)
}

function endOfTemplate(text: string, from: number): { end: number; isCode: boolean } {
  let at = from
  while (at < text.length) {
    if (text[at] === '`') return { end: at, isCode: false }
    if (text.startsWith('${', at)) return { end: at, isCode: true }
    at += text[at] === '\\' ? 2 : 1
  }
  return { end: text.length, isCode: false }
}

function endOfRegex(text: string, from: number): number {
  let isInClass = false
  let at = from
  while (at < text.length && text[at] !== '\n') {
    if (text[at] === '/' && !isInClass) return at
    if (text[at] === '[') isInClass = true
    if (text[at] === ']') isInClass = false
    at += text[at] === '\\' ? 2 : 1
  }
  return Math.min(at, text.length)
}
