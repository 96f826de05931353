// Email addresses as callers write them: validation and comparison.

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

/**
 * Why `text` is not one mailbox of RFC 5321 §4.1.2, as the end of a sentence after a field's name; null when
 * it is.
 */
export function checkEmailAddress(text: string): string | null {
  if (text === '') return 'must not be empty'
  if (text.length > ADDRESS_TEXT_LENGTH_MAX) return expectations.syntax
  // With a colon it may be a route of RFC 5321 §4.1.2.
  if (/^@[^:]*$/.test(text)) return 'must have a name before the @'
  const parsed = parseMailbox(text)
  if (parsed.kind === 'defect') return expectations[parsed.defect]
  // Valid within quotes, but careless readers take it for the end of the address.
  if (/[<>]/.test(text)) return expectations.syntax
  // A domain without A-labels cannot be looked up (RFC 5891 §4.4).
  if (!parsed.isAddressLiteral && !isDomainName(asciiDomain(parsed.domain))) {
    return expectations.syntax
  }
  return null
}

/** As `checkEmailAddress`, of an address that a caller writes: an unseen character makes it look like another one. */
export function checkWrittenAddress(text: string): string | null {
  const unseen = findUnseen(text, { isName: true }) ?? findUnseen(text)
  if (unseen === null) return checkEmailAddress(text)
  return `must not have the character ${unseen}, which is not visible`
}

/** The address in `Name <address>`; a text whose name has an unseen character stays whole, and is refused. */
export function writtenAddress(text: string): string {
  return findUnseen(text, { isName: true }) === null ? bareAddress(text) : text
}

// A phrase of RFC 5322 §3.2.5 with the dots of §4.1 and any text outside ASCII. Comments, groups, lists and
// control characters are not accepted.
const NAMED_ADDRESS =
  /^(?:[^\p{Cc}\u2028\u2029()<>[\]:;@\\,"]|"(?:[^\p{Cc}\u2028\u2029"\\]|\\[^\p{Cc}\u2028\u2029])*")*<([^<>]*)> *$/u

/** The longest name and address together, in UTF-16 units. */
const NAMED_LENGTH_MAX = 10_000

/** The address in `Name <address>`; any other text unchanged. */
export function bareAddress(text: string): string {
  if (text.length > NAMED_LENGTH_MAX) return text
  return NAMED_ADDRESS.exec(text)?.[1] ?? text
}

/**
 * The form for comparing addresses: lower case, the domain with A-labels, the local part without the quotes
 * of RFC 5321 §4.1.2. Equal for two spellings of one mailbox. A text that is no address gets a key that no
 * address has.
 */
export function addressKey(text: string): string {
  const parsed = text.length > ADDRESS_TEXT_LENGTH_MAX ? null : parseMailbox(text)
  if (parsed?.kind !== 'mailbox') return `\t${text.toLowerCase()}`
  return `${parsed.localPart.toLowerCase()}@${asciiDomain(parsed.domain)}`
}

/** The domain of an address in the form for comparison. */
export function domainOf(address: string): string {
  return asciiDomain(address.slice(address.lastIndexOf('@') + 1))
}

/** RFC 5321 §4.1.2: `"name"` and `name` are the same local part. */
export function unquote(localPart: string): string {
  if (!localPart.startsWith('"') || !localPart.endsWith('"')) return localPart
  return localPart.slice(1, -1).replace(/\\(.)/g, '$1')
}
