// Reading the keys of an account.

import type { Page } from '#platform/page.ts'
import type { Db } from '#schema/tables.ts'
import * as store from './account-rows.ts'
import type { Key } from './key.ts'

/** Active keys, newest first. */
export async function listKeys(
  deps: { db: Db },
  input: { accountId: string } & Page,
): Promise<{ keys: Key[]; total: number }> {
  return store.listKeys(deps.db, input)
}
