// Ends reviews when an approver decides or they expire. Time alone never sends anything.

import { approverDeleted } from '#accounts/keys/keys.ts'
import type { SendDeps } from '#outbound/send/send.ts'
import { endWaiting } from '#outbound/waiting/store/waiting-sends.ts'
import { approveHeld, editHeld, type HeldEdit } from '#outbound/waiting/waiting.ts'
import { AppError, notFound, problem } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { FeatureWork } from '#queue/background.ts'
import { findEqual, findReview, listExpiredReviews, type Review } from '#reviews/store/reviews.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'

type Decision = { accountId: string; reviewId: string; approverId: string }

/**
 * Sends the message in the same transaction; scheduled mail still waits for its time. Throws
 * `not_found`, `review_decided`, `review_changed`, `unauthorized` if the approver was deleted, or
 * the refusal of a new send, which leaves the review pending.
 */
export async function approveReview(
  deps: SendDeps,
  {
    digest,
    allowsRecipients = false,
    ...decision
  }: Decision & { digest: string; allowsRecipients?: boolean },
): Promise<Review> {
  const { accountId, reviewId, approverId } = decision
  const { messageId, ...review } = await requireUnchanged(deps, decision, digest)
  const approval = { reviewId, approverId, digest }
  try {
    const allowed = allowsRecipients ? unknownRecipients(review) : []
    const isReleased = await approveHeld(deps, { accountId, messageId, approval, allowed })
    return await decidedOf(deps, decision, isReleased)
  } catch (error) {
    // Another decision or an edit may have removed data during the read.
    await requireUnchanged(deps, decision, digest)
    throw error
  }
}

function unknownRecipients({ reasons }: Pick<Review, 'reasons'>): string[] {
  return reasons.flatMap(({ guard, recipient }) =>
    guard === 'newRecipients' && recipient !== undefined ? [recipient] : [],
  )
}

/** Throws the errors of `approveReview`. The policy judges the edited message like a new send. */
export async function editReview(
  deps: SendDeps,
  { digest, edit, ...decision }: Decision & { digest: string; edit: HeldEdit },
): Promise<Review> {
  const { accountId, reviewId, approverId } = decision
  const { messageId, content, reasons } = await requireUnchanged(deps, decision, digest)
  const approval = { reviewId, approverId, digest }
  const held = { accountId, messageId, approval, content, reasons, edit }
  const isHeld = await editHeld(deps, held).catch(async (error) => {
    // A decision or another edit may have removed data during the read.
    await requireUnchanged(deps, decision, digest)
    throw error
  })
  const edited = await findReview(deps.db, decision)
  if (edited === null) throw notFound()
  if (isHeld) return edited
  throw edited.status === 'pending' ? notFound() : decided(edited)
}

/** Throws `not_found`, `review_decided`, or `unauthorized` if the approver was deleted. */
export async function rejectReview(
  deps: Store,
  { reason, ...decision }: Decision & { reason: string | null },
): Promise<Review> {
  const { accountId, reviewId, approverId } = decision
  const { messageId } = await requirePending(deps, decision)
  const isEnded = await end(deps, {
    ...{ accountId, messageId, reviewId },
    failureReason: 'rejected',
    review: { status: 'rejected', decidedBy: approverId, reason },
  })
  return decidedOf(deps, decision, isEnded)
}

/** Also rejects equal reviews that are still pending. */
export async function rejectEqual(
  deps: Store,
  decision: Decision & { reason: string | null },
): Promise<Review> {
  const review = await findReview(deps.db, decision)
  const equal = review === null ? [] : await findEqual(deps.db, review)
  const rejected = await rejectReview(deps, decision)
  for (const { id: reviewId } of equal) {
    await rejectReview(deps, { ...decision, reviewId }).catch((error) => {
      const isDecided =
        error instanceof AppError && ['review_decided', 'not_found'].includes(error.code)
      if (!isDecided) throw error
    })
  }
  return rejected
}

const EXPIRED_PER_STEP = 64

export function reviewWork(deps: Store): FeatureWork {
  const run = (signal: AbortSignal) => expireReviews(deps, signal)
  return { tasks: [{ name: 'review expiry', everyMs: SECOND_MS, by: 'leader', run }] }
}

/** Returns true if more may be due. Several processes may run this at once. */
export async function expireReviews(deps: Store, signal: AbortSignal): Promise<boolean> {
  const asked = { nowMs: deps.clock.now(), limit: EXPIRED_PER_STEP }
  const expired = await listExpiredReviews(deps.db, asked)
  for (const { id: reviewId, accountId, messageId } of expired) {
    if (signal.aborted) return false
    await end(deps, {
      ...{ accountId, messageId, reviewId },
      failureReason: 'review_expired',
      review: { status: 'expired', decidedBy: null, reason: null },
    })
  }
  return expired.length === EXPIRED_PER_STEP
}

/** Returns false if the review was decided first. */
async function end(
  { db, clock, makeId, wakeEvents }: Store,
  ending: Omit<Parameters<typeof endWaiting.run>[1], 'event' | 'nowMs'>,
): Promise<boolean> {
  const event = { id: makeId('evt'), kind: 'message.rejected' } as const
  const outcome = await db.write(endWaiting, { ...ending, event, nowMs: clock.now() })
  if (outcome === 'approver_deleted') throw approverDeleted()
  if (outcome === 'ended') wakeEvents()
  return outcome === 'ended'
}

async function requirePending(deps: { db: Db }, decision: Decision): Promise<Review> {
  const review = await findReview(deps.db, decision)
  if (review === null) throw notFound()
  if (review.status !== 'pending') throw decided(review)
  return review
}

async function requireUnchanged(
  deps: { db: Db },
  decision: Decision,
  digest: string,
): Promise<Review> {
  const review = await requirePending(deps, decision)
  if (review.digest === digest) return review
  throw problem('review_changed', undefined, { fields: { digest: review.digest } })
}

async function decidedOf(deps: { db: Db }, decision: Decision, isByThis: boolean): Promise<Review> {
  const review = await findReview(deps.db, decision)
  if (review === null || review.status === 'pending') throw notFound()
  if (!isByThis) throw decided(review)
  return review
}

function decided({ status }: Review) {
  return problem('review_decided', `The review is already ${status}.`, { fields: { status } })
}
