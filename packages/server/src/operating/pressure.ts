// The database as the doors and loops use it: writes in turn by account, and what doors ask before they
// take on more.

import { systemClock } from '#platform/clock.ts'
import { openStorePressure, paceWrites, type StorePressure } from '#platform/db/paced-db.ts'
import type { Metrics } from '#platform/telemetry/metrics.ts'
import type { Db } from '#schema/tables.ts'

/** By a clock of its own: how long a write waits is no affair of tests that move time. */
export function openPressure(db: Db, metrics: Metrics): { db: Db; storePressure: StorePressure } {
  const paced = paceWrites(db, systemClock)
  const storePressure = openStorePressure({
    loads: paced,
    clock: systemClock,
    onRefused: metrics.countStoreRefusal,
  })
  return { db: timeWrites(paced.db, metrics), storePressure }
}

/** What a caller waits for, its turn included. */
function timeWrites(db: Db, { observeWrite }: Metrics): Db {
  const timed = async <Value>(write: () => Promise<Value>) => {
    const askedMs = systemClock.monotonic()
    try {
      return await write()
    } finally {
      observeWrite(systemClock.monotonic() - askedMs)
    }
  }
  return { ...db, write: (...asked) => timed(() => db.write(...asked)) }
}
