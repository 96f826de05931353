// Whether an account's audit log names an address. Erasing that address would remove evidence.

import { sql } from 'kysely'
import { replaceAddress } from '#platform/address-text.ts'
import type { Engine, LongRead } from '#platform/db/db.ts'
import { mayContain } from '#platform/db/dialect.ts'
import type { Tables } from '#store/tables.ts'

const STEP_ENTRIES = 500

type Asked = { engine: Engine; accountId: string; addressKey: string }

/** Also true if the search was aborted, because the answer is then unknown. */
export const isAudited: LongRead<Tables, Asked, boolean> = {
  name: 'isAudited',
  async run(db, { engine, accountId, addressKey }, signal) {
    for (let after = ''; !signal.aborted; ) {
      const entries = await db.read
        .selectFrom('policy_audit')
        .select(['id', 'details'])
        .where('account_id', '=', accountId)
        .where('id', '>', after)
        .where(mayContain(engine, sql<string>`details`, addressKey))
        .orderBy('id')
        .limit(STEP_ENTRIES)
        .execute()
      const isNamed = entries.some(({ details }) => replaceAddress(details, addressKey) !== null)
      if (isNamed) return true
      const last = entries.at(-1)
      if (last === undefined) return false
      after = last.id
    }
    return true
  },
}
