// Links of a message and what each is for. Addresses are kept as they are written, tracking parameters
// and all, and never followed: what a link does is told by its words alone.

import type { FoundLink, LinkKind } from './extracted.ts'
import { foldLine } from './fold-line.ts'
import { kindsNamedBy, LINK_KINDS, urlNames } from './link-words.ts'

/** Links that are looked at, and those that are told. */
export const EXTRACTED_LINKS_SEEN_MAX = 1_000
const EXTRACTED_LINKS_MAX = 50
/** In characters; signed links of today have a thousand. */
const EXTRACTED_URL_LENGTH_MAX = 4_000

/** An address as it was met, with the words that stand in it or before it. */
export type SeenLink = { readonly href: string; readonly text: string }

/** Of each kind but `other`, links that no number of others can crowd out. */
const KEPT_OF_A_KIND = 10

/**
 * In order of appearance, each URL once, at most EXTRACTED_LINKS_MAX: those of a kind before others
 * where there are more. Only http and https; an address longer than EXTRACTED_URL_LENGTH_MAX is left out.
 */
export function findLinks(
  html: { readonly links: readonly SeenLink[]; readonly unseenHrefs: ReadonlySet<string> },
  fromText: readonly SeenLink[],
): FoundLink[] {
  const found = new Map<string, FoundLink>()
  // A text that was made of the HTML repeats its links, with what stood behind them.
  const known = new Set([...html.unseenHrefs].map((href) => bareUrl(urlOf(href) ?? href)))
  for (const [links, isText] of [
    [html.links, false],
    [fromText, true],
  ] as const) {
    for (const { href, text } of links) {
      const url = urlOf(href)
      if (url === null || (isText && known.has(bareUrl(url)))) continue
      known.add(bareUrl(url))
      const kind = kindOf(url, text)
      const before = found.get(url)
      if (before === undefined || (before.kind === 'other' && kind !== 'other')) {
        found.set(url, { url, kind })
      }
    }
  }
  return bounded([...found.values()])
}

/** Nobody sees these in an address; browsers ask for them in this form. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}|[\u2028\u2029\ufff9-\ufffb]/gu

const HTTP_URL = /^https?:\/\/[^\s<>"\\^`{|}]+$/i

function urlOf(href: string): string | null {
  // As browsers do: line breaks within an address are no part of it.
  const url = href
    .trim()
    .replace(/[\t\r\n]+/g, '')
    .toWellFormed()
    .replace(UNSEEN, encodeURIComponent)
  if (url.length > EXTRACTED_URL_LENGTH_MAX || !HTTP_URL.test(url)) return null
  return URL.canParse(url) ? url : null
}

function bareUrl(url: string): string {
  return url.replace(/[).,;:!?'"\]>/]{1,20}$/, '')
}

/** Pages that tell how something is done, where it is not done. */
const ABOUT_PAGES =
  /(?:^|[./])(?:help|support|faq|docs?|blog|article|articles|hc|kb|learn|guide)[./]/
/** What only one recipient has: a long word of letters and digits, or a parameter for one. */
const TOKEN =
  /[?&#](?:[a-z_]*token|code|key|otp|ticket|sig|signature|hash|k|t|jwt|nonce|oobcode|secret)=[^&]{4,}|[/=](?=[a-z_-]*\d)[a-z\d_.-]{16,}/

function kindOf(url: string, text: string): LinkKind {
  const lower = url.toLowerCase()
  const afterHost = lower.indexOf('/', lower.indexOf('//') + 2)
  const path = afterHost === -1 ? '' : lower.slice(afterHost)
  const named = kindsNamedBy(foldLine(text))
  const hasToken = TOKEN.test(path)
  if (!hasToken && ABOUT_PAGES.test(lower)) {
    return named.has('unsubscribe') ? 'unsubscribe' : 'other'
  }
  // What the text says counts before the address, which may name all that a service does.
  for (const kind of LINK_KINDS) {
    if (kind === 'unsubscribe' && urlNames(kind, path)) return kind
    if (!named.has(kind)) continue
    if (kind !== 'magic' || hasToken || urlNames('magic', path)) return kind
  }
  return LINK_KINDS.find((kind) => urlNames(kind, path)) ?? 'other'
}

function bounded(links: FoundLink[]): FoundLink[] {
  if (links.length <= EXTRACTED_LINKS_MAX) return links
  const kept = new Set<FoundLink>()
  for (const kind of LINK_KINDS) {
    for (const link of links.filter((one) => one.kind === kind).slice(0, KEPT_OF_A_KIND)) {
      kept.add(link)
    }
  }
  const named = links.filter(({ kind }) => kind !== 'other')
  for (const link of [...named, ...links]) {
    if (kept.size >= EXTRACTED_LINKS_MAX) break
    kept.add(link)
  }
  return links.filter((link) => kept.has(link))
}

/** Scripts without spaces, and the punctuation of wide characters, end an address. */
const TEXT_URL =
  /https?:\/\/[^\s<>"\\^`{|}\u3000-\u303f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]{1,8000}/gi
const BEFORE_LENGTH_MAX = 120

/** The addresses in lines of text, those of quoted lines left out. */
export function linksOfText(lines: readonly string[]): SeenLink[] {
  const links: SeenLink[] = []
  let above = ''
  for (const line of lines) {
    if (line.includes('://') && !line.trimStart().startsWith('>')) {
      for (const match of line.matchAll(TEXT_URL)) {
        if (links.length >= EXTRACTED_LINKS_SEEN_MAX) return links
        const before = line.slice(0, match.index).slice(-BEFORE_LENGTH_MAX)
        const text = before.replace(/[\s<([]+$/, '') === '' ? above : before
        links.push({ href: withoutEnd(match[0]), text: text.slice(-BEFORE_LENGTH_MAX) })
      }
    }
    if (line.trim() !== '') above = line
  }
  return links
}

/** Without the punctuation of the sentence, and a closing bracket that nothing in the URL opens. */
function withoutEnd(url: string): string {
  let end = url.length
  let closing = url.split(')').length - url.split('(').length
  while (end > 0) {
    const last = url.charAt(end - 1)
    if (last === ')' && closing > 0) closing--
    else if (!".,;:!?'*]’”»".includes(last)) break
    end--
  }
  return url.slice(0, end)
}
