// The message that a return path is of.

import type { Deps } from '#actions/deps.ts'
import { domainOf } from '#model/inbox.ts'
import { readReturnPath } from '#model/return-path.ts'
import { findSentByDelivery, type SentMessage } from '#store/delivery.ts'
import type { Named } from './match-recipients.ts'

/** With the recipients that reports to it may speak of; or why there is none. */
export async function findAtReturnPath(
  deps: Pick<Deps, 'db' | 'clock' | 'deriveKey'>,
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
