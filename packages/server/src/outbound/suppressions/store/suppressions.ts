import type { SuppressionType } from '@mailroom/contract/vocabulary.ts'
import { changeAccountCounters, readAccountCounters } from '#accounts/store/accounts.ts'
import { transaction } from '#platform/db/db.ts'
import { statement } from '#platform/db/statement.ts'
import { type Suppression, suppressions } from '#store/nouns.ts'
import { type NewRow, type ReadDb, type Row, readIn, type Tables, type Tx } from '#store/tables.ts'

export type { Suppression, SuppressionType }

export type NewSuppression = NewRow<'suppressions'>

/**
 * Limits the entries that an account adds itself. Bounces, complaints and unsubscribed recipients
 * are not limited.
 */
const SUPPRESSIONS_MAX = 100_000

/** Returns an existing suppression of the address unchanged, or null beyond SUPPRESSIONS_MAX. */
export const insertSuppression = transaction({
  name: 'addSuppression',
  accountOf: ({ account_id }) => account_id,
  async run(tx: Tx, input: NewSuppression): Promise<Suppression | null> {
    const counts = await readAccountCounters(readIn(tx), input.account_id)
    if (input.type === 'manual' && counts.suppression_count >= SUPPRESSIONS_MAX) {
      const known = await findEntry(tx, input)
      return known === undefined ? null : suppressions.read(known)
    }
    const added = await tx.query
      .insertInto('suppressions')
      .values(input)
      .onConflict((conflict) => conflict.columns(['account_id', 'address_key']).doNothing())
      .returningAll()
      .executeTakeFirst()
    if (added === undefined) {
      const row = await findEntry(tx, input)
      // Another transaction has just removed the entry, so the result is the same as if it had been
      // added.
      return suppressions.read(row ?? { ...input, reason: input.reason ?? null })
    }
    await changeAccountCounters(tx, input.account_id, { suppressions: 1 })
    return suppressions.read(added)
  },
})

function findEntry(tx: Tx, { account_id, address_key }: NewSuppression) {
  return tx.query
    .selectFrom('suppressions')
    .selectAll()
    .where('account_id', '=', account_id)
    .where('address_key', '=', address_key)
    .executeTakeFirst()
}

export async function addSuppressions(
  tx: Tx,
  accountId: string,
  inputs: readonly NewSuppression[],
): Promise<void> {
  if (inputs.length === 0) return
  // The order, and locking these before the account's counters, prevent deadlocks.
  const sorted = inputs.toSorted((a, b) => (a.address_key < b.address_key ? -1 : 1))
  const added = await tx.query
    .insertInto('suppressions')
    .values(sorted)
    .onConflict((conflict) => conflict.columns(['account_id', 'address_key']).doNothing())
    .returning('id')
    .execute()
  if (added.length === 0) return
  await changeAccountCounters(tx, accountId, { suppressions: added.length })
}

/** Returns false if the account has no such suppression. */
export const deleteSuppression = transaction({
  name: 'removeSuppression',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(tx: Tx, input: { accountId: string; addressKey: string }): Promise<boolean> {
    const removed = await tx.query
      .deleteFrom('suppressions')
      .where('account_id', '=', input.accountId)
      .where('address_key', '=', input.addressKey)
      .returning('id')
      .execute()
    if (removed.length === 0) return false
    await changeAccountCounters(tx, input.accountId, { suppressions: -removed.length })
    return true
  },
})

/** Lists suppressions newest first, or only the one of `addressKey`. */
export async function listSuppressions(
  db: ReadDb,
  input: { accountId: string; addressKey: string | null; limit: number; offset: number },
): Promise<{ suppressions: Suppression[]; total: number }> {
  const { accountId, addressKey, limit, offset } = input
  if (addressKey !== null) {
    const found = await findSuppressed(db, accountId, [addressKey])
    const all = found === null ? [] : [found]
    return { suppressions: all.slice(offset, offset + limit), total: all.length }
  }
  const rows = await db.read
    .selectFrom('suppressions')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  const { suppression_count: total } = await readAccountCounters(db, accountId)
  return { suppressions: rows.map(suppressions.read), total }
}

export async function findSuppressed(
  db: ReadDb,
  accountId: string,
  addressKeys: string[],
): Promise<Suppression | null> {
  const [only] = addressKeys
  const rows =
    addressKeys.length === 1 && only !== undefined
      ? await selectSuppression(db.reading, { accountId, key: only })
      : await db.read
          .selectFrom('suppressions')
          .selectAll()
          .where('account_id', '=', accountId)
          .where('address_key', 'in', addressKeys)
          .execute()
  for (const key of addressKeys) {
    const row = rows.find(({ address_key }) => address_key === key)
    if (row !== undefined) return suppressions.read(row)
  }
  return null
}

const selectSuppression = statement<
  Tables,
  { accountId: string; key: string },
  Row<'suppressions'>
>((query, given) =>
  query
    .selectFrom('suppressions')
    .selectAll()
    .where('account_id', '=', given('accountId'))
    .where('address_key', '=', given('key')),
)
