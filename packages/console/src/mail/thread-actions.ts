// Actions on one or many threads, with the reason for each failure.

import type { Thread } from '@mailroom/sdk'
import { nameOwner } from '#data/claims.ts'
import { describeFailure } from '#data/failure.ts'
import { plural } from '#data/format.ts'
import { announceMailChange } from '#data/live.ts'
import { client } from '#data/session.ts'
import { toast } from '#data/toasts.ts'

/** How long the service keeps threads in the trash. */
const TRASH_MS = 30 * 86_400_000

/** When a trashed thread is removed permanently. */
export function removedAt(trashedAt: string): Date {
  return new Date(Date.parse(trashedAt) + TRASH_MS)
}

/** Changes one thread. An error names the worker that has claimed it. */
export async function changeThread<Result>(
  thread: Pick<Thread, 'id' | 'inboxId'>,
  change: (id: string) => Promise<Result>,
): Promise<Result> {
  try {
    return await change(thread.id)
  } catch (error) {
    throw await nameOwner(error, thread.id)
  } finally {
    announceMailChange(thread.inboxId)
  }
}

export type FailedThread = { readonly thread: Thread; readonly reason: string }

/** Concurrent requests. */
const AT_ONCE = 4

/** Tries every thread; returns the failed ones with their reasons. */
async function changeThreads(
  threads: readonly Thread[],
  change: (thread: Thread) => Promise<unknown>,
): Promise<{ changed: Thread[]; failed: FailedThread[] }> {
  const changed: Thread[] = []
  const failed: FailedThread[] = []
  const rest = [...threads]
  const work = async () => {
    for (let thread = rest.shift(); thread !== undefined; thread = rest.shift()) {
      try {
        await change(thread)
        changed.push(thread)
      } catch (error) {
        const { message } = describeFailure(await nameOwner(error, thread.id))
        failed.push({ thread, reason: message })
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  for (const inboxId of new Set(threads.map((one) => one.inboxId))) announceMailChange(inboxId)
  return { changed, failed }
}

export type ThreadChange = Parameters<typeof client.threads.update>[1]

/** Tries every thread, and offers to undo the changes. */
export async function updateThreads(
  threads: readonly Thread[],
  change: ThreadChange,
  words: string,
) {
  const outcome = await changeThreads(threads, ({ id }) => client.threads.update(id, change))
  const undone = outcome.changed.filter((thread) => inverseOf(thread, change) !== null)
  if (undone.length > 0) {
    toast(movedWords(outcome.changed, words), async () => {
      const { failed } = await changeThreads(undone, (thread) =>
        client.threads.update(thread.id, inverseOf(thread, change) ?? {}),
      )
      if (failed[0] !== undefined) throw new Error(failed[0].reason)
    })
  } else if (outcome.changed.length > 0) toast(movedWords(outcome.changed, words))
  return outcome
}

/** The change that restores the thread as given; null if nothing differs. */
function inverseOf(thread: Thread, change: ThreadChange): ThreadChange | null {
  const { labels, isRead, assignee, snoozedUntil } = thread
  const removeLabels = change.addLabels?.filter((label) => !labels.includes(label)) ?? []
  const addLabels = change.removeLabels?.filter((label) => labels.includes(label)) ?? []
  const inverse: ThreadChange = {
    ...(change.is_read !== undefined && change.is_read !== isRead && { is_read: isRead }),
    ...(removeLabels.length > 0 && { removeLabels }),
    ...(addLabels.length > 0 && { addLabels }),
    ...(change.assignee !== undefined && change.assignee !== assignee && { assignee }),
    ...(change.snoozedUntil !== undefined &&
      change.snoozedUntil !== snoozedUntil && { snoozedUntil }),
  }
  return Object.keys(inverse).length > 0 ? inverse : null
}

/** Moves threads to the trash, and offers to undo it. */
export async function trashThreads(threads: readonly Thread[]) {
  const outcome = await changeThreads(threads, ({ id }) => client.threads.delete(id))
  const { changed } = outcome
  if (changed.length > 0) {
    toast(movedWords(changed, 'moved to the trash'), async () => {
      const { failed } = await restoreThreads(changed)
      if (failed[0] !== undefined) throw new Error(failed[0].reason)
    })
  }
  return outcome
}

export async function restoreThreads(threads: readonly Thread[]) {
  const outcome = await changeThreads(threads, ({ id }) => client.threads.restore(id))
  if (outcome.changed.length > 0) toast(movedWords(outcome.changed, 'restored'))
  return outcome
}

export async function removeThreads(threads: readonly Thread[]) {
  const outcome = await changeThreads(threads, ({ id }) =>
    client.threads.delete(id, { permanent: true }),
  )
  if (outcome.changed.length > 0) toast(movedWords(outcome.changed, 'permanently removed'))
  return outcome
}

function movedWords(threads: readonly Thread[], what: string): string {
  return `${plural(threads.length, 'thread')} ${what}`
}
