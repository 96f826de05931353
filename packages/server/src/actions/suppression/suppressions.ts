// The account's list of addresses that it does not write to.

import type { Deps } from '#actions/deps.ts'
import type { Page } from '#actions/page.ts'
import { addressKey } from '#model/email-address.ts'
import { notFound } from '#model/problem.ts'
import type { Suppression } from '#model/suppression.ts'
import * as store from '#store/suppression.ts'
import { deleteSuppression, insertSuppression } from '#store/suppression.ts'

/** Newest first; the one of an address when it is given. */
export function listSuppressions(
  deps: Pick<Deps, 'db'>,
  { address, ...input }: { accountId: string; address: string | null } & Page,
): Promise<{ suppressions: Suppression[]; total: number }> {
  const key = address === null ? null : addressKey(address)
  return store.listSuppressions(deps.db, { ...input, addressKey: key })
}

/** By hand; where the address is on the list already, the entry that stands is given back. */
export function addSuppression(
  deps: Pick<Deps, 'db' | 'clock' | 'makeId'>,
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
  deps: Pick<Deps, 'db'>,
  { accountId, address }: { accountId: string; address: string },
): Promise<void> {
  const change = { accountId, addressKey: addressKey(address) }
  if (!(await deps.db.write(deleteSuppression, change))) throw notFound()
}
