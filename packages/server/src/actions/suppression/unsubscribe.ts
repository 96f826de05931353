// Unsubscribing by the link on a message.

import type { Deps } from '#actions/deps.ts'
import { addressKey } from '#model/email-address.ts'
import { readUnsubscribeToken, type Unsubscription } from '#model/unsubscribe-link.ts'
import { findSuppressed, insertSuppression } from '#store/suppression.ts'

/** What the token of a link stands for; null when this service made no such link. */
export function findUnsubscription(
  { sealer }: Pick<Deps, 'sealer'>,
  token: string,
): Unsubscription | null {
  return readUnsubscribeToken(sealer, token)
}

/**
 * Puts the address on the account's list, where it stays as it is if it is there already. Null when
 * this service made no such link.
 */
export async function unsubscribe(
  deps: Pick<Deps, 'db' | 'clock' | 'makeId' | 'sealer'>,
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
