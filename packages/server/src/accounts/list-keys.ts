// Reading the keys of an account.

import type { Db, Page } from '#schema/tables.ts'
import * as store from './account-rows.ts'
import type { Key } from './key.ts'

/** Active keys, newest first. */
export async function listKeys(
  deps: { db: Db },
  input: { accountId: string } & Page,
): Promise<{ keys: Key[]; total: number }> {
  return store.listKeys(deps.db, input)
}
