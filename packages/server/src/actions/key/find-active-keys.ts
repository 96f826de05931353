// Which keys are still good, for connections that outlive a request.

import type { Deps } from '#actions/deps.ts'
import * as store from '#store/account.ts'

/** Those of the keys that are not revoked, of whatever account. */
export function findActiveKeys(
  deps: Pick<Deps, 'db'>,
  keyIds: readonly string[],
): Promise<string[]> {
  return store.findActiveKeys(deps.db, keyIds)
}
