// A look now and then at the schema that a newer program may have changed: a process that does not work
// with it any more should not go on failing.

import { findSchemaChange } from '#platform/db/migrate.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import { openWorkerLoop } from '#queue/worker-loop.ts'
import type { Db } from '#schema/tables.ts'

/** How often a process looks whether the schema is still one that it works with. */
const SCHEMA_LOOK_MS = 10 * SECOND_MS

export type SchemaWatch = { close(): Promise<void> }

/** Looks at once and every SCHEMA_LOOK_MS; calls `onOutdated`, once, with a sentence that says why. */
export function openSchemaWatch(
  { db, log }: { db: Db; log: Log },
  onOutdated: (text: string) => void,
): SchemaWatch {
  let isTold = false
  return openWorkerLoop({
    name: 'schema',
    everyMs: SCHEMA_LOOK_MS,
    async step() {
      if (isTold) return false
      // A database that is away is told of by those who need it.
      const text = await findSchemaChange(db).catch(() => null)
      if (text === null) return false
      isTold = true
      onOutdated(text)
      return false
    },
    log,
  })
}
