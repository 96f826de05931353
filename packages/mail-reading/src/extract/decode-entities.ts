import { createRequire } from 'node:module'

// Loaded with the first reference that is not a usual one.
const load = createRequire(import.meta.url)

const USUAL: ReadonlyMap<string, string> = new Map([
  ['&amp;', '&'],
  ['&nbsp;', '\u00a0'],
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&#39;', "'"],
  ['&zwnj;', '\u200c'],
  ['&#8203;', '\u200b'],
  ['&#847;', '\u034f'],
  ['&#160;', '\u00a0'],
])
const USUAL_SOURCE = [...USUAL.keys()].join('|')
const ALL_USUAL = new RegExp(USUAL_SOURCE, 'g')
const OTHER_IN_TEXT = new RegExp(`(?!${USUAL_SOURCE})&[a-z#]`, 'i')
/** In attributes `&b=` and `&bc` begin the next parameter (WHATWG HTML §13.2.5.73). */
const OTHER_IN_ATTRIBUTE = new RegExp(`(?!${USUAL_SOURCE})&(?:#|[a-z][a-z0-9]*(?![a-z0-9=]))`, 'i')

/** Of what stands between tags. Time is linear. */
export function decodeText(source: string): string {
  if (!source.includes('&')) return source
  if (!OTHER_IN_TEXT.test(source)) return withUsual(source)
  let text = ''
  // What looks like a tag was found to be none.
  parse(source.replaceAll('<', '&lt;'), { ontext: (part) => (text += part) })
  return text
}

/** Of the value of an attribute. Time is linear. */
export function decodeAttribute(source: string): string {
  if (!source.includes('&')) return source
  if (!OTHER_IN_ATTRIBUTE.test(source)) return withUsual(source)
  let value = source
  const tag = `<a x="${source.replaceAll('"', '&quot;')}">`
  parse(tag, { onattribute: (_, decoded) => (value = decoded) })
  return value
}

function withUsual(source: string): string {
  return source.replace(ALL_USUAL, (one) => USUAL.get(one) ?? one)
}

type Handlers = {
  readonly ontext?: (text: string) => void
  readonly onattribute?: (name: string, value: string) => void
}

function parse(source: string, handlers: Handlers): void {
  const { Parser } = load('htmlparser2') as typeof import('htmlparser2')
  const parser = new Parser(handlers, { decodeEntities: true })
  parser.write(source)
  parser.end()
}
