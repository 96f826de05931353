import { transaction } from '#platform/db/db.ts'
import { lockTable } from '#platform/db/dialect.ts'
import type { Account } from '#store/nouns.ts'
import type { Tx } from '#store/tables.ts'
import { insertKeyRow, type NewKey } from './keys.ts'

type NewAccount = Pick<Account, 'id' | 'name' | 'plan'> & {
  podId: string
  key: NewKey
  nowMs: number
  isFirst: boolean
}

/** Also inserts the default pod and the first key. With `isFirst`, false if an account exists. */
export const insertAccount = transaction({
  name: 'createAccount',
  accountOf: () => null,
  async run(tx: Tx, input: NewAccount): Promise<boolean> {
    const { id, name, plan, nowMs } = input
    if (input.isFirst) {
      // Processes that start at the same time check one after the other.
      await lockTable(tx, 'accounts')
      const any = await tx.query.selectFrom('accounts').select('id').limit(1).executeTakeFirst()
      if (any !== undefined) return false
    }
    await tx.query
      .insertInto('accounts')
      .values({ id, name, plan, pod_count: 1, created_at: nowMs })
      .execute()
    await tx.query
      .insertInto('pods')
      .values({ id: input.podId, account_id: id, is_default: 1, created_at: nowMs })
      .execute()
    await insertKeyRow(tx, id, input.key, nowMs)
    return true
  },
})
