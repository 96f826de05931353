// Duties: work that one process at a time does for all that share the database. Who has one holds a row
// of `leases`, and when it was last done stays there. All times are the queue's.

import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { transaction } from '#platform/db/db.ts'
import type { ReadDb, Tx } from '#schema/tables.ts'

export type DutyRow = {
  name: string
  holder: string | null
  leaseUntilMs: number | null
  /** Null until it was done once. */
  doneAtMs: number | null
}

/** Those of these names that anybody ever had. */
export async function listDuties(db: ReadDb, names: readonly string[]): Promise<DutyRow[]> {
  const rows = await db.read
    .selectFrom('leases')
    .selectAll()
    .where('name', 'in', [...names])
    .execute()
  return rows.map((row) => ({
    name: row.name,
    holder: row.holder,
    leaseUntilMs: row.lease_until,
    doneAtMs: row.done_at,
  }))
}

/** Whether nobody has it: its lease has ended, or was written before the clock was set back. */
export function isFree(
  { holder, leaseUntilMs }: DutyRow,
  { queueMs, leaseMs }: { queueMs: number; leaseMs: number },
): boolean {
  if (holder === null || leaseUntilMs === null) return true
  return leaseUntilMs <= queueMs || leaseUntilMs > queueMs + leaseMs + CLOCK_SKEW_MS
}

/**
 * Takes those of these that nobody has, and lengthens the leases of those that `worker` has. Returns
 * all that it has now, until `queueMs` + `leaseMs`.
 */
export const takeDuties = transaction({
  name: 'takeDuties',
  accountOf: () => null,
  async run(
    tx: Tx,
    input: { worker: string; names: string[]; queueMs: number; leaseMs: number },
  ): Promise<{ name: string; doneAtMs: number | null }[]> {
    const { worker, queueMs, leaseMs } = input
    // In one order everywhere, so that no two processes wait for each other.
    const names = [...input.names].sort()
    if (names.length === 0) return []
    const lease = { holder: worker, lease_until: queueMs + leaseMs }
    const taken = await tx.query
      .insertInto('leases')
      .values(names.map((name) => ({ name, ...lease, done_at: null })))
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet(lease)
          .where(({ eb, or }) =>
            or([
              eb('leases.holder', 'is', null),
              eb('leases.holder', '=', worker),
              eb('leases.lease_until', '<=', queueMs),
              eb('leases.lease_until', '>', queueMs + leaseMs + CLOCK_SKEW_MS),
            ]),
          ),
      )
      .returning(['leases.name', 'leases.done_at'])
      .execute()
    return taken.map((row) => ({ name: row.name, doneAtMs: row.done_at }))
  },
})

/** Notes that it was done; false when `worker` does not have it any more. */
export const noteDutyDone = transaction({
  name: 'noteDutyDone',
  accountOf: () => null,
  async run(
    tx: Tx,
    { worker, name, queueMs }: { worker: string; name: string; queueMs: number },
  ): Promise<boolean> {
    const noted = await tx.query
      .updateTable('leases')
      .set({ done_at: queueMs })
      .where('name', '=', name)
      .where('holder', '=', worker)
      .returning('name')
      .execute()
    return noted.length > 0
  },
})

/** Lets others have all that `worker` has. */
export const returnDuties = transaction({
  name: 'returnDuties',
  accountOf: () => null,
  async run(tx: Tx, { worker }: { worker: string }): Promise<void> {
    await tx.query.updateTable('leases').set(FREE).where('holder', '=', worker).execute()
  },
})

/** Takes back what an instance that has just started had in its last life. */
export const releaseDuties = transaction({
  name: 'releaseDuties',
  accountOf: () => null,
  async run(tx: Tx, { instance }: { instance: string }): Promise<void> {
    await tx.query
      .updateTable('leases')
      .set(FREE)
      // Names of workers begin with their instance and a space: between it and the character after it.
      .where('holder', '>', `${instance} `)
      .where('holder', '<', `${instance}!`)
      .execute()
  },
})

const FREE = { holder: null, lease_until: null }
