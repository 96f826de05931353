// The order of the log in a database that was restored from another server. Events may have
// transaction numbers that this server has not reached yet, so readers would wait for these
// transactions.

import { compareOffsets, type LogOffset } from '#events/model.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { logOrder } from '#platform/db/log-order.ts'
import type { Row, Tx } from '#store/tables.ts'
import { offsetOf } from './log.ts'

const STEP_ROWS = 10_000

/**
 * Gives events of foreign transactions this transaction's number, and moves readers and webhooks
 * accordingly. Unread events stay unread, and some earlier ones may be read again. Returns the
 * number of events. Runs when a service starts.
 */
export const settleEventOrder = transaction({
  name: 'settleEventOrder',
  accountOf: () => null,
  async run(tx: Tx, _input: object): Promise<number> {
    const { numbers } = logOrder(tx)
    if (numbers === null) return 0
    const { own, isForeign } = numbers
    const readers = await lockRows(
      tx,
      tx.query.selectFrom('event_readers').selectAll().where(isForeign).orderBy('name'),
    ).execute()
    const moves: Move[] = []
    for (const reader of readers) {
      const sequence = await findSequence(tx, reader)
      moves.push({ from: offsetOf(reader), sequence })
      await tx.query
        .updateTable('event_readers')
        .set({ transaction_id: own, sequence })
        .where('name', '=', reader.name)
        .execute()
    }
    await settleWebhooks(tx, numbers, moves)
    for (let moved = 0; ; ) {
      const step = tx.query
        .selectFrom('events')
        .select('sequence')
        .where(isForeign)
        .limit(STEP_ROWS)
      const some = await tx.query
        .updateTable('events')
        .set({ transaction_id: own })
        .where('sequence', 'in', step)
        .returning('sequence')
        .execute()
      if (some.length === 0) return moved
      moved += some.length
    }
  },
})

type Move = { from: LogOffset; sequence: number }
type Numbers = NonNullable<ReturnType<typeof logOrder>['numbers']>
type OffsetColumns = Pick<Row<'event_readers'>, 'transaction_id' | 'sequence'>

/**
 * A webhook enabled before a reader's offset takes over that offset; other webhooks need a query.
 */
async function settleWebhooks(tx: Tx, { own, isForeign }: Numbers, readers: Move[]) {
  const offsets = tx.query
    .selectFrom('webhooks')
    .select([
      'enabled_after_transaction_id as transaction_id',
      'enabled_after_sequence as sequence',
    ])
    .distinct()
    .as('offsets')
  const foreign = await tx.query.selectFrom(offsets).selectAll().where(isForeign).execute()
  for (const offset of foreign) {
    const behind = readers.find(({ from }) => compareOffsets(offsetOf(offset), from) <= 0)
    await tx.query
      .updateTable('webhooks')
      .set({
        enabled_after_transaction_id: own,
        enabled_after_sequence: behind?.sequence ?? (await findSequence(tx, offset)),
      })
      .where('enabled_after_transaction_id', '=', offset.transaction_id)
      .where('enabled_after_sequence', '=', offset.sequence)
      .execute()
  }
}

/** The last sequence before the first event that a reader at this offset has not read. */
async function findSequence(tx: Tx, reader: OffsetColumns): Promise<number> {
  const { numbers, isAfter } = logOrder(tx)
  if (numbers === null) return reader.sequence
  const foreign = tx.query.selectFrom('events').where(numbers.isForeign)
  const unread = await foreign
    .where(isAfter(offsetOf(reader)))
    .select(({ fn }) => fn.min('sequence').as('first'))
    .executeTakeFirst()
  if (unread?.first != null) return unread.first - 1
  const all = await foreign.select(({ fn }) => fn.max('sequence').as('last')).executeTakeFirst()
  return all?.last ?? reader.sequence
}
