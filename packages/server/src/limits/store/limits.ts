// Limits that processes share on PostgreSQL: a row per window and key, and a row per occupied slot.
// All times are from the queue clock.

import { sql } from 'kysely'
import { transaction } from '#platform/db/db.ts'
import { PURGE_STEP_ROWS, removeOldest } from '#store/purge-steps.ts'
import type { Tx } from '#store/tables.ts'

type Uses = { nowMs: number; windowMs: number; uses: readonly { name: string; used: number }[] }

export type RecordedUses = { used: number; endsAtMs: number }

/** The names must be distinct. Returns the uses of all processes, in the order of `uses`. */
export const addUses = transaction({
  name: 'addUses',
  accountOf: () => null,
  async run(tx: Tx, { nowMs, windowMs, uses }: Uses): Promise<RecordedUses[]> {
    const window = { ends_at: nowMs + windowMs }
    // Rows are always locked in the same order, so that concurrent transactions do not deadlock.
    const values = uses.map((each) => ({ ...each, ...window }))
    values.sort((a, b) => (a.name < b.name ? -1 : 1))
    const isOver = sql`rate_windows.ends_at <= ${nowMs}`
    const rows = await tx.query
      .insertInto('rate_windows')
      .values(values)
      .onConflict((conflict) =>
        conflict.column('name').doUpdateSet({
          used: sql`excluded.used + case when ${isOver} then 0 else rate_windows.used end`,
          ends_at: sql`case when ${isOver} then excluded.ends_at else rate_windows.ends_at end`,
        }),
      )
      .returning(['name', 'used', 'ends_at'])
      .execute()
    const recorded = new Map(rows.map((row) => [row.name, row]))
    return uses.map(({ name }) => {
      const { used = 0, ends_at: endsAtMs = window.ends_at } = recorded.get(name) ?? {}
      return { used, endsAtMs }
    })
  },
})

type Slot = { id: string; name: string; limit: number; holder: string }

/** Returns false if live processes occupy `limit` slots of `name`. */
export const takeSlot = transaction({
  name: 'takeSlot',
  accountOf: () => null,
  async run(tx: Tx, slot: Slot & { nowMs: number; untilMs: number }): Promise<boolean> {
    const { id, name, limit, holder, nowMs } = slot
    // Serializes transactions that count slots of the same name.
    await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx.query)
    await extendHolder(tx, slot)
    const { rows } = await sql`
      insert into held_slots (id, name, holder)
      select ${id}, ${name}, ${holder} where ${limit} > (
        select count(*) from held_slots
        join slot_holders on slot_holders.id = held_slots.holder
        where held_slots.name = ${name} and slot_holders.alive_until > ${nowMs}
      )
      returning id
    `.execute(tx.query)
    return rows.length === 1
  },
})

/** Extends the life of a process's slots and frees those that it no longer uses. */
export const keepSlots = transaction({
  name: 'keepSlots',
  accountOf: () => null,
  async run(tx: Tx, input: { holder: string; untilMs: number; freed: string[] }): Promise<void> {
    if (input.freed.length > 0) await freeOf(tx, 'id', input.freed)
    await extendHolder(tx, input)
  },
})

export const freeSlot = transaction({
  name: 'freeSlot',
  accountOf: () => null,
  run: (tx: Tx, { id }: { id: string }) => freeOf(tx, 'id', [id]),
})

export const endHolder = transaction({
  name: 'endHolder',
  accountOf: () => null,
  async run(tx: Tx, { holder }: { holder: string }): Promise<void> {
    await freeOf(tx, 'holder', [holder])
    await tx.query.deleteFrom('slot_holders').where('id', '=', holder).execute()
  },
})

/** Removes some expired windows, and slots of dead processes. True if there may be more. */
export const sweepLimits = transaction({
  name: 'sweepLimits',
  accountOf: () => null,
  async run(tx: Tx, { nowMs: until }: { nowMs: number }): Promise<boolean> {
    const holders = { key: ['id'], time: 'alive_until', until, returning: 'id' } as const
    const windows = { key: ['name'], time: 'ends_at', until, returning: 'name' } as const
    const dead = await removeOldest(tx, 'slot_holders', { ...holders, isRenewed: true })
    if (dead.length > 0) await freeOf(tx, 'holder', dead)
    const removed = await removeOldest(tx, 'rate_windows', { ...windows, isRenewed: true })
    return removed.length === PURGE_STEP_ROWS
  },
})

async function extendHolder(tx: Tx, { holder, untilMs }: { holder: string; untilMs: number }) {
  await tx.query
    .insertInto('slot_holders')
    .values({ id: holder, alive_until: untilMs })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ alive_until: untilMs }))
    .execute()
}

async function freeOf(tx: Tx, column: 'id' | 'holder', values: string[]): Promise<void> {
  await tx.query.deleteFrom('held_slots').where(column, 'in', values).execute()
}
