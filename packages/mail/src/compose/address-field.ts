// Mailboxes into header fields (RFC 5322 §3.4, RFC 6532). Whether an address is one was decided at
// the door; here none can become two, or another field.

import { domainToASCII } from 'node:url'
import { encodeWords, fold, HEADER_WORD_LENGTH_MAX, isSafeAsIs, singleLine } from './header-text.ts'

export type OutgoingMailbox = { readonly name: string | null; readonly address: string }

/**
 * `name: mailbox, mailbox`, folded, without its last CRLF; the display name quoted or encoded, the
 * address as `writeAddress` gives it. Throws a RangeError for an address that no line could hold,
 * which no door lets through.
 */
export function addressField(name: string, mailboxes: readonly OutgoingMailbox[]): string {
  const last = mailboxes.length - 1
  const pieces = mailboxes.map(
    (mailbox, index) => `${writeMailbox(mailbox)}${index < last ? ',' : ''}`,
  )
  return fold(name, pieces)
}

/**
 * `local-part@domain` with the domain in A-labels; a local part outside ASCII stays as it is (RFC
 * 6532). White space and control characters go; a local part that is neither a dot-string nor a
 * quoted string is quoted, and characters that no domain has are left out.
 */
export function writeAddress(address: string): string {
  const line = singleLine(address)
  const at = line.lastIndexOf('@')
  if (at < 0) return writeLocalPart(line)
  return `${writeLocalPart(line.slice(0, at))}@${writeDomain(line.slice(at + 1))}`
}

/** Whether the mailbox's address needs a server that takes UTF-8 in headers (RFC 6531). */
export function isInternational(address: string): boolean {
  return /[^\x00-\x7f]/.test(writeAddress(address))
}

const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\u{10ffff}-]"
const DOT_STRING = new RegExp(`^${ATOM}+(?:\\.${ATOM}+)*$`, 'u')
const QUOTED_STRING = /^"(?:[^"\\]|\\.)*"$/u
const UNSEEN = /(?!\x20)[\p{White_Space}\p{Bidi_Control}]/gu
const PHRASE = /^[A-Za-z0-9!#$%&'*+/?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/?^_`{|}~-]+)*$/
/** A quoted string is never broken; longer names are encoded instead. */
const QUOTED_NAME_LENGTH_MAX = 60

function writeMailbox({ name, address }: OutgoingMailbox): string {
  const written = writeAddress(address)
  if (Buffer.byteLength(written) > HEADER_WORD_LENGTH_MAX) throw new RangeError('address too long')
  const displayName = singleLine(name ?? '')
  return displayName === '' ? written : `${writePhrase(displayName)} <${written}>`
}

function writePhrase(name: string): string {
  if (!isSafeAsIs(name) || name.length > QUOTED_NAME_LENGTH_MAX) return encodeWords(name)
  return PHRASE.test(name) ? name : quote(name)
}

function writeLocalPart(localPart: string): string {
  const visible = localPart.replace(UNSEEN, '')
  return DOT_STRING.test(visible) || QUOTED_STRING.test(visible) ? visible : quote(visible)
}

function writeDomain(domain: string): string {
  if (/^\[[\x21-\x5a\x5e-\x7e]*\]$/.test(domain)) return domain
  // Of ASCII names the URL parser would take some for IPv4 addresses.
  const ascii = /[^\x00-\x7f]/.test(domain) ? domainToASCII(domain) : domain
  return ascii.replace(/[^A-Za-z0-9._:-]/g, '')
}

function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`
}
