// Changing and removing inboxes.

import type { Deps } from '#actions/deps.ts'
import { purgeInbox } from '#actions/retention/purge-inbox.ts'
import type { Inbox } from '#model/inbox.ts'
import { notFound } from '#model/problem.ts'

/** Changes the display name; null clears it. */
export async function updateInbox(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; inboxId: string; displayName?: string | null },
): Promise<Inbox> {
  const inbox = await deps.db.write('updateInbox', input)
  if (inbox === null) throw notFound()
  return inbox
}

/** Steps of a purge that a caller waits for; the job does the rest of a large mailbox. */
const PURGE_STEPS_AT_ONCE = 4

/** Removes an inbox with everything in it. A second call finds nothing. */
export async function deleteInbox(
  deps: Pick<Deps, 'db' | 'clock' | 'makeId' | 'blobs' | 'log' | 'wakeWorker'>,
  input: { accountId: string; inboxId: string },
): Promise<void> {
  const outcome = await deps.db.write('deleteInbox', {
    ...input,
    jobId: deps.makeId('job'),
    nowMs: deps.clock.now(),
  })
  if (outcome === 'not_found') throw notFound()
  try {
    await purgeInbox(deps, { inboxId: input.inboxId, stepsMax: PURGE_STEPS_AT_ONCE })
  } catch (error) {
    deps.log.warn({ error, inboxId: input.inboxId }, 'the purge of an inbox was left to its job')
  }
  deps.wakeWorker()
}
