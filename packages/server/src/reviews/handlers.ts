import type { Review as ReviewShape, WholeReview } from '@mailroom/contract/reviews.ts'
import type { HoldReason } from '@mailroom/contract/sending.ts'
import type { ThreadMessages } from '@mailroom/contract/threads.ts'
import type { Handlers, Input } from '#http/handler.ts'
import { problemOf } from '#http/problems.ts'
import { readThread } from '#mailbox/mailbox.ts'
import { type Extractions, presentListed } from '#mailbox/messages/messages.ts'
import { findMessage } from '#mailbox/messages/store/messages.ts'
import { findThread } from '#mailbox/threads/store/threads.ts'
import { readRecipients } from '#outbound/outbound.ts'
import { requireOneHtml, type SendDeps } from '#outbound/send/send.ts'
import type { HeldEdit } from '#outbound/waiting/waiting.ts'
import { notFound, problem, wrongField } from '#platform/problem.ts'
import { insertComment, readNotes } from '#reviews/store/review-notes.ts'
import {
  findEqual,
  findReview,
  type ListedReview,
  listReviews,
  type Review,
} from '#reviews/store/reviews.ts'
import { reviews } from '#store/nouns.ts'
import { approveReview, editReview, rejectEqual, rejectReview } from './decide-review.ts'
import { readDisplay } from './read-display.ts'

const THREAD_MESSAGES_SHOWN = 20

type Deps = SendDeps & { urlKey: Uint8Array; extractions: Extractions }

type ReviewOperation =
  | 'reviews.list'
  | 'reviews.get'
  | 'reviews.approve'
  | 'reviews.approveMany'
  | 'reviews.reject'
  | 'reviews.edit'
  | 'reviews.comment'

export function reviewHandlers(deps: Deps): Pick<Handlers, ReviewOperation> {
  return {
    'reviews.list': async ({ query }, { accountId, actor }) => {
      const { status = null, inboxId = null, ...page } = query
      const withKept = actor.kind === 'approver'
      const asked = { accountId, status, inboxId, withKept, ...page }
      const { reviews: found, total } = await listReviews(deps.db, asked)
      const data = found.map((review) => presentReview(review, { withHashes: withKept }))
      return { data, total }
    },
    'reviews.get': async ({ path }, { accountId, actor, takeSlot }) => {
      await takeSlot()
      const review = await findReview(deps.db, { accountId, reviewId: path.id })
      const isApprover = actor.kind === 'approver'
      const isShown = review?.kept === null || isApprover
      const whole = review && isShown ? await readWhole(deps, review, isApprover) : null
      if (whole === null) throw notFound()
      return whole
    },
    'reviews.approve': async ({ path, body }, { accountId, approverId }) => {
      const { digest, allowRecipients: allowsRecipients } = body
      const decision = { accountId, reviewId: path.id, approverId, digest, allowsRecipients }
      return presentReview(await approveReview(deps, decision), FOR_APPROVER)
    },
    'reviews.approveMany': async ({ body }, { accountId, approverId, requestId }) => {
      const data = []
      // Items are processed in order, because limits apply to them in that order.
      for (const { id, digest } of body.items) {
        const decision = { accountId, reviewId: id, approverId, digest }
        const result = await approveReview(deps, decision).then(
          (review) => ({ status: 200, review: presentReview(review, FOR_APPROVER), error: null }),
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
    'reviews.reject': async ({ path, body }, { accountId, approverId }) => {
      const { reason = null, includeEqual = false } = body
      const decision = { accountId, reviewId: path.id, approverId, reason: reason || null }
      const rejected = includeEqual ? rejectEqual(deps, decision) : rejectReview(deps, decision)
      return presentReview(await rejected, FOR_APPROVER)
    },
    'reviews.edit': async ({ path, body: { digest, ...fields } }, context) => {
      const { accountId, approverId, takeSlot } = context
      await takeSlot()
      const decision = { accountId, reviewId: path.id, approverId, digest }
      const edited = await editReview(deps, { ...decision, edit: readEdit(fields) })
      const whole = await readWhole(deps, edited, true)
      if (whole === null) throw notFound()
      return whole
    },
    'reviews.comment': commentHandler(deps),
  }
}

function commentHandler(deps: Deps): Handlers['reviews.comment'] {
  return async ({ path, body: { text } }, { accountId, actor }) => {
    const review = await findReview(deps.db, { accountId, reviewId: path.id })
    const isShown = review?.kept === null || actor.kind === 'approver'
    if (review === null || !isShown || actor.kind === 'operator') throw notFound()
    const { makeId, clock } = deps
    const ids = { comment: makeId('cmt'), event: makeId('evt'), audit: makeId('aud') }
    const written = { accountId, reviewId: review.id, actor, text, ids, nowMs: clock.now() }
    const comment = await deps.db.write(insertComment, written)
    if (comment === 'not_found') throw notFound()
    if (comment === 'limit_reached') throw problem('review_limit_reached')
    deps.wakeEvents()
    return comment
  }
}

function readEdit({
  to,
  cc,
  bcc,
  subject,
  body,
  bodyHtml,
  format,
  removeAttachments = [],
}: Omit<Input<'reviews.edit'>['body'], 'digest'>): HeldEdit {
  if (bodyHtml && body === undefined) throw wrongField('bodyHtml', 'needs body')
  if (format !== undefined && body === undefined) throw wrongField('format', 'needs body')
  requireOneHtml(format ?? 'auto', bodyHtml || null)
  const read = readRecipients({ to: to ?? [], cc, bcc })
  return {
    to: to === undefined ? null : read.to,
    cc: cc === undefined ? null : read.cc,
    bcc: bcc === undefined ? null : read.bcc,
    names: read.names,
    subject: subject ?? null,
    body: body ?? null,
    bodyHtml: bodyHtml || null,
    format: format ?? null,
    removedFiles: removeAttachments,
  }
}

/** Returns null if the message is deleted and its texts were not retained. */
async function readWhole(
  deps: Deps,
  review: Review,
  withHashes: boolean,
): Promise<WholeReview | null> {
  const { accountId, messageId, kept } = review
  const texts = kept ?? (await findMessage(deps.db, accountId, messageId))
  if (texts === null) return null
  const { subject, bodyText, bodyHtml } = texts
  const equal = await findEqual(deps.db, review)
  const content = { ...review.content, subject, bodyText, bodyHtml }
  return {
    ...presentReview({ ...review, equal }, { withHashes }),
    content,
    display: await readDisplay(deps, content),
    thread: await readNewest(deps, review),
    ...(await readNotes(deps.db, review.id)),
  }
}

async function readNewest(
  deps: Deps,
  { accountId, threadId, inboxId: ofInbox, subject: ofReview }: Review,
): Promise<ThreadMessages> {
  const found = await findThread(deps.db, accountId, threadId)
  if (found === null) {
    return { threadId, inboxId: ofInbox, subject: ofReview, isRead: true, data: [] }
  }
  const offset = Math.max(0, found.messageCount - THREAD_MESSAGES_SHOWN)
  const page = { accountId, threadId, limit: THREAD_MESSAGES_SHOWN, offset }
  const { thread, messages } = await readThread(deps, page)
  const { id, inboxId, subject, isRead } = thread
  const data = await Array.fromAsync(presentListed(messages, deps, deps.clock.now()))
  return { threadId: id, inboxId, subject, isRead, data }
}

const FOR_APPROVER = { withHashes: true }

function presentReview(
  { equal = [], ...review }: Review & Partial<ListedReview>,
  { withHashes }: { withHashes: boolean },
): ReviewShape {
  const { from, to, cc, bcc } = review.content
  return {
    ...reviews.present(review),
    ...(withHashes && { reasons: reasonsWithHashes(review) }),
    ...{ from, to, cc, bcc },
    equalCount: equal.length + 1,
    equal,
    isMessageDeleted: review.kept !== null,
  }
}

/** Only an approver sees the hashes: that of a card number is as good as the number. */
function reasonsWithHashes({ reasons, findingHashes }: Review): HoldReason[] {
  if (findingHashes === null) return reasons
  const hashes = findingHashes.values()
  return reasons.map(({ findings, ...reason }) =>
    findings === undefined
      ? reason
      : {
          ...reason,
          findings: findings.map((finding) => ({ ...finding, sha256: hashes.next().value ?? '' })),
        },
  )
}
