// Leader leases of periodic tasks: a row of `leases` for each task, which also records when the task was last
// done. All times are the queue's.

import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { transaction } from '#platform/db/db.ts'
import type { ReadDb, Tx } from '#schema/tables.ts'

type TaskLease = {
  name: string
  holder: string | null
  leaseUntilMs: number | null
  /** Null until the task has been done once. */
  doneAtMs: number | null
}

/** The leases of these tasks, as far as any process ever held them. */
export async function listTaskLeases(db: ReadDb, names: readonly string[]): Promise<TaskLease[]> {
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

/** Whether no process leads the task: its lease has expired, or a clock that was set back has written it. */
export function isTaskFree(
  { holder, leaseUntilMs }: TaskLease,
  { queueMs, leaseMs }: { queueMs: number; leaseMs: number },
): boolean {
  if (holder === null || leaseUntilMs === null) return true
  return leaseUntilMs <= queueMs || leaseUntilMs > queueMs + leaseMs + CLOCK_SKEW_MS
}

/**
 * Takes the free leases of these tasks and renews those of `worker`. Returns all that it then holds until
 * `queueMs` + `leaseMs`.
 */
export const takeTaskLeases = transaction({
  name: 'takeTaskLeases',
  accountOf: () => null,
  async run(
    tx: Tx,
    input: { worker: string; names: string[]; queueMs: number; leaseMs: number },
  ): Promise<{ name: string; doneAtMs: number | null }[]> {
    const { worker, queueMs, leaseMs } = input
    // All processes use one order, so that no two wait for each other.
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

/** Records that the task was done; false when `worker` no longer leads it. */
export const noteTaskDone = transaction({
  name: 'noteTaskDone',
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

/** Frees all leases of `worker`. */
export const returnTaskLeases = transaction({
  name: 'returnTaskLeases',
  accountOf: () => null,
  async run(tx: Tx, { worker }: { worker: string }): Promise<void> {
    await tx.query.updateTable('leases').set(FREE).where('holder', '=', worker).execute()
  },
})

/** Frees the leases that an instance held before it was restarted. */
export const releaseTaskLeases = transaction({
  name: 'releaseTaskLeases',
  accountOf: () => null,
  async run(tx: Tx, { instance }: { instance: string }): Promise<void> {
    await tx.query
      .updateTable('leases')
      .set(FREE)
      // A worker's name begins with its instance and a space; `!` is the character after the space.
      .where('holder', '>', `${instance} `)
      .where('holder', '<', `${instance}!`)
      .execute()
  },
})

const FREE = { holder: null, lease_until: null }
