// Email addresses in API requests: validation and comparison.

import {
  asciiDomain,
  isDomainName,
  type MailboxDefect,
  parseMailbox,
} from '@mailroom/mail/address.ts'
import { ADDRESS_TEXT_LENGTH_MAX, formatMailbox } from '@mailroom/mail/address-list.ts'
import { decodeWords } from '@mailroom/mail/encoded-word.ts'
import type { Mailbox } from '@mailroom/mail/mime/parsed-message.ts'
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

/** Like `checkWrittenAddress`, and also allows `Name <address>`. */
export function checkMailbox(text: string): string | null {
  return checkWrittenAddress(readMailbox(text)?.address ?? text)
}

/** Returns a text unchanged if its name has an invisible character; the text is then refused. */
export function writtenAddress(text: string): string {
  return readMailbox(text)?.address ?? text
}

/** Like `writtenAddress`, but keeps the name, written in one way. */
export function writtenMailbox(text: string): string {
  const mailbox = readMailbox(text)
  return mailbox === null ? text : formatMailbox(mailbox)
}

// RFC 5322 §3.2.5 with the dots of §4.1; no comments, groups, lists or control characters.
const NAMED_ADDRESS =
  /^((?:[^\p{Cc}\u2028\u2029()<>[\]:;@\\,"]|"(?:[^\p{Cc}\u2028\u2029"\\]|\\[^\p{Cc}\u2028\u2029])*")*)<([^<>]*)> *$/u

const NAMED_LENGTH_MAX = 10_000

/** Returns the address in `Name <address>`, and any other text unchanged. */
export function bareAddress(text: string): string {
  if (text.length > NAMED_LENGTH_MAX) return text
  return NAMED_ADDRESS.exec(text)?.[2] ?? text
}

/** In code points. Longer names are left out, so that 50 of them fit into a header. */
const NAME_LENGTH_MAX = 200

/**
 * Returns the parts of `Name <address>`, or a text without a name as its address. Null if the name
 * has an invisible character. Encoded words (RFC 2047) are decoded, except in quotation marks.
 */
export function readMailbox(text: string): Mailbox | null {
  const found = text.length > NAMED_LENGTH_MAX ? null : NAMED_ADDRESS.exec(text)
  if (findUnseen(text, { isName: true }) !== null) return null
  if (found === null) return { name: '', address: text }
  const words = (found[1] ?? '').match(QUOTED_OR_PLAIN) ?? []
  const name = words
    .map((word) => (word.startsWith('"') ? unquote(word) : decodeWords(word)))
    .join('')
    .trim()
  if (findUnseen(name, { isName: true }) !== null) return null
  return { name: isNameKept(name) ? name : '', address: found[2] ?? '' }
}

const QUOTED_OR_PLAIN = /"(?:[^"\\]|\\.)*"|[^"]+/gsu

function isNameKept(name: string): boolean {
  return name.length <= NAME_LENGTH_MAX || [...name].length <= NAME_LENGTH_MAX
}

/** Display names by `addressKey`. */
export type Names = ReadonlyMap<string, string>

/** Leaves out names that no request could have: too long, or with invisible characters. */
export function namesOf(mailboxes: readonly Mailbox[]): Names {
  const names = new Map<string, string>()
  for (const { name, address } of mailboxes) {
    if (name === '' || !isNameKept(name) || findUnseen(name, { isName: true }) !== null) continue
    const key = addressKey(address)
    if (!names.has(key)) names.set(key, name)
  }
  return names
}

export function mailboxOf(names: Names, address: string): Mailbox {
  return { name: names.get(addressKey(address)) ?? '', address }
}

/** Returns `Name <address>`, or the address if it has no name. */
export function withName(names: Names, address: string): string {
  return formatMailbox(mailboxOf(names, address))
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
