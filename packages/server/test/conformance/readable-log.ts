// When the log of events can be read to its end: on a server that other tests write to as well, an
// older transaction of theirs may be under way.

import { isUnsettledAfter, readLogHead } from '#events/event-rows.ts'
import type { Db } from '#schema/tables.ts'

/** Resolves when all that was committed can be read. */
export async function untilReadable(db: Db): Promise<void> {
  while (await isUnsettledAfter(db, await readLogHead(db))) {
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
