import { RESPONSE_LENGTH_MAX } from '@mailroom/mail-reading/report/report.ts'
import type { Clock } from '#platform/clock.ts'
import { addressKey } from '#platform/email-address.ts'
import type { MakeId } from '#platform/ids.ts'
import { notFound } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Db, Page } from '#schema/tables.ts'
import type { Suppression, SuppressionType } from './suppression.ts'
import * as store from './suppression-rows.ts'
import { readUnsubscribeToken, type Unsubscription } from './unsubscribe-link.ts'

/** Newest first; the one of an address when it is given. */
export function listSuppressions(
  deps: { db: Db },
  { address, ...input }: { accountId: string; address: string | null } & Page,
): Promise<{ suppressions: Suppression[]; total: number }> {
  const key = address === null ? null : addressKey(address)
  return store.listSuppressions(deps.db, { ...input, addressKey: key })
}

/** By hand; where the address is on the list already, returns the entry that stands. */
export function addSuppression(
  deps: { db: Db; clock: Clock; makeId: MakeId },
  { accountId, address }: { accountId: string; address: string },
): Promise<Suppression> {
  const why = { accountId, address, type: 'manual', reason: null } as const
  return deps.db.write(store.insertSuppression, newSuppression(deps, why))
}

/** `not_found` when the address is not on the list. */
export async function removeSuppression(
  deps: { db: Db },
  { accountId, address }: { accountId: string; address: string },
): Promise<void> {
  const change = { accountId, addressKey: addressKey(address) }
  if (!(await deps.db.write(store.deleteSuppression, change))) throw notFound()
}

/** Ready to be written; `reason` may be in somebody else's words, and is cut. */
export function newSuppression(
  deps: { clock: Clock; makeId: MakeId },
  why: { accountId: string; address: string; type: SuppressionType; reason: string | null },
): store.NewSuppression {
  return {
    id: deps.makeId('sup'),
    account_id: why.accountId,
    address: why.address,
    address_key: addressKey(why.address),
    type: why.type,
    reason: why.reason?.slice(0, RESPONSE_LENGTH_MAX) ?? null,
    created_at: deps.clock.now(),
  }
}

/**
 * Puts the address on the account's list, where it stays as it is if it is there already. Null when
 * this service made no such link.
 */
export async function unsubscribe(
  deps: { db: Db; clock: Clock; makeId: MakeId; sealer: Sealer },
  token: string,
): Promise<Unsubscription | null> {
  const found = readUnsubscribeToken(deps.sealer, token)
  if (found === null) return null
  const { accountId, address, messageId } = found
  // Mail programs and people repeat it; a read does not wait for the writer.
  if ((await store.findSuppressed(deps.db, accountId, [addressKey(address)])) !== null) return found
  const reason = `Unsubscribed by the link in ${messageId}.`
  const why = { accountId, address, type: 'unsub', reason } as const
  await deps.db.write(store.insertSuppression, newSuppression(deps, why))
  return found
}
