// Which keys are still good, for connections that outlive a request.

import type { Db } from '#schema/tables.ts'
import * as store from './account-rows.ts'

/** Those of the keys that are not revoked, of whatever account. */
export function findActiveKeys(deps: { db: Db }, keyIds: readonly string[]): Promise<string[]> {
  return store.findActiveKeys(deps.db, keyIds)
}
