import type { Review as ReviewShape, WholeReview } from '@mailroom/contract/reviews.ts'
import type { ThreadMessages } from '@mailroom/contract/threads.ts'
import type { Handlers } from '#http/handler.ts'
import { problemOf } from '#http/problems.ts'
import { type Extractions, presentListed, readThread } from '#mailbox/mailbox.ts'
import { findMessage, findThread } from '#mailbox/mailbox-rows.ts'
import type { SendDeps } from '#outbound/outbound.ts'
import { presentTime } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { notFound } from '#platform/problem.ts'
import { approveReview, rejectReview } from './decide-review.ts'
import { readDisplay } from './read-display.ts'
import { findReview, listReviews, type Review } from './review-rows.ts'

/** The newest messages of a thread that a review shows. */
const THREAD_MESSAGES_SHOWN = 20

type Deps = SendDeps & { log: Log; urlKey: Uint8Array; extractions: Extractions }

type ReviewOperation =
  | 'reviews.list'
  | 'reviews.get'
  | 'reviews.approve'
  | 'reviews.approveMany'
  | 'reviews.reject'

export function reviewHandlers(deps: Deps): Pick<Handlers, ReviewOperation> {
  return {
    'reviews.list': async ({ query }, { accountId }) => {
      const { status = null, inboxId = null, ...page } = query
      const asked = { accountId, status, inboxId, ...page }
      const { reviews, total } = await listReviews(deps.db, asked)
      return { data: reviews.map(presentReview), total }
    },
    'reviews.get': async ({ path }, { accountId, takeSlot }) => {
      await takeSlot()
      const review = await findReview(deps.db, { accountId, reviewId: path.id })
      const whole = review && (await readWhole(deps, review))
      if (whole === null) throw notFound()
      return whole
    },
    'reviews.approve': async ({ path, body: { digest } }, { accountId, approverId }) => {
      const decision = { accountId, reviewId: path.id, approverId, digest }
      return presentReview(await approveReview(deps, decision))
    },
    'reviews.approveMany': async ({ body }, { accountId, approverId, requestId }) => {
      const data = []
      // One after the other: they count against the limits in their order.
      for (const { id, digest } of body.items) {
        const decision = { accountId, reviewId: id, approverId, digest }
        const result = await approveReview(deps, decision).then(
          (review) => ({ status: 200, review: presentReview(review), error: null }),
          (thrown) => {
            const { status, body: error, isOurs } = problemOf(thrown, requestId)
            if (isOurs) deps.log.error({ error: thrown, requestId }, 'An approval failed.')
            return { status, review: null, error }
          },
        )
        data.push({ id, ...result })
      }
      return { data }
    },
    'reviews.reject': async ({ path, body: { reason = null } }, { accountId, approverId }) => {
      const decision = { accountId, reviewId: path.id, approverId, reason: reason || null }
      return presentReview(await rejectReview(deps, decision))
    },
  }
}

/** Null when its message is gone, with its inbox. */
async function readWhole(deps: Deps, review: Review): Promise<WholeReview | null> {
  const { accountId, messageId } = review
  const message = await findMessage(deps.db, accountId, messageId)
  if (message === null) return null
  const { subject, bodyText, bodyHtml } = message
  const content = { ...review.content, subject, bodyText, bodyHtml }
  return {
    ...presentReview(review),
    content,
    display: await readDisplay(deps, content),
    thread: await readNewest(deps, review),
  }
}

async function readNewest(deps: Deps, { accountId, threadId }: Review): Promise<ThreadMessages> {
  const found = await findThread(deps.db, accountId, threadId)
  const offset = Math.max(0, (found?.messageCount ?? 0) - THREAD_MESSAGES_SHOWN)
  const page = { accountId, threadId, limit: THREAD_MESSAGES_SHOWN, offset }
  const { thread, messages } = await readThread(deps, page)
  const { id, inboxId, subject, isRead } = thread
  const data = await Array.fromAsync(presentListed(messages, deps, deps.clock.now()))
  return { threadId: id, inboxId, subject, isRead, data }
}

function presentReview(review: Review): ReviewShape {
  const { accountId: _, content, createdAtMs, expiresAtMs, decidedAtMs, ...shown } = review
  const { from, to, cc, bcc } = content
  return {
    ...shown,
    ...{ from, to, cc, bcc },
    createdAt: presentTime(createdAtMs),
    expiresAt: presentTime(expiresAtMs),
    decidedAt: decidedAtMs === null ? null : presentTime(decidedAtMs),
  }
}
