import { removeInbox } from '#inboxes/change-inbox-rows.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { notFound } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'
import type { EventHub } from '#streams/event-hub.ts'
import { purgeInbox } from './purge.ts'

/** Steps of a purge that a caller waits for; the job does the rest of a large mailbox. */
const PURGE_STEPS_AT_ONCE = 4

/** Removes an inbox with everything in it. A second call finds nothing. */
export async function deleteInbox(
  deps: {
    db: Db
    clock: Clock
    makeId: MakeId
    blobs: BlobStore | null
    log: Log
    events: EventHub
    wakeWorker: () => void
  },
  input: { accountId: string; inboxId: string },
): Promise<void> {
  const outcome = await deps.db.write(removeInbox, {
    ...input,
    jobId: deps.makeId('job'),
    nowMs: deps.clock.now(),
  })
  if (outcome === 'not_found') throw notFound()
  deps.events.loseInbox(input.accountId, input.inboxId)
  try {
    await purgeInbox(deps, { inboxId: input.inboxId, stepsMax: PURGE_STEPS_AT_ONCE })
  } catch (error) {
    deps.log.warn(
      { error, inboxId: input.inboxId },
      'purging an inbox failed; a background job will finish it',
    )
  }
  deps.wakeWorker()
}
