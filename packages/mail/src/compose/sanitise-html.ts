import {
  escapeHtml,
  type HtmlPolicy,
  type SafeHtmlOptions,
  writeSafeHtml,
} from '#html/safe-html.ts'
import { HTML_LINK_LENGTH_MAX } from '#html/text.ts'

/** HTML of more is quoted as text: the parser moves all open elements with each new one. */
export const QUOTED_TAGS_MAX = 10_000

/**
 * The content of the document's body, or of the fragment, balanced. Null for more than
 * QUOTED_TAGS_MAX tags; of HTML beyond HTML_LENGTH_MAX the rest is not read. Elements deeper than
 * HTML_DEPTH_MAX lose their tags. Never throws.
 */
export function sanitiseHtml(html: string, options: SafeHtmlOptions): string | null {
  return writeSafeHtml(html, POLICY, options)?.join('').trim() ?? null
}

const words = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/))

const POLICY: HtmlPolicy = {
  kept: words(`
    a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col
    colgroup dd del details dfn dir div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header
    hr i img ins kbd li main mark menu nav ol p pre q s samp section small span strike strong sub
    summary sup table tbody td tfoot th thead time tr tt u ul var wbr
  `),
  dropped: words(`
    applet audio base canvas datalist embed frame frameset iframe link math meta noembed noframes
    object script select style svg template textarea title video xmp
  `),
  tagsMax: QUOTED_TAGS_MAX,
  startTag,
}

const ATTRIBUTES = words(`
  abbr align alt bgcolor border cellpadding cellspacing class cite color colspan dir face headers
  height href lang reversed rowspan scope size span src start style title type valign width
`)

/** Words for an image that has no address which its reader could load. */
function startTag(name: string, attributes: Readonly<Record<string, string>>): string[] {
  let tag = `<${name}`
  for (const [attribute, value] of Object.entries(attributes)) {
    const safe = ATTRIBUTES.has(attribute) ? safeValue(attribute, value) : ''
    if (safe !== '') tag += ` ${attribute}="${escapeHtml(safe)}"`
  }
  if (name !== 'img' || tag.includes(' src="')) return [`${tag}>`]
  return [escapeHtml(attributes.alt ?? '')]
}

function safeValue(attribute: string, value: string): string {
  if (attribute === 'style') return sanitiseStyle(value)
  if (attribute === 'href' || attribute === 'cite')
    return safeUrl(value, /^(?:https?|mailto|tel):/i)
  if (attribute === 'src') return safeUrl(value, /^https?:/i)
  return value.length > HTML_LINK_LENGTH_MAX ? '' : value
}

/** Browsers leave white space and control characters out of a scheme. */
function safeUrl(value: string, schemes: RegExp): string {
  const url = value.replace(/[\x00-\x20\x7f-\xa0\u2028\u2029]/g, '')
  return schemes.test(url) && url.length <= HTML_LINK_LENGTH_MAX ? url : ''
}

const PROPERTY =
  /^(?:color|background(?:-color)?|font(?:-(?:family|size|style|weight|variant))?|line-height|letter-spacing|word-spacing|text-(?:align|decoration|transform|indent)|vertical-align|white-space|direction|unicode-bidi|display|(?:max-|min-)?(?:width|height)|(?:margin|padding)(?:-(?:top|right|bottom|left))?|border(?:-(?:top|right|bottom|left))?(?:-(?:color|style|width))?|border-(?:collapse|spacing|radius)|list-style(?:-type)?|table-layout|word-break|word-wrap|overflow-wrap)$/
/** Names, numbers, colours and lists of them; functions only for colours. No number below zero. */
const VALUE = /^(?:[\w#%.,'" !]|(?<=[a-z])-(?=[a-z])|(?<=\brgba?)\(|\))*$/i

/** '' when nothing is left, or when there is more of it than text needs. */
export function sanitiseStyle(style: string): string {
  if (style.length > HTML_LINK_LENGTH_MAX) return ''
  const kept: string[] = []
  for (const declaration of style.split(';')) {
    const colon = declaration.indexOf(':')
    const property = declaration.slice(0, Math.max(0, colon)).trim().toLowerCase()
    const value = declaration.slice(colon + 1).trim()
    if (value !== '' && PROPERTY.test(property) && VALUE.test(value))
      kept.push(`${property}:${value}`)
  }
  return kept.join(';')
}
