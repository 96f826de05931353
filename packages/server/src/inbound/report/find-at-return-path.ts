// The message that a return path is of.

import { domainOf } from '#inboxes/inbox.ts'
import { findSentByDelivery, type SentMessage } from '#outbound/delivery-rows.ts'
import { readReturnPath } from '#outbound/return-path.ts'
import type { Clock } from '#platform/clock.ts'
import type { Db } from '#schema/tables.ts'
import type { Named } from './match-recipients.ts'

/** With the recipients that reports to it may speak of; or why there is none. */
export async function findAtReturnPath(
  deps: { db: Db; clock: Clock; deriveKey: (purpose: string) => Uint8Array },
  localPart: string,
): Promise<{ sent: SentMessage; group: Named[] } | 'forged' | 'expired' | 'unknown_message'> {
  const key = deps.deriveKey('return-path')
  const read = readReturnPath(key, { localPart, nowMs: deps.clock.now() })
  if (read?.kind !== 'delivery') return read?.kind ?? 'forged'
  const { deliveryId } = read
  const sent = await findSentByDelivery(deps.db, deliveryId)
  const named = sent?.deliveries.find(({ id }) => id === deliveryId)
  if (sent === null || named === undefined) return 'unknown_message'
  // Its server got this address with no others: it cannot speak for theirs.
  const domain = domainOf(named.recipient)
  const group = sent.deliveries.filter(({ recipient }) => domainOf(recipient) === domain)
  return { sent, group }
}
