// Email addresses as callers give them: whether a text is exactly one, and how two are compared.

import {
  asciiDomain,
  isDomainName,
  type MailboxDefect,
  parseMailbox,
} from '@mailroom/mail/address.ts'
import { ADDRESS_TEXT_LENGTH_MAX } from '@mailroom/mail/address-list.ts'

const expectations: Readonly<Record<MailboxDefect, string>> = {
  syntax: 'must be one email address, alone or as Name <address>',
  'source-route': 'must not begin with a route',
  'no-domain': 'must have a domain after an @',
  'local-part-too-long': 'must have at most 64 octets before the @',
  'domain-too-long': 'must have at most 255 octets after the @',
}

/** What keeps `text` from being one mailbox of RFC 5321 §4.1.2, to follow a field's name; or null. */
export function checkEmailAddress(text: string): string | null {
  if (text === '') return 'must not be empty'
  if (text.length > ADDRESS_TEXT_LENGTH_MAX) return expectations.syntax
  // With a colon it may be the route of RFC 5321 §4.1.2.
  if (/^@[^:]*$/.test(text)) return 'must have a name before the @'
  const parsed = parseMailbox(text)
  if (parsed.kind === 'defect') return expectations[parsed.defect]
  // Lawful within quotes, and taken for the end of the address by whoever reads carelessly.
  if (/[<>]/.test(text)) return expectations.syntax
  // What has no A-labels cannot be looked up (RFC 5891 §4.4).
  if (!parsed.isAddressLiteral && !isDomainName(asciiDomain(parsed.domain))) {
    return expectations.syntax
  }
  return null
}

// The phrase of RFC 5322 §3.2.5 with the dots of §4.1, any text outside ASCII, and what is not closed
// by the bracket at the end; comments, groups, lists and control characters have no place in it.
const NAMED_ADDRESS =
  /^(?:[^\p{Cc}\u2028\u2029()<>[\]:;@\\,"]|"(?:[^\p{Cc}\u2028\u2029"\\]|\\[^\p{Cc}\u2028\u2029])*")*<([^<>]*)> *$/u

/** UTF-16 units of the name and the address together. */
const NAMED_LENGTH_MAX = 10_000

/** The address of `Name <address>`, as `fromAddr` has it; any other text as it is. */
export function bareAddress(text: string): string {
  if (text.length > NAMED_LENGTH_MAX) return text
  return NAMED_ADDRESS.exec(text)?.[1] ?? text
}

/**
 * The form in which addresses are compared: lower case, the domain with A-labels, a local part
 * without the quotes of RFC 5321 §4.1.2. Equal for two spellings of one mailbox. What is no address
 * gets a key that no address has.
 */
export function addressKey(text: string): string {
  const parsed = text.length > ADDRESS_TEXT_LENGTH_MAX ? null : parseMailbox(text)
  if (parsed?.kind !== 'mailbox') return `\t${text.toLowerCase()}`
  return `${parsed.localPart.toLowerCase()}@${asciiDomain(parsed.domain)}`
}
