// Shows the target of a link if the link's text names another host or its address is deceptive.

import { domainToASCII, domainToUnicode } from 'node:url'
import { attributeOf, type HtmlElement, isElement, isText } from '@mailroom/mail/html/tree.ts'
import { replaceUnseen } from '@mailroom/mail/unseen.ts'

const TEXT_LENGTH_MAX = 2_000

/**
 * Describes the target of a link, such as `xn--bnk-8cd.example (mixed scripts)`, if the link's text
 * names another host, its address has a user name before the host, or its host mixes scripts.
 * Otherwise null. Runs in linear time.
 */
export function misreadTarget(link: HtmlElement): string | null {
  const href = (attributeOf(link, 'href') ?? '').replace(/[\x00-\x20\x7f-\xa0\u2028\u2029]/g, '')
  const target = readTarget(href)
  if (target === null) return null
  const { host, shown, hasUser } = target
  const isMixed = host.split('.').some(isMixedLabel)
  const isOther = hostsIn(textOf(link)).some((named) => withoutWww(named) !== withoutWww(host))
  if (!isOther && !hasUser && !isMixed) return null
  return isMixed ? `${shown} (mixed scripts)` : shown
}

type Target = { readonly host: string; readonly shown: string; readonly hasUser: boolean }

function readTarget(href: string): Target | null {
  if (/^tel:/i.test(href)) return { host: '', shown: href.slice(0, 100), hasUser: false }
  if (/^mailto:/i.test(href)) {
    const host = asciiOf(/@([^@?,;>]{1,255})/.exec(href)?.[1] ?? '')
    return host === '' ? null : { host, shown: `mail to ${host}`, hasUser: false }
  }
  if (!/^https?:/i.test(href) || !URL.canParse(href)) return null
  const { hostname, username, password } = new URL(href)
  return { host: hostname, shown: hostname, hasUser: username !== '' || password !== '' }
}

function textOf(link: HtmlElement): string {
  let text = ''
  const visit = (element: HtmlElement): void => {
    text += attributeOf(element, 'alt') ?? ''
    for (const child of element.childNodes) {
      if (text.length > TEXT_LENGTH_MAX) return
      if (isElement(child)) visit(child)
      else if (isText(child)) text += child.value
    }
  }
  visit(link)
  return text.slice(0, TEXT_LENGTH_MAX)
}

/** Host names in the text as A-labels. Removes invisible characters and treats 。 as a dot. */
function hostsIn(text: string): string[] {
  const seen = replaceUnseen(text, () => '')
    .normalize('NFKC')
    .replace(/[。｡]/g, '.')
  const names = seen.match(NAME) ?? []
  return names
    .filter((name) => !/^[\d.]*$/.test(name) || IPV4.test(name))
    .map(asciiOf)
    .filter((host) => HOST.test(host))
}

const NAME = /[\p{L}\p{M}\p{N}_-]{1,63}(?:\.[\p{L}\p{M}\p{N}_-]{1,63}){1,20}/gu
/** Other dotted numbers, such as versions, are not hosts. */
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/
const HOST = new RegExp(`(?:^|\\.)(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$|${IPV4.source}`)

function asciiOf(name: string): string {
  return domainToASCII(name.toLowerCase()) || name.toLowerCase()
}

function withoutWww(host: string): string {
  return host.replace(/^www\./, '')
}

/** Whether the label mixes letters of scripts that no language uses together. */
function isMixedLabel(label: string): boolean {
  if (!label.startsWith('xn--')) return false
  const letters = domainToUnicode(label).replace(/[\p{Script=Common}\p{Script=Inherited}]/gu, '')
  return letters !== '' && !SCRIPTS.some((script) => script.test(letters))
}

/** Scripts that one language combines (UTS #39 §5.1), and single scripts of domain names. */
const SCRIPTS = [
  /^[\p{Script=Latin}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]*$/u,
  /^[\p{Script=Latin}\p{Script=Han}\p{Script=Hangul}]*$/u,
  /^[\p{Script=Latin}\p{Script=Han}\p{Script=Bopomofo}]*$/u,
  /^\p{Script=Cyrillic}*$/u,
  /^\p{Script=Greek}*$/u,
  /^\p{Script=Arabic}*$/u,
  /^\p{Script=Hebrew}*$/u,
  /^\p{Script=Armenian}*$/u,
  /^\p{Script=Georgian}*$/u,
  /^\p{Script=Thai}*$/u,
  /^\p{Script=Devanagari}*$/u,
  /^\p{Script=Bengali}*$/u,
  /^\p{Script=Tamil}*$/u,
  /^\p{Script=Telugu}*$/u,
  /^\p{Script=Kannada}*$/u,
  /^\p{Script=Malayalam}*$/u,
  /^\p{Script=Gujarati}*$/u,
  /^\p{Script=Gurmukhi}*$/u,
  /^\p{Script=Sinhala}*$/u,
  /^\p{Script=Khmer}*$/u,
  /^\p{Script=Lao}*$/u,
  /^\p{Script=Myanmar}*$/u,
  /^\p{Script=Ethiopic}*$/u,
]
