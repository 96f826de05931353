// Reading the keys of an account.

import type { Deps } from '#actions/deps.ts'
import type { Page } from '#actions/page.ts'
import type { Key } from '#model/key.ts'
import * as store from '#store/account.ts'

/** Active keys, newest first. */
export async function listKeys(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string } & Page,
): Promise<{ keys: Key[]; total: number }> {
  return store.listKeys(deps.db, input)
}
