// The account's list of addresses that it does not write to.

import type { Clock } from '#platform/clock.ts'
import { addressKey } from '#platform/email-address.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Page } from '#platform/page.ts'
import { notFound } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'
import type { Suppression } from './suppression.ts'
import * as store from './suppression-rows.ts'
import { deleteSuppression, insertSuppression } from './suppression-rows.ts'

/** Newest first; the one of an address when it is given. */
export function listSuppressions(
  deps: { db: Db },
  { address, ...input }: { accountId: string; address: string | null } & Page,
): Promise<{ suppressions: Suppression[]; total: number }> {
  const key = address === null ? null : addressKey(address)
  return store.listSuppressions(deps.db, { ...input, addressKey: key })
}

/** By hand; where the address is on the list already, the entry that stands is given back. */
export function addSuppression(
  deps: { db: Db; clock: Clock; makeId: MakeId },
  { accountId, address }: { accountId: string; address: string },
): Promise<Suppression> {
  return deps.db.write(insertSuppression, {
    id: deps.makeId('sup'),
    account_id: accountId,
    address,
    address_key: addressKey(address),
    type: 'manual',
    reason: null,
    created_at: deps.clock.now(),
  })
}

/** `not_found` when the address is not on the list. */
export async function removeSuppression(
  deps: { db: Db },
  { accountId, address }: { accountId: string; address: string },
): Promise<void> {
  const change = { accountId, addressKey: addressKey(address) }
  if (!(await deps.db.write(deleteSuppression, change))) throw notFound()
}
