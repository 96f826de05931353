// The database as the doors and loops use it: writes in turn by account, and what doors ask before they
// take on more.

import type { Deps } from '#actions/deps.ts'
import { openStorePressure } from '#actions/store-pressure.ts'
import { systemClock } from '#base/clock.ts'
import type { Metrics } from '#base/metrics.ts'
import { paceWrites } from '#store/paced-db.ts'
import type { Db } from '#store/tables.ts'

/** By a clock of its own: how long a write waits is no affair of tests that move time. */
export function openPressure(db: Db, metrics: Metrics): Pick<Deps, 'db' | 'storePressure'> {
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
