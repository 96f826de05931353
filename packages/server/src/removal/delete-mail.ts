import type { ClaimToken } from '#mailbox/claims/store/claim-token.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { notFound, problem } from '#platform/problem.ts'
import {
  findMovingThread,
  moveThreadStep,
  purgeTrashStep,
  type Refusal,
  removeMessage,
  removeThread,
  removeThreadStep,
  restoreThread,
  TRASH_MS,
  trashThread,
} from '#removal/store/trash.ts'
import { inSteps } from '#store/purge-steps.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'

type OfThread = { accountId: string; threadId: string }
type Leased = { lease?: ClaimToken }

/**
 * Throws `not_found`, `delivery_pending` if the message has not been sent yet, or `lease_lost` if
 * another worker has claimed the thread.
 */
export async function deleteMessage(
  deps: Store,
  message: { accountId: string; messageId: string } & Leased,
): Promise<void> {
  const removed = accepted(
    await deps.db.write(removeMessage, { ...message, nowMs: deps.clock.now() }),
  )
  await removeBlobs(deps, removed.blobIds)
}

/** If the process is interrupted, `purgeTrash` continues the removal. */
export async function deleteThread(deps: Store, thread: OfThread & Leased): Promise<void> {
  const input = { ...thread, nowMs: deps.clock.now() }
  let removed = accepted(await deps.db.write(removeThread, input))
  await removeBlobs(deps, removed.blobIds)
  while (!removed.isDone) {
    removed = await deps.db.write(removeThreadStep, input)
    await removeBlobs(deps, removed.blobIds)
  }
}

/** Idempotent. Throws the errors of `deleteThread`. `finishMoves` continues an interrupted move. */
export async function moveToTrash(deps: Store, thread: OfThread & Leased): Promise<void> {
  const { moving } = accepted(
    await deps.db.write(trashThread, { ...thread, nowMs: deps.clock.now() }),
  )
  if (moving !== null) await finishMove(deps, { ...thread, ...moving })
}

/** Restoring is idempotent. */
export async function restore(deps: Store, thread: OfThread & Leased): Promise<void> {
  const [eventId, nowMs] = [deps.makeId('evt'), deps.clock.now()]
  const { moving } = accepted(await deps.db.write(restoreThread, { ...thread, eventId, nowMs }))
  deps.wakeEvents()
  if (moving !== null) await finishMove(deps, { ...thread, ...moving })
}

function accepted<Outcome extends object>(outcome: Refusal | Outcome): Outcome {
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'lease_lost') throw problem('lease_lost')
  if (outcome === 'delivery_pending') throw problem('delivery_pending', SENDING)
  return outcome
}

const SENDING =
  'A message is being sent, is scheduled, or is awaiting approval. Cancel it, or wait until it is sent.'

type Move = OfThread & { trashedAtMs: number | null }

async function finishMove({ db }: { db: Db }, move: Move, pace: Pace = {}): Promise<void> {
  let after: Parameters<typeof moveThreadStep.run>[1]['after'] = null
  await inSteps({ isPaced: false, ...pace }, async () => {
    after = (await db.write(moveThreadStep, { ...move, after })).after
    return { isDone: after === null }
  })
}

type Pace = { signal?: AbortSignal; isPaced?: boolean }

/** Continues interrupted moves, and is safe to repeat. */
export async function finishMoves(deps: { db: Db }, signal: AbortSignal): Promise<void> {
  await inSteps({ signal }, async () => {
    const move = await findMovingThread(deps.db)
    if (move === null) return { isDone: true }
    await finishMove(deps, move, { signal, isPaced: true })
    return { isDone: false }
  })
}

/** This is safe to repeat. */
export async function purgeTrash(deps: Store, signal: AbortSignal): Promise<void> {
  await inSteps({ signal }, async () => {
    const nowMs = deps.clock.now()
    const removed = await deps.db.write(purgeTrashStep, { untilMs: nowMs - TRASH_MS, nowMs })
    await removeBlobs(deps, removed.blobIds)
    return removed
  })
}
