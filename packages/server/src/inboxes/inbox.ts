// An inbox: an address that receives mail, and the rules for its name.

import type { FilterMode } from '@mailroom/contract/vocabulary.ts'
import { asciiDomain } from '@mailroom/mail/address.ts'
import { type Chance, LOWER_ALPHANUMERIC, randomText } from '#platform/chance.ts'
import { unquote } from '#platform/email-address.ts'
import type { Inbox } from '#schema/nouns.ts'
import { RETURN_PATH_NAME } from './service-names.ts'

export type { Inbox }

/** Which senders an inbox accepts, apart from rules. */
export type Screening = { filterMode: FilterMode }

export type ReachedInbox = Inbox & {
  /** Null when everybody may write to it. */
  screening: Screening | null
}

export type ShownInbox = Inbox & {
  /** Gets the events of this inbox alone. */
  webhookUrl: string | null
  unreadThreads: number
  /** Null while it is empty. */
  lastMessageAtMs: number | null
  /** Null: mail is kept. */
  effectiveRetentionDays: number | null
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

/**
 * `name+tag@domain` reaches `name@domain` (RFC 5233 sub-addressing); the result is lower-cased, its
 * domain as `asciiDomain` gives it.
 */
export function inboxAddressOf(localPart: string, domain: string): string {
  const plus = localPart.indexOf('+')
  const name = plus > 0 ? localPart.slice(0, plus) : localPart
  return `${name.toLowerCase()}@${asciiDomain(domain)}`
}

/** The sub-address after the `+`; null without one, and for a return path, whose `+` begins its signed id. */
export function tagOf(address: string): string | null {
  const at = address.lastIndexOf('@')
  const localPart = unquote(at < 0 ? address : address.slice(0, at))
  const plus = localPart.indexOf('+')
  if (plus <= 0 || localPart.slice(0, plus).toLowerCase() === RETURN_PATH_NAME) return null
  return localPart.slice(plus + 1) || null
}
