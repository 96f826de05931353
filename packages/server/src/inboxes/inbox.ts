// An inbox: an address that mail is received at, and the rules of its name.

import type { FilterMode } from '@mailroom/contract/vocabulary.ts'
import { asciiDomain } from '@mailroom/mail/address.ts'
import { type Chance, LOWER_ALPHANUMERIC, randomText } from '#platform/chance.ts'

export type Inbox = {
  id: string
  accountId: string
  podId: string
  address: string
  /** Of the custom domain that it is on; null on the inbox domain of the settings. */
  domainId: string | null
  displayName: string | null
  createdAtMs: number
}

/** What an account says of those who write to it, beside its rules. */
export type Screening = { filterMode: FilterMode }

/** As arriving mail finds it. */
export type ReachedInbox = Inbox & {
  /** Null where everybody may write to it. */
  screening: Screening | null
}

/** With what arriving mail has no use for. */
export type ShownInbox = Inbox & {
  /** Where its events are posted to, and nobody else's. */
  webhookUrl: string | null
  unreadThreads: number
  /** Null while it is empty. */
  lastMessageAtMs: number | null
}

const MAILBOX_NAME = /^(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,28}[a-z0-9]$/

/** 3 to 30 lower-case letters, digits, dots and hyphens; see the interface for the rest. */
export function isMailboxName(name: string): boolean {
  return MAILBOX_NAME.test(name)
}

/** Eight random letters and digits. */
export function makeMailboxName(chance: Chance): string {
  return randomText(chance, LOWER_ALPHANUMERIC, 8)
}

/** Whoever has one of these could speak for the whole domain, so no tenant gets one by asking. */
const RESERVED = new Set([
  // RFC 2142 §4 and §5: technical roles. Those of trade (§3: info, marketing, sales, support) stay free.
  'abuse',
  'noc',
  'security',
  'postmaster',
  'hostmaster',
  'webmaster',
  // CA/Browser Forum Baseline Requirements §3.2.2.4.4: mail to admin, administrator, webmaster,
  // hostmaster or postmaster proves control of a domain, which is enough for a certificate.
  'admin',
  'administrator',
  // Common names of those who run a machine; ssladmin has been taken for a contact of certificates, too.
  'root',
  'sysadmin',
  'ssladmin',
  // Senders of automatic mail, and where reports about the domain's mail go (RFC 7489, RFC 8460).
  'mailer-daemon',
  'noreply',
  'no-reply',
  'bounce',
  'bounces',
  'dmarc-reports',
  'tls-reports',
])
/** Return paths are `b+<id>.<mac>@`, so this name would receive them all. */
const RETURN_PATH_NAME = 'b'

/** Whether this name on the service's own domain is only the operator's to give. */
export function isReservedName(name: string): boolean {
  return RESERVED.has(name) || name === RETURN_PATH_NAME
}

/**
 * `name+tag@domain` reaches `name@domain` (RFC 5233 sub-addressing); the result is lower-cased, its
 * domain as `asciiDomain` gives it.
 */
export function inboxAddressOf(localPart: string, domain: string): string {
  const plus = localPart.indexOf('+')
  const name = plus > 0 ? localPart.slice(0, plus) : localPart
  return `${name.toLowerCase()}@${asciiDomain(domain)}`
}

/** The domain of an address, as it is compared. */
export function domainOf(address: string): string {
  return asciiDomain(address.slice(address.lastIndexOf('@') + 1))
}

/** RFC 5321 §4.1.2: `"name"` and `name` are the same local part. */
export function unquote(localPart: string): string {
  if (!localPart.startsWith('"') || !localPart.endsWith('"')) return localPart
  return localPart.slice(1, -1).replace(/\\(.)/g, '$1')
}
