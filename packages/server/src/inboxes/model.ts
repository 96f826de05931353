import type { FilterMode } from '@mailroom/contract/vocabulary.ts'
import { asciiDomain } from '@mailroom/mail/address.ts'
import { type Chance, LOWER_ALPHANUMERIC, randomText } from '#platform/chance.ts'
import { unquote } from '#platform/email-address.ts'
import type { Inbox } from '#store/nouns.ts'
import { RETURN_PATH_NAME } from './service-names.ts'

export type { Inbox }

export type Screening = { filterMode: FilterMode }

export type ReachedInbox = Inbox & {
  /** Null if every sender is accepted. */
  screening: Screening | null
}

export type ShownInbox = Inbox & {
  webhookUrl: string | null
  unreadThreads: number
  lastMessageAtMs: number | null
  /** Null if mail is kept forever. */
  effectiveRetentionDays: number | null
}

export function makeMailboxName(chance: Chance): string {
  return randomText(chance, LOWER_ALPHANUMERIC, 8)
}

/** Mail for `name+tag@domain` reaches `name@domain` (RFC 5233). Lower case, domain in A-labels. */
export function inboxAddressOf(localPart: string, domain: string): string {
  const plus = localPart.indexOf('+')
  const name = plus > 0 ? localPart.slice(0, plus) : localPart
  return `${name.toLowerCase()}@${asciiDomain(domain)}`
}

/** The sub-address after the `+`; null without one, and for a return path. */
export function tagOf(address: string): string | null {
  const at = address.lastIndexOf('@')
  const localPart = unquote(at < 0 ? address : address.slice(0, at))
  const plus = localPart.indexOf('+')
  if (plus <= 0 || localPart.slice(0, plus).toLowerCase() === RETURN_PATH_NAME) return null
  return localPart.slice(plus + 1) || null
}
