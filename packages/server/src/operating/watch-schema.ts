import type { Clock } from '#platform/clock.ts'
import { findSchemaChange } from '#platform/db/migrate.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import { openWorkerLoop } from '#queue/worker-loop.ts'
import type { Db } from '#store/tables.ts'

const SCHEMA_CHECK_MS = 10 * SECOND_MS

export type SchemaWatch = { close(): Promise<void> }

/** Checks immediately and every SCHEMA_CHECK_MS. Calls `onOutdated` at most once. */
export function watchSchema(
  { db, log, clock }: { db: Db; log: Log; clock: Clock },
  onOutdated: (text: string) => void,
): SchemaWatch {
  let isOutdated = false
  return openWorkerLoop({
    name: 'schema',
    everyMs: SCHEMA_CHECK_MS,
    async step() {
      if (isOutdated) return false
      // Other parts report an unreachable database.
      const text = await findSchemaChange(db).catch(() => null)
      if (text === null) return false
      isOutdated = true
      onOutdated(text)
      return false
    },
    log,
    clock,
  })
}
