// Unsubscribing by the link on a message.

import type { Clock } from '#platform/clock.ts'
import { addressKey } from '#platform/email-address.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Db } from '#schema/tables.ts'
import { findSuppressed, insertSuppression } from './suppression-rows.ts'
import { readUnsubscribeToken, type Unsubscription } from './unsubscribe-link.ts'

/** What the token of a link stands for; null when this service made no such link. */
export function findUnsubscription(
  { sealer }: { sealer: Sealer },
  token: string,
): Unsubscription | null {
  return readUnsubscribeToken(sealer, token)
}

/**
 * Puts the address on the account's list, where it stays as it is if it is there already. Null when
 * this service made no such link.
 */
export async function unsubscribe(
  deps: { db: Db; clock: Clock; makeId: MakeId; sealer: Sealer },
  token: string,
): Promise<Unsubscription | null> {
  const found = findUnsubscription(deps, token)
  if (found === null) return null
  const { accountId, address, messageId } = found
  const key = addressKey(address)
  // Mail programs and people repeat it; a look does not wait for the writer.
  if ((await findSuppressed(deps.db, accountId, [key])) !== null) return found
  await deps.db.write(insertSuppression, {
    id: deps.makeId('sup'),
    account_id: accountId,
    address,
    address_key: key,
    type: 'unsub',
    reason: `Unsubscribed by the link in ${messageId}.`,
    created_at: deps.clock.now(),
  })
  return found
}
