// Deletes expired inboxes, and messages older than their inbox's retention.

import { expireInbox, findExpired } from '#inboxes/store/change-inboxes.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import {
  listOverdue,
  listRetained,
  type RetainedInbox,
  removeOverdueStep,
} from '#removal/store/retention.ts'
import { inSteps } from '#store/purge-steps.ts'
import type { Store } from '#store/store.ts'
import type { EventHub } from '#streams/streams.ts'

export type ExpiryDeps = Store & { events: EventHub; wakeWorker: () => void }

/** If only an approver may remove an inbox's policy, the inbox is kept. Safe to repeat. */
export async function expireInboxes(deps: ExpiryDeps, signal: AbortSignal): Promise<void> {
  let after: Parameters<typeof findExpired>[1]['after'] = null
  await inSteps({ signal }, async () => {
    const nowMs = deps.clock.now()
    const inbox = await findExpired(deps.db, { nowMs, after })
    if (inbox === null) return { isDone: true }
    after = inbox
    const { accountId, inboxId } = inbox
    const outcome = await deps.db.write(expireInbox, {
      accountId,
      inboxId,
      eventId: deps.makeId('evt'),
      nowMs,
    })
    if (outcome === 'deleted') {
      deps.log.info({ account: accountId, inboxId }, 'an inbox has expired')
      deps.events.inboxDeleted(accountId, inboxId)
      deps.wakeWorker()
      deps.wakeEvents()
    }
    return { isDone: false }
  })
}

/** This is safe to repeat. */
export async function removeOverdue(deps: Store, signal: AbortSignal): Promise<void> {
  let after: string | null = ''
  while (after !== null && !signal.aborted) {
    const page: { inboxes: RetainedInbox[]; last: string | null } = await listRetained(
      deps.db,
      after,
    )
    for (const inbox of page.inboxes) await removeOverdueOf(deps, inbox, signal)
    after = page.last
  }
}

async function removeOverdueOf(
  deps: Store,
  inbox: RetainedInbox,
  signal: AbortSignal,
): Promise<void> {
  await inSteps({ signal }, async () => {
    const due = { ...inbox, nowMs: deps.clock.now() }
    // An inbox without overdue messages is not locked.
    if ((await listOverdue(deps.db, due)).length === 0) return { isDone: true }
    const { isDone, blobIds } = await deps.db.write(removeOverdueStep, due)
    await removeBlobs(deps, blobIds)
    return { isDone }
  })
}
