// The spellings of an address that people and models understand, as patterns and as the letters
// that all spellings share.

import { domainToUnicode } from 'node:url'

/** Scripts without spaces, in which an address may directly follow a word. */
const UNSPACED = '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}\\p{sc=Thai}]'
const BEFORE = `(?<!(?!${UNSPACED})[\\p{L}\\p{N}])`
const AFTER = `(?!(?!${UNSPACED})[\\p{L}\\p{N}])`

/** Characters allowed between two letters of an address, and around a word for a sign. */
const LOOSE = '[^\\p{L}\\p{N}@]{0,2}'
const AROUND = '[^\\p{L}\\p{N}@]{1,4}'
const ANY_AROUND = AROUND.replace('1', '0')

const AT_WORDS =
  '(?:(?:the|commercial) )?at(?:[ -]?(?:sign|symbol|zeichen))?|ät|arroba|arobase|chiocciola|apenstaartje|klammeraffe|kukac|małpa|zavináč|собака|snabel-a'
const UNSPACED_AT = '艾特|圈a|小老鼠|アットマーク|アット|골뱅이'
const SIGNS: Readonly<Record<string, string>> = {
  '.': 'dot|punkt|point|punto|ponto|period|full stop|punt|piste|kropka|tečka|точка|nokta',
  '-': 'dash|hyphen|minus|bindestrich|tiret|guion',
  _: 'underscore|underline|unterstrich',
  '+': 'plus',
}
const UNSPACED_DOT = '点|點|ドット|닷|점'

const AT = `(?:${ANY_AROUND}(?:@|${UNSPACED_AT})${ANY_AROUND}|${AROUND}(?:${AT_WORDS})${AROUND})`
const TAG = `(?:(?:[^\\p{L}\\p{N}@]{0,3}\\+|${AROUND}plus${AROUND})[^@]{0,64}?)?`

/** An at sign, or a word for it, in a folded text. */
export const AT_SIGNS = new RegExp(`@|${UNSPACED_AT}|${BEFORE}(?:${AT_WORDS})${AFTER}`, 'gu')

const DOT = `(?:\\.|${AROUND}(?:${SIGNS['.']})${AROUND}|[^\\p{L}\\p{N}@]{0,2}(?:\\.|${UNSPACED_DOT})[^\\p{L}\\p{N}@]{0,2})`
const LABEL = '[\\p{L}\\p{N}][\\p{L}\\p{N}-]{0,62}'
export const DOMAINS = new RegExp(`(?<![@./-])${BEFORE}${LABEL}(?:${DOT}${LABEL}){1,8}`, 'gu')

const USER_WORDS =
  'user(?:[ -]?(?:name|id))?|login|mailbox|account|local[ -]?part|benutzer(?:name)?|usuario|utilisateur|utente'
const HOST_WORDS =
  'host(?:[ -]?name)?|domain(?:[ -]?name)?|server|provider|domäne|dominio|domaine|servidor|serveur|hôte'
/** Words that introduce the name or the domain of an address written in two parts. */
export const APART_WORDS = new RegExp(`${BEFORE}(?:${USER_WORDS}|${HOST_WORDS})${AFTER}`, 'gu')
export const APART_LENGTH_MAX = 60

/** The text in lower case, with lines joined and quote characters removed. */
export function folded(text: string): string {
  const lower = text.normalize('NFKC').toLowerCase()
  // Single spaces, the most common white space, are unchanged.
  return lower.replace(/\n[>|\s]+/g, ' ').replace(/[^\S ]\s*| \s+/g, ' ')
}

export const NO_LETTERS = /[^\p{L}\p{N}]{1,1000}/gu
const SIGN_WORDS = new RegExp(
  `${BEFORE}(?:${Object.values(SIGNS).join('|')})${AFTER}|${UNSPACED_DOT}`,
  'gu',
)

/** The letters and digits of a text, without words for signs. */
export function lettersOf(text: string): string {
  return text.replace(SIGN_WORDS, ' ').replace(NO_LETTERS, '')
}

export type Spelling = {
  /** Letters and digits that occur in every spelling. */
  readonly words: readonly string[]
  readonly pattern: RegExp
}

/** `local` excludes the tag, because mail to `eve+x@` is for `eve@`. */
type Split = { readonly local: string; readonly domain: string; readonly unicode: string }

/** The address must be in lower case with A-labels. */
export function splitAddress(address: string): Split {
  const at = address.lastIndexOf('@')
  const plus = address.indexOf('+')
  const local = address.slice(0, plus > 0 && plus < at ? plus : at)
  const domain = address.slice(at + 1)
  const unicode = domainToUnicode(domain).normalize('NFKC').toLowerCase()
  return { local, domain, unicode: unicode === '' ? domain : unicode }
}

export function reversed(text: string): string {
  return [...text].reverse().join('')
}

export function spellingsOf(address: string): Spelling[] {
  const { local, domain, unicode } = splitAddress(address)
  const domains = [...new Set([domain, unicode])]
  return domains.flatMap((name) => {
    const usual = `${BEFORE}${looselySpelled(local)}${TAG}${AT}${looselySpelled(name)}${AFTER}`
    const backwards = `${BEFORE}${looselySpelled(reversed(name))}${AT}${looselySpelled(reversed(local))}${AFTER}`
    const words = [local, ...name.split('.')]
    return [
      spelling(words, usual),
      spelling(words, apart(local, name)),
      spelling(words.map(reversed), backwards),
    ]
  })
}

function spelling(words: readonly string[], pattern: string): Spelling {
  const first = (word: string) => /[\p{L}\p{N}]*/u.exec(word)?.[0] ?? ''
  return { words: words.map(first), pattern: new RegExp(pattern, 'u') }
}

/** Matches name and domain apart, one introduced by a word: `user eve, host client.example`. */
function apart(local: string, domain: string): string {
  const name = `${BEFORE}${looselySpelled(local)}${AFTER}`
  const labels = domain.split('.').map(looselySpelled)
  const host = `(?<![@./-])${BEFORE}${labels.join(DOT)}${AFTER}`
  const introduced = (words: string, what: string) =>
    `${BEFORE}(?:${words})${AFTER}[^@]{1,12}?${what}`
  const between = `[^@]{1,${APART_LENGTH_MAX}}?`
  return [
    `${introduced(USER_WORDS, name)}${between}${host}`,
    `${name}${between}${introduced(HOST_WORDS, host)}`,
    `${host}${between}${introduced(USER_WORDS, name)}`,
    `${introduced(HOST_WORDS, host)}${between}${name}`,
  ].join('|')
}

/** Matches the letters and digits of `text` in order, with signs or words for signs in between. */
function looselySpelled(text: string): string {
  let pattern = ''
  let between = ''
  for (const character of text) {
    if (/[\p{L}\p{N}]/u.test(character)) {
      pattern += `${between}${character}`
      between = LOOSE
      continue
    }
    const words = SIGNS[character]
    between = words === undefined ? ANY_AROUND : signSpelled(character, words)
  }
  return pattern
}

function signSpelled(sign: string, words: string): string {
  const unspaced = sign === '.' ? `|${UNSPACED_DOT}` : ''
  return `(?:${ANY_AROUND}|${AROUND}(?:${words})${AROUND}${unspaced})`
}
