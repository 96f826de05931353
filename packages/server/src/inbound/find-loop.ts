// Mail that goes in circles: what has passed through too many servers, and what an inbox sent itself
// and gets back by way of others.

import type { ParsedHeaders } from '@mailroom/mail/mime/parsed-message.ts'
import type { Inbox } from '#inboxes/inbox.ts'
import { hopMarkKey, hopMarkOf } from '#outbound/hop-mark.ts'

/** RFC 5321 §6.3 suggests at least 100 for a limit of hops; peers of today use 50. */
const RECEIVED_HEADERS_MAX = 50

export type Loop = {
  kind: 'loop'
  reason: 'hops' | 'own_mark'
  /** For the sending server, without a full stop. */
  text: string
  /** Servers that it has passed through, by its own account. */
  hops: number
}

/** RFC 5321 §6.3. */
export function findLoopOfHops({
  receivedCount: hops,
}: Pick<ParsedHeaders, 'receivedCount'>): Loop | null {
  if (hops <= RECEIVED_HEADERS_MAX) return null
  return { kind: 'loop', reason: 'hops', text: `Too many hops (${hops})`, hops }
}

/** Of mail that only the inboxes that sent it would get. */
export function ownMarkLoop({ receivedCount: hops }: ParsedHeaders): Loop {
  return { kind: 'loop', reason: 'own_mark', text: 'Mail loop: the mailbox sent this itself', hops }
}

/**
 * Those of the inboxes that did not send this message themselves, by its marks. What a list passes on
 * comes back to its author by design, and so does what an inbox sends to itself here.
 */
export function withoutOwnMail<Own extends Pick<Inbox, 'id'>>(
  deps: { deriveKey: (purpose: string) => Uint8Array },
  inboxes: readonly Own[],
  { headers, origin }: { headers: ParsedHeaders; origin: 'smtp' | 'service' | 'sandbox' },
): Own[] {
  const marks = new Set(headers.loopMarks)
  if (marks.size === 0 || headers.hasListId || origin === 'service') return [...inboxes]
  const key = hopMarkKey(deps)
  return inboxes.filter(({ id }) => !marks.has(hopMarkOf(key, id)))
}
