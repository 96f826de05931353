// The project's own set of mails with and without secrets. Values are made when it runs, from the forms that
// issuers document and a seed, so that the repository contains no secret. Where a checksum cannot be computed
// here, the form is the published example of its standard.

import { crc32 } from 'node:zlib'
import { readTable } from '#test/table.ts'

export type SecretSample = {
  readonly name: string
  /** Null for a look-alike. */
  readonly kind: string | null
  readonly part: 'subject' | 'bodyText' | 'bodyHtml' | 'attachment:0'
  /** The text of the part. */
  readonly text: string
  /** Where the secret stands in it. */
  readonly offset: number
  readonly length: number
}

const ALPHABETS: Readonly<Record<string, string>> = {
  h: '0123456789abcdef',
  d: '0123456789',
  b: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
  l: '0123456789abcdefghijklmnopqrstuvwxyz',
  u: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  a: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
  w: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_',
  s: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/',
  t: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
}

function rowsOf(file: string): string[][] {
  const rows = readTable(new URL(file, import.meta.url)).flatMap(({ rows }) => rows)
  return rows.map((cells) => cells.map((cell) => cell.replaceAll('\\n', '\n')))
}

/** The mails of the set; the same for one seed. */
export function writtenSecrets(seed = 1): SecretSample[] {
  const maker = new Maker(seed)
  const samples: SecretSample[] = []
  for (const [index, [kind = '', form = '']] of rowsOf('secrets.txt').entries()) {
    for (const place of PLACES) samples.push(maker.sample(`${index} ${kind}`, kind, form, place))
  }
  for (const [index, [form = '']] of rowsOf('look-alikes.txt').entries()) {
    for (const place of PLACES) samples.push(maker.sample(`look-alike ${index}`, null, form, place))
  }
  return samples
}

type Place = {
  readonly part: SecretSample['part']
  readonly before: string
  readonly after: string
}

const PLACES: readonly Place[] = [
  { part: 'bodyText', before: 'Hello Ann,\n\nhere it is: ', after: '\n\nBest\nBob\n' },
  { part: 'bodyHtml', before: '<p>Hello &amp; welcome,</p><p><code>', after: '</code></p>' },
  { part: 'attachment:0', before: 'NAME=value\nVALUE="', after: '"\nOTHER=1\n' },
  { part: 'subject', before: 'Fwd: ', after: ' (as discussed)' },
]

class Maker {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  sample(name: string, kind: string | null, form: string, place: Place): SecretSample {
    const made = this.#make(place.part === 'subject' ? form.replaceAll('\n', ' ') : form)
    // `<…>` marks the secret in its surroundings, unless the whole is the secret.
    const marked = kind === null ? null : /^([\s\S]*?)<([^<>]*)>([\s\S]*)$/.exec(made)
    const [lead, secret, trail] = marked === null ? ['', made, ''] : marked.slice(1)
    const isHtml = place.part === 'bodyHtml'
    const [shownLead = '', shownSecret = '', shownTrail = ''] = [lead, secret, trail].map((text) =>
      isHtml ? escaped(text ?? '') : text,
    )
    const text = `${place.before}${shownLead}${shownSecret}${shownTrail}${place.after}`
    const offset = place.before.length + shownLead.length
    return {
      name: `${name} in ${place.part}`,
      kind,
      part: place.part,
      text,
      offset,
      length: shownSecret.length,
    }
  }

  #make(form: string): string {
    return form.replace(
      /\{([a-z]+!?)(\d*)(x?)((?::[^}:]*)*)\}/g,
      (whole, type, count, mark, rest) => {
        const [, first = '', second = '', separator = ''] = String(rest).split(':')
        switch (type) {
          case 'uuid':
            return [8, 4, 4, 4, 12].map((length) => this.#random('h', length)).join('-')
          case 'crc':
            return withCrc(this.#random('b', 30))
          case 'discord':
            return Buffer.from(`1${this.#random('d', 17)}`)
              .toString('base64')
              .replace(/=+$/, '')
          case 'jwt':
            return this.#jwt()
          case 'basic':
            return Buffer.from(`ann:${this.#random('b', 12)}`).toString('base64')
          case 'pem':
            return this.#block(`${first}PRIVATE KEY`, 24)
          case 'pgp':
            return this.#block('PGP PRIVATE KEY BLOCK', 12)
          case 'card':
          case 'card!':
            return grouped(this.#card(first, Number(second), type === 'card'), separator)
          case 'iban':
          case 'iban!':
            return grouped(this.#iban(first, second, type === 'iban'), separator)
          default:
            if (mark === 'x') return this.#unissued(Number(count))
            return ALPHABETS[type] === undefined ? whole : this.#random(type, Number(count))
        }
      },
    )
  }

  /** A linear congruential generator is random enough for text. */
  #below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * limit)
  }

  #random(alphabet: string, length: number): string {
    const letters = ALPHABETS[alphabet] ?? ''
    return Array.from({ length }, () => letters[this.#below(letters.length)]).join('')
  }

  #jwt(): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = { sub: this.#random('d', 10), exp: 1_800_000_000, jti: this.#random('h', 16) }
    return `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}.${this.#random('w', 43)}`
  }

  #block(label: string, lines: number): string {
    const data = Array.from({ length: lines }, () => this.#random('s', 64))
    return [`-----BEGIN ${label}-----`, ...data, `-----END ${label}-----`].join('\n')
  }

  #card(prefix: string, length: number, isValid: boolean): string {
    const body = prefix + this.#random('d', length - prefix.length - 1)
    const right = [...'0123456789'].find((digit) => luhnSum(body + digit) % 10 === 0) ?? ''
    return body + (isValid ? right : String((Number(right) + 1 + this.#below(9)) % 10))
  }

  /** Digits that no issuer of cards uses. */
  #unissued(length: number): string {
    return `1${this.#random('d', length - 1)}`
  }

  #iban(country: string, account: string, isValid: boolean): string {
    const bban = account.replace(/d(\d+)/g, (_, count) => this.#random('d', Number(count)))
    const digits = [...`${bban}${country}00`].map((one) => Number.parseInt(one, 36)).join('')
    const check = 98n - (BigInt(digits) % 97n)
    const shown = isValid ? check : ((check - 1n) % 96n) + 2n
    return country + String(shown).padStart(2, '0') + bban
  }
}

function withCrc(body: string): string {
  let rest = BigInt(crc32(body))
  let check = ''
  for (; check.length < 6; rest /= 62n) check = (ALPHABETS.b ?? '')[Number(rest % 62n)] + check
  return body + check
}

function luhnSum(digits: string): number {
  return [...digits].reverse().reduce((sum, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2)
    return sum + Math.floor(value / 10) + (value % 10)
  }, 0)
}

function grouped(text: string, separator: string): string {
  return separator === '' ? text : (text.match(/.{1,4}/g) ?? []).join(separator)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
