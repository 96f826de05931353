// Finds private keys, and secrets that are recognised only by a label or their position.

import { isPlaceholderWord, isReal } from './token-rules.ts'

export type FoundSecret = { readonly kind: string; readonly start: number; readonly end: number }

export function findKeyBlocks(text: string): FoundSecret[] {
  return [...findPem(text), ...findPutty(text)]
}

/** Matches RFC 7468, OpenSSH, PGP (RFC 9580), and SSH2 (RFC 4716), which has four dashes. */
const PEM_BEGIN = /-{4,5} ?BEGIN ((?:[A-Z0-9]{1,12} ){0,2})PRIVATE KEY( BLOCK)? ?-{4,5}/g
const PEM_END = /-{4,5} ?END (?:[A-Z0-9]{1,12} ){0,2}PRIVATE KEY(?: BLOCK)? ?-{4,5}/g
/** Maximum distance to the end of a key. Longer keys are also found. */
const PEM_LENGTH_MAX = 32 * 1024
/** The shortest key, Ed25519 in PKCS #8, has 64 characters. */
const PEM_DATA_MIN = 60
const PEM_HEAD_LENGTH = 600

function findPem(text: string): FoundSecret[] {
  const found: FoundSecret[] = []
  for (const begin of text.matchAll(PEM_BEGIN)) {
    const start = begin.index
    const from = start + begin[0].length
    const block = upTo('BEGIN ', text, from)
    PEM_END.lastIndex = 0
    const end = PEM_END.exec(block)
    const data = dataOf(block.slice(0, Math.min(end?.index ?? PEM_HEAD_LENGTH, PEM_HEAD_LENGTH)))
    if (data === '') continue
    const length = end === null ? data.length : end.index + end[0].length
    found.push({ kind: pemKind(begin), start, end: Math.min(text.length, from + length) })
  }
  return found
}

/** The text from `start` to the next `mark`, so that no text is in two keys. */
function upTo(mark: string, text: string, start: number): string {
  const rest = text.slice(start, start + PEM_LENGTH_MAX)
  const next = rest.indexOf(mark)
  return next === -1 ? rest : rest.slice(0, next)
}

function pemKind([, label = '', block]: RegExpMatchArray): string {
  if (block !== undefined) return 'pgp_private_key'
  return label.startsWith('OPENSSH') ? 'openssh_private_key' : 'private_key'
}

/** Encoders write 64 or 76 characters per line; shorter pieces are words. */
const PEM_LINE_MIN = 16

/** The start of a key's data; '' if the text only shows the format of a key. */
function dataOf(block: string): string {
  // Drops line ends in code strings, quote marks, and header fields of RFC 1421, OpenPGP and SSH2.
  const pieces = block.replace(/\\[nr]/g, '\n').split(/[\s>"',\\]+/)
  const data = pieces
    .filter((piece) => piece.length >= PEM_LINE_MIN && /^[A-Za-z0-9+/=]+$/.test(piece))
    .join('')
  return data.length >= PEM_DATA_MIN && isReal(data.slice(0, PEM_DATA_MIN)) ? data : ''
}

const PUTTY = /PuTTY-User-Key-File-\d:/g
const PUTTY_DATA = /Private-Lines: *\d+[\s>]+[A-Za-z0-9+/=]{20}/

function findPutty(text: string): FoundSecret[] {
  const found: FoundSecret[] = []
  for (const { 0: mark, index } of text.matchAll(PUTTY)) {
    const data = PUTTY_DATA.exec(upTo('PuTTY-User', text, index + mark.length))
    if (data === null) continue
    const end = index + mark.length + data.index + data[0].length
    found.push({ kind: 'putty_private_key', start: index, end })
  }
  return found
}

type LabelledRule = {
  readonly kind: string
  /** The first group of the pattern is the secret. */
  readonly pattern: RegExp
  /** Must match within NEAR_LENGTH before or after the secret. */
  readonly near?: RegExp
}

const NEAR_LENGTH = 2_500

/** The text between a label and its value in settings, code and JSON. */
const IS = '["\']?[ \\t]{0,4}(?:=>|[:=]|is)[ \\t]{0,4}["\']?'

const LABELLED: readonly LabelledRule[] = [
  {
    kind: 'aws_secret_key',
    pattern: new RegExp(
      `secret[ _.-]?(?:access[ _.-]?)?key${IS}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])`,
      'gi',
    ),
  },
  {
    kind: 'aws_session_token',
    pattern: new RegExp(`session[ _.-]?token${IS}([A-Za-z0-9/+]{100,1500}={0,2})`, 'gi'),
  },
  {
    kind: 'cloudflare_token',
    pattern: new RegExp(
      `cloudflare[A-Z0-9 _.-]{0,20}(?:token|key)${IS}([A-Za-z0-9_-]{37,40})(?![\\w-])`,
      'gi',
    ),
  },
  {
    kind: 'datadog_key',
    pattern: new RegExp(
      `(?:dd|datadog)[ _.-]?(?:api|app|application)[ _.-]?key${IS}([0-9a-f]{32}|[0-9a-f]{40})(?![0-9a-z])`,
      'gi',
    ),
  },
  {
    kind: 'twilio_auth_token',
    pattern: new RegExp(
      `twilio[A-Z0-9 _.-]{0,20}(?:auth[ _.-]?token|secret)${IS}([0-9a-f]{32})(?![0-9a-z])`,
      'gi',
    ),
  },
  {
    kind: 'heroku_key',
    pattern: new RegExp(
      `heroku[A-Z0-9 _.-]{0,20}key${IS}([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})`,
      'gi',
    ),
  },
  {
    kind: 'wireguard_private_key',
    pattern: /(?:Private|Preshared)Key *= *([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)(?!=)/g,
  },
  {
    kind: 'totp_secret',
    pattern: /otpauth:\/\/[^\s"'<>]{1,300}?[?&]secret=([A-Z2-7]{16,128})/gi,
  },
  // The private member of a JWK (RFC 7517), which is next to public members.
  {
    kind: 'jwk_private_key',
    pattern: /"d" *: *"([\w-]{40,1400})"/g,
    near: /"kty" *: *"(?:EC|OKP|RSA)"/,
  },
]

export function findLabelled(text: string): FoundSecret[] {
  const found: FoundSecret[] = []
  for (const { kind, pattern, near } of LABELLED) {
    for (const match of text.matchAll(pattern)) {
      const around = [Math.max(0, match.index - NEAR_LENGTH), match.index + NEAR_LENGTH] as const
      if (near !== undefined && !near.test(text.slice(...around))) continue
      const value = match[1] ?? ''
      const start = match.index + match[0].indexOf(value)
      // AWS's documented example keys have this form and are also reported.
      if (kind === 'aws_secret_key' || isReal(value)) {
        found.push({ kind, start, end: start + value.length })
      }
    }
  }
  return found
}

/** A user and a password in a URL (RFC 3986 §3.2.1). */
const USERINFO = /([^\s:@/?#"'<>`]{0,100}):([^\s:@/?#"'<>`]{3,256})@(?=[A-Za-z0-9[])/y
const SCHEME_END = '://'

export function findUrlPasswords(text: string): FoundSecret[] {
  const found: FoundSecret[] = []
  for (
    let at = text.indexOf(SCHEME_END);
    at !== -1;
    at = text.indexOf(SCHEME_END, at + SCHEME_END.length)
  ) {
    USERINFO.lastIndex = at + SCHEME_END.length
    const match = USERINFO.exec(text)
    if (match === null || !/[a-z]/i.test(text[at - 1] ?? '')) continue
    const [, user = '', password = ''] = match
    if (isPlaceholderWord(`${user}:${password}`)) continue
    const start = USERINFO.lastIndex - 1 - password.length
    found.push({ kind: 'url_password', start, end: start + password.length })
  }
  return found
}
