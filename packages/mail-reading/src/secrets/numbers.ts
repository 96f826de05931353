// Finds numbers of payment cards and bank accounts.

import { isIbanValid, isLuhnValid } from './checksums.ts'

export type FoundNumber = { readonly kind: 'card_number' | 'iban'; start: number; end: number }

/** A number does not start within another number, a word, a fraction or an account number. */
const CARD_START =
  /(?<![A-Za-z0-9_+]|\d[.-]|[A-Z]{2}\d{2} )[2-69](?=\d{13}|\d{3}[ .-]\d|\d{5}[ .-]\d{13}|\d{7}[ .-]\d|[ .-]\d[ .-]\d)/g

/** The lengths of card numbers by leading digits. */
const ISSUERS: readonly (readonly [RegExp, readonly number[]])[] = [
  // Visa cards
  [/^4/, [16, 19]],
  // Mastercard cards
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  // American Express
  [/^3[47]/, [15]],
  // Diners Club
  [/^(?:30[0-5]|309|36|38|39)/, [14, 16, 19]],
  // Discover, RuPay
  [/^(?:6011|64[4-9]|65|60|81|82|508)/, [16, 19]],
  // UnionPay; with 18 digits these would be Chinese identity numbers.
  [/^62/, [16, 19]],
  // JCB
  [/^35(?:2[89]|[3-8])/, [16, 19]],
  // Maestro
  [/^(?:50[123]8|5893|6304|6759|676[1-3])/, [16, 18, 19]],
  // Mir, Troy
  [/^(?:220[0-4]|9792)/, [16]],
]
/** Card numbers are written contiguously, in these groups, or digit by digit. */
const CARD_FORMS = [
  /\d{14,19}/y,
  /\d{4}([ .-])\d{4}\1\d{4}\1\d{4}\1\d{3}/y,
  /\d{4}([ .-])\d{4}\1\d{4}\1\d{4}/y,
  /\d{4}([ .-])\d{6}\1\d{4,5}/y,
  /\d{6}([ .-])\d{13}/y,
  /\d{8}([ .-])\d{8}/y,
  /\d([ .-])\d(?:\1\d){12,17}/y,
]

export function findCardNumbers(text: string): FoundNumber[] {
  const found: FoundNumber[] = []
  CARD_START.lastIndex = 0
  for (let match = CARD_START.exec(text); match !== null; match = CARD_START.exec(text)) {
    const start = match.index
    const end = endOfCardNumber(text, start)
    if (end === null) continue
    found.push({ kind: 'card_number', start, end })
    CARD_START.lastIndex = end
  }
  return found
}

function endOfCardNumber(text: string, start: number): number | null {
  for (const form of CARD_FORMS) {
    form.lastIndex = start
    const match = form.exec(text)
    if (match === null) continue
    const [shown, separator] = match
    const end = start + shown.length
    if (/^(?:[A-Za-z0-9_]|[.-]\d)/.test(text.slice(end, end + 2))) continue
    if (separator !== undefined && isInTable(text, start, end)) continue
    if (isCardNumber(shown.replace(/\D/g, ''))) return end
  }
  return null
}

/** Whether the number is in a row of short numbers: three more precede or follow on its line. */
function isInTable(text: string, start: number, end: number): boolean {
  return (
    /(?:\d{1,8}[ .-]){3}$/.test(text.slice(Math.max(0, start - 27), start)) ||
    /^(?:[ .-]\d{1,8}){3}/.test(text.slice(end, end + 27))
  )
}

function isCardNumber(digits: string): boolean {
  const isIssued = ISSUERS.some(
    ([prefix, lengths]) => lengths.includes(digits.length) && prefix.test(digits),
  )
  // A single repeated digit is a placeholder.
  return isIssued && !/^(\d)\1+$/.test(digits) && isLuhnValid(digits)
}

/** Matches a country, two check digits and up to 30 characters, contiguous or in groups. */
const IBAN = /(?<![A-Za-z0-9])([A-Za-z]{2})\d{2}(?=[ -]?[A-Za-z0-9]{2})/g
const IBAN_WRITTEN = /[A-Za-z0-9]{2}(?:[ -]?[A-Za-z0-9]){9,32}/y

export function findIbans(text: string): FoundNumber[] {
  const found: FoundNumber[] = []
  for (const { 1: country = '', index } of text.matchAll(IBAN)) {
    const form = IBAN_FORMS.get(country.toUpperCase())
    if (form === undefined) continue
    IBAN_WRITTEN.lastIndex = index
    const written = IBAN_WRITTEN.exec(text)?.[0] ?? ''
    const end = endOfCharacters(written, form.length)
    if (end === null || /[A-Za-z0-9]/.test(text[index + end] ?? '')) continue
    const iban = written.slice(0, end).replace(/[ -]/g, '').toUpperCase()
    if (form.pattern.test(iban.slice(4)) && isIbanValid(iban)) {
      found.push({ kind: 'iban', start: index, end: index + end })
    }
  }
  return found
}

/** The index after `count` characters other than separators; null if the text is shorter. */
function endOfCharacters(written: string, count: number): number | null {
  for (let [at, seen] = [0, 0]; at < written.length; at++) {
    if (written[at] !== ' ' && written[at] !== '-') seen++
    if (seen === count) return at + 1
  }
  return null
}

type IbanForm = { readonly length: number; readonly pattern: RegExp }

/**
 * Format of the account number after the check digits, from the IBAN registry: n digits, a letters,
 * c either.
 */
const IBAN_FORMS: ReadonlyMap<string, IbanForm> = new Map(
  `AD 8n12c,AE 19n,AL 8n16c,AT 16n,AZ 4a20c,BA 16n,BE 12n,BG 4a6n8c,BH 4a14c,BI 23n,BR 23n1a1c,BY 4c4n16c,
  CH 5n12c,CR 18n,CY 8n16c,CZ 20n,DE 18n,DJ 23n,DK 14n,DO 4c20n,EE 16n,EG 25n,ES 20n,FI 14n,FK 2a12n,FO 14n,
  FR 10n11c2n,GB 4a14n,GE 2a16n,GI 4a15c,GL 14n,GR 7n16c,GT 24c,HN 4a20n,HR 17n,HU 24n,IE 4a14n,IL 19n,
  IQ 4a15n,IS 22n,IT 1a10n12c,JO 4a4n18c,KW 4a22c,KZ 3n13c,LB 4n20c,LC 4a24c,LI 5n12c,LT 16n,LU 3n13c,
  LV 4a13c,LY 21n,MC 10n11c2n,MD 20c,ME 18n,MK 3n10c2n,MN 16n,MR 23n,MT 4a5n18c,MU 4a19n3a,NI 4a20n,NL 4a10n,
  NO 11n,OM 3n16c,PK 4a16c,PL 24n,PS 4a21c,PT 21n,QA 4a21c,RO 4a16c,RS 18n,RU 14n15c,SA 2n18c,SC 4a20n3a,
  SD 14n,SE 20n,SI 15n,SK 20n,SM 1a10n12c,SO 19n,ST 21n,SV 4a20n,TL 19n,TN 20n,TR 6n16c,UA 6n19c,VA 18n,
  VG 4a16n,XK 16n,YE 4a4n18c`
    .split(/,\s*/)
    .map((line) => {
      const [country = '', form = ''] = line.split(' ')
      const classes: Readonly<Record<string, string>> = { n: '\\d', a: '[A-Z]', c: '[A-Z0-9]' }
      const parts = [...form.matchAll(/(\d+)([nac])/g)]
      const source = parts.map(([, count, type = '']) => `${classes[type]}{${count}}`).join('')
      const length = 4 + parts.reduce((sum, [, count]) => sum + Number(count), 0)
      return [country, { length, pattern: new RegExp(`^${source}$`) }]
    }),
)
