// Email addresses in API requests: validation and comparison.

import {
  asciiDomain,
  isDomainName,
  type MailboxDefect,
  parseMailbox,
} from '@mailroom/mail/address.ts'
import { ADDRESS_TEXT_LENGTH_MAX } from '@mailroom/mail/address-list.ts'
import { findUnseen } from '@mailroom/mail/unseen.ts'

const expectations: Readonly<Record<MailboxDefect, string>> = {
  syntax: 'must be one email address, alone or as Name <address>',
  'source-route': 'must not begin with a route',
  'no-domain': 'must have a domain after an @',
  'local-part-too-long': 'must have at most 255 octets before the @',
  'domain-too-long': 'must have at most 255 octets after the @',
}

/** Why `text` is not a mailbox (RFC 5321 §4.1.2), to follow a field's name; null if it is one. */
export function checkEmailAddress(text: string): string | null {
  if (text === '') return 'must not be empty'
  if (text.length > ADDRESS_TEXT_LENGTH_MAX) return expectations.syntax
  // With a colon it may be a route of RFC 5321 §4.1.2.
  if (/^@[^:]*$/.test(text)) return 'must have a name before the @'
  const parsed = parseMailbox(text)
  if (parsed.kind === 'defect') return expectations[parsed.defect]
  // Valid within quotes, but careless parsers mistake it for the end of the address.
  if (/[<>]/.test(text)) return expectations.syntax
  // A domain without A-labels cannot be looked up (RFC 5891 §4.4).
  if (!parsed.isAddressLiteral && !isDomainName(asciiDomain(parsed.domain))) {
    return expectations.syntax
  }
  return null
}

/** Also refuses invisible characters, which make an address look like another. */
export function checkWrittenAddress(text: string): string | null {
  const unseen = findUnseen(text, { isName: true }) ?? findUnseen(text)
  if (unseen === null) return checkEmailAddress(text)
  return `must not have the character ${unseen}, which is not visible`
}

/** Returns a text unchanged if its name has an invisible character; the text is then refused. */
export function writtenAddress(text: string): string {
  return findUnseen(text, { isName: true }) === null ? bareAddress(text) : text
}

// RFC 5322 §3.2.5 with the dots of §4.1; no comments, groups, lists or control characters.
const NAMED_ADDRESS =
  /^(?:[^\p{Cc}\u2028\u2029()<>[\]:;@\\,"]|"(?:[^\p{Cc}\u2028\u2029"\\]|\\[^\p{Cc}\u2028\u2029])*")*<([^<>]*)> *$/u

const NAMED_LENGTH_MAX = 10_000

/** Returns the address in `Name <address>`, and any other text unchanged. */
export function bareAddress(text: string): string {
  if (text.length > NAMED_LENGTH_MAX) return text
  return NAMED_ADDRESS.exec(text)?.[1] ?? text
}

/** Equal for all spellings of one mailbox. Other texts get a key that no address has. */
export function addressKey(text: string): string {
  const parsed = text.length > ADDRESS_TEXT_LENGTH_MAX ? null : parseMailbox(text)
  if (parsed?.kind !== 'mailbox') return `\t${text.toLowerCase()}`
  return `${parsed.localPart.toLowerCase()}@${asciiDomain(parsed.domain)}`
}

export function domainOf(address: string): string {
  return asciiDomain(address.slice(address.lastIndexOf('@') + 1))
}

/** RFC 5321 §4.1.2: `"name"` and `name` are the same local part. */
export function unquote(localPart: string): string {
  if (!localPart.startsWith('"') || !localPart.endsWith('"')) return localPart
  return localPart.slice(1, -1).replace(/\\(.)/g, '$1')
}
