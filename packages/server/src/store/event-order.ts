// The order of the log in a database that was restored from another server: transactions there may
// have had numbers that this server has yet to give out, and readers would wait for them to end.

import { isAfter, lockRows, transactionNumbers } from '#db/dialect.ts'
import { positionOf } from './event.ts'
import type { Row, Tx } from './tables.ts'

const STEP_ROWS = 10_000

/**
 * Gives events of transactions that this server never had the number of this one, as if it had written
 * them all, and takes readers along: what a reader had not read stays behind it, and some of what it
 * had may come again. Returns how many events it was. To be run when a service starts.
 */
export async function settleEventOrder(tx: Tx, _input: object): Promise<number> {
  const numbers = transactionNumbers(tx.engine)
  if (numbers === null) return 0
  const { own, isForeign } = numbers
  const readers = await lockRows(
    tx,
    tx.query.selectFrom('event_readers').selectAll().where(isForeign).orderBy('name'),
  ).execute()
  for (const reader of readers) {
    const sequence = await findSequence(tx, reader)
    await tx.query
      .updateTable('event_readers')
      .set({ transaction_id: own, sequence })
      .where('name', '=', reader.name)
      .execute()
  }
  for (let moved = 0; ; ) {
    const step = tx.query.selectFrom('events').select('sequence').where(isForeign).limit(STEP_ROWS)
    const some = await tx.query
      .updateTable('events')
      .set({ transaction_id: own })
      .where('sequence', 'in', step)
      .returning('sequence')
      .execute()
    if (some.length === 0) return moved
    moved += some.length
  }
}

/** Up to where the reader had read all of what stands in the order of sequences from now on. */
async function findSequence(tx: Tx, reader: Row<'event_readers'>): Promise<number> {
  const numbers = transactionNumbers(tx.engine)
  if (numbers === null) return reader.sequence
  const foreign = tx.query.selectFrom('events').where(numbers.isForeign)
  const unread = await foreign
    .where(isAfter(tx.engine, positionOf(reader)))
    .select(({ fn }) => fn.min('sequence').as('first'))
    .executeTakeFirst()
  if (unread?.first != null) return unread.first - 1
  const all = await foreign.select(({ fn }) => fn.max('sequence').as('last')).executeTakeFirst()
  return all?.last ?? reader.sequence
}
