// Removes deleted inboxes and webhooks, expired rows, and unreferenced blobs.

import type { Actor } from '#accounts/store/actor.ts'
import type { Settings } from '#config/settings.ts'
import type { Handlers, KeyContext } from '#http/handler.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import { type ClaimToken, hashOfLeaseToken } from '#mailbox/claims/store/claim-token.ts'
import { getThread, presentThread } from '#mailbox/mailbox.ts'
import { existingRawIds } from '#mailbox/messages/store/raw-messages.ts'
import { raceAbort } from '#platform/abort.ts'
import { type BlobStore, removeBlobs, type StoredBlob } from '#platform/blobs/blob-store.ts'
import { isIdOf } from '#platform/ids.ts'
import { notFound, problem } from '#platform/problem.ts'
import { DAY_MS, HOUR_MS, SECOND_MS } from '#platform/units.ts'
import type { FeatureWork } from '#queue/background.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { JobKind } from '#queue/work-jobs.ts'
import { purgeExpiredStep, purgeInboxStep } from '#removal/store/purge.ts'
import { existingChunkIds } from '#store/file-chunks.ts'
import { inSteps } from '#store/purge-steps.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'
import { removeUnreferenced } from '#store/unreferenced-blobs.ts'
import { purgeWebhookStep } from '#webhooks/store/deliveries.ts'
import {
  deleteMessage,
  deleteThread,
  finishMoves,
  moveToTrash,
  purgeTrash,
  restore,
} from './delete-mail.ts'
import { type ExpiryDeps, expireInboxes, removeOverdue } from './retention.ts'

/** Steps within the request; a job purges the rest of a large mailbox. */
const PURGE_STEPS_AT_ONCE = 4

const POLICY_LEFT =
  'The inbox has its own policy. An approver must remove it first, because a new inbox at this address would not have it.'

/** A second call throws `not_found`. */
async function deleteInbox(
  deps: ExpiryDeps,
  input: { accountId: string; inboxId: string; actor: Actor },
): Promise<void> {
  const outcome = await deps.db.write(removeInbox, {
    ...input,
    nowMs: deps.clock.now(),
  })
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'approver_required') throw problem('approver_required', POLICY_LEFT)
  deps.events.inboxDeleted(input.accountId, input.inboxId)
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

export function removalHandlers(
  deps: ExpiryDeps & { queueClock: QueueClock },
): Pick<Handlers, 'inboxes.delete' | 'threads.delete' | 'threads.restore' | 'messages.delete'> {
  const leaseOf = ({ headers }: Pick<KeyContext, 'headers'>): ClaimToken => ({
    tokenHash: hashOfLeaseToken(headers['lease-token']),
    queueMs: deps.queueClock.now(),
  })
  return {
    'inboxes.delete': async ({ path }, { accountId, actor }) => {
      await deleteInbox(deps, { accountId, inboxId: path.id, actor })
    },
    'threads.delete': async ({ path, query }, context) => {
      const { accountId } = context
      const thread = { accountId, threadId: path.id, lease: leaseOf(context) }
      await (query.permanent === true ? deleteThread : moveToTrash)(deps, thread)
    },
    'threads.restore': async ({ path }, context) => {
      const thread = { accountId: context.accountId, threadId: path.id }
      await restore(deps, { ...thread, lease: leaseOf(context) })
      return presentThread(await getThread(deps, thread), deps)
    },
    'messages.delete': async ({ path }, context) => {
      const message = { accountId: context.accountId, messageId: path.id }
      await deleteMessage(deps, { ...message, lease: leaseOf(context) })
    },
  }
}

/** A younger blob without a message may belong to a running transaction. */
export const ORPHAN_MS = DAY_MS

/** Ends early after a step when `signal` is aborted. Safe to repeat. */
export async function purgeExpired(deps: Store, signal: AbortSignal) {
  // The loop ends, because a step removes more rows than expire while it runs.
  await inSteps({ signal }, async () => {
    const removed = await deps.db.write(purgeExpiredStep, { nowMs: deps.clock.now() })
    await removeBlobs(deps, removed.blobIds)
    return removed
  })
}

/** Pauses between steps only with `mayContinue`. Returns true if nothing remains. Repeatable. */
export function purgeInbox(
  deps: Store,
  {
    inboxId,
    ...pace
  }: { inboxId: string; stepsMax?: number; mayContinue?: () => Promise<boolean> },
): Promise<boolean> {
  return inSteps({ ...pace, isPaced: pace.mayContinue !== undefined }, async () => {
    const removed = await deps.db.write(purgeInboxStep, { inboxId, nowMs: deps.clock.now() })
    await removeBlobs(deps, removed.blobIds)
    return removed
  })
}

/**
 * A blob is stored before its message commits, so it is an orphan only once it is `orphanMs` old.
 * The blob store's clock decides, because the clocks of processes may differ.
 */
export async function sweepBlobs(
  { db, blobs }: { db: Db; blobs: BlobStore | null },
  signal: AbortSignal,
  { orphanMs = ORPHAN_MS }: { orphanMs?: number } = {},
): Promise<number> {
  if (blobs === null) return 0
  let removed = 0
  const batches = blobs.list()[Symbol.asyncIterator]()
  while (!signal.aborted) {
    const batch = await raceAbort(batches.next(), { signal })
    if (batch === null || batch.done === true) break
    const stored = batch.value
    const raws = stored.filter(({ id }) => isIdOf('raw', id))
    const pieces = stored.filter(({ id }) => isIdOf('chk', id))
    const ours = [...raws, ...pieces]
    // This query precedes the age check, which takes a system call per file.
    const known = new Set([
      ...(await existingRawIds(db, idsOf(raws))),
      ...(await existingChunkIds(db, idsOf(pieces))),
    ])
    const orphans: string[] = []
    for (const { id, readAgeMs } of ours) {
      if (!known.has(id) && (await readAgeMs()) >= orphanMs) orphans.push(id)
    }
    const isDone = await raceAbort(
      blobs.remove(orphans).then(() => true),
      { signal },
    )
    if (isDone) removed += orphans.length
  }
  return removed
}

function idsOf(stored: readonly StoredBlob[]): string[] {
  return stored.map(({ id }) => id)
}

export function removalWork(
  deps: ExpiryDeps,
  { blobStore }: Pick<Settings, 'blobStore'>,
): FeatureWork {
  return {
    jobs: [purgeJobs(deps)],
    tasks: [
      {
        name: 'retention',
        everyMs: HOUR_MS,
        by: 'schedule',
        async run(signal) {
          await purgeExpired(deps, signal)
          await removeOverdue(deps, signal)
        },
      },
      {
        name: 'expiry',
        everyMs: 2 * SECOND_MS,
        by: 'leader',
        async run(signal) {
          await expireInboxes(deps, signal)
          await finishMoves(deps, signal)
          await purgeTrash(deps, signal)
          await removeUnreferenced(deps, signal)
        },
      },
      {
        name: 'blob sweep',
        everyMs: deps.blobs?.sweepEveryMs ?? HOUR_MS,
        // Other processes cannot see this process's folder of blobs.
        by: blobStore === 'disk' ? 'each process' : 'schedule',
        async run(signal) {
          const orphans = await sweepBlobs(deps, signal)
          if (orphans === 0) return
          deps.log.info({ orphans }, 'removed stored files that no message refers to')
        },
      },
    ],
  }
}

/** Each job is keyed by the id of a deleted inbox or webhook. */
export function purgeJobs(deps: Store): JobKind {
  return {
    name: 'purge',
    async run([{ key }], work) {
      const mayContinue = async () => !(await work.isOver())
      const isDone = isIdOf('inb', key)
        ? await purgeInbox(deps, { inboxId: key, mayContinue })
        : await inSteps({ mayContinue }, () => deps.db.write(purgeWebhookStep, { webhookId: key }))
      return isDone ? 'done' : 'again'
    },
  }
}
