// Links to reviews in mail to approvers. A link is bound to a review, its digest and an approver.
// Only POST decides, because programs follow links in mail.

import { clientGroup } from '@mailroom/smtp/client-address.ts'
import { findApprover } from '#accounts/store/approvers.ts'
import type { BinaryResponse, Context, Handlers } from '#http/handler.ts'
import { unknownLink } from '#http/link-page.ts'
import { limiter } from '#http/problems.ts'
import type { Budgets } from '#limits/limits.ts'
import { attachmentUrl } from '#mailbox/attachments/attachments.ts'
import { MESSAGE_PAGE_HEADERS } from '#mailbox/mailbox.ts'
import { showMessage } from '#mailbox/messages/messages.ts'
import { findMessage } from '#mailbox/messages/store/messages.ts'
import type { SendDeps } from '#outbound/send/send.ts'
import { AppError } from '#platform/problem.ts'
import { openText, type Sealer, sealText } from '#platform/seal.ts'
import { findReview, type Review } from '#reviews/store/reviews.ts'
import { approveReview, rejectReview } from './decide-review.ts'
import { readDisplay } from './read-display.ts'
import { changedPage, decidedPage, refusedPage, reviewPage } from './review-page.ts'

const LINK_USES_PER_MINUTE_MAX = 120

type Deps = SendDeps & { budgets: Budgets; urlKey: Uint8Array }

type LinkOperation = Extract<keyof Handlers, `reviews.${string}Linked`>

export function reviewLinkHandlers(deps: Deps): Pick<Handlers, LinkOperation> {
  const limitUses = limiter(deps, {
    name: 'review links',
    perMinute: LINK_USES_PER_MINUTE_MAX,
    message: 'Too many requests from this address.',
  })
  const open = async (token: string, { clientAddress }: Context): Promise<OpenLink | null> => {
    await limitUses(clientGroup(clientAddress))
    return openLink(deps, token)
  }
  const decide = async (
    token: string,
    context: Context,
    run: (link: ReviewLink) => Promise<Review>,
  ): Promise<BinaryResponse> => {
    const opened = await open(token, context)
    if (opened === null) return unknownLink(context)
    if (isOfAnother(opened)) return changedPage()
    try {
      return decidedPage(await run(opened.link), { isByThis: true })
    } catch (error) {
      // The approver was deleted, so the link no longer works.
      if (error instanceof AppError && error.code === 'unauthorized') return unknownLink(context)
      const review = await findReview(deps.db, opened.link)
      if (!(error instanceof AppError) || review === null) throw error
      if (review.status !== 'pending') return decidedPage(review, { isByThis: false, status: 409 })
      return error.code === 'review_changed' ? changedPage() : refusedPage(error)
    }
  }
  return {
    'reviews.showLinked': async ({ path }, context) => {
      const opened = await open(path.token, context)
      if (opened === null) return unknownLink(context)
      const { review } = opened
      if (isOfAnother(opened)) return changedPage()
      if (review.status !== 'pending') return decidedPage(review, { isByThis: false })
      const before = context.takeSlot
      const message = await findMessage(deps.db, review.accountId, review.messageId, { before })
      if (message === null) return unknownLink(context)
      const file = { messageId: message.id, nowMs: deps.clock.now() }
      const urlOf = (filename: string) => attachmentUrl(deps, { ...file, filename })
      const { subject, bodyText, bodyHtml } = message
      const content = { ...review.content, subject, bodyText, bodyHtml }
      const display = await readDisplay(deps, content)
      return reviewPage({ review, message, display }, { token: path.token, urlOf })
    },
    'reviews.bodyLinked': async ({ path }, context) => {
      const opened = await open(path.token, context)
      if (opened?.review.status !== 'pending' || isOfAnother(opened)) return unknownLink(context)
      const { accountId, messageId } = opened.review
      const asked = { accountId, messageId, showsRemote: false, beforeLong: context.takeSlot }
      const { document } = await showMessage(deps, asked)
      return { headers: MESSAGE_PAGE_HEADERS, content: document }
    },
    'reviews.approveLinked': ({ path }, context) =>
      decide(path.token, context, (link) => approveReview(deps, link)),
    'reviews.rejectLinked': ({ path }, context) =>
      decide(path.token, context, (link) => rejectReview(deps, { ...link, reason: null })),
  }
}

export type ReviewLink = {
  accountId: string
  reviewId: string
  approverId: string
  digest: string
}

type OpenLink = { link: ReviewLink; review: Review }

/** Returns null for a forged link, a deleted approver, or a missing review. */
async function openLink(deps: Deps, token: string): Promise<OpenLink | null> {
  const link = readReviewToken(deps.sealer, token)
  if (link === null || (await findApprover(deps.db, link)) === null) return null
  const review = await findReview(deps.db, link)
  return review === null ? null : { link, review }
}

function isOfAnother({ link, review }: OpenLink): boolean {
  return review.status === 'pending' && review.digest !== link.digest
}

const CONTEXT = 'review-link'

/** Every link has a new token, which discloses nothing and cannot be forged. */
export function reviewUrl(
  { publicUrl, sealer }: { publicUrl: () => string; sealer: Sealer },
  { accountId, reviewId, approverId, digest }: ReviewLink,
): string {
  const token = sealText(sealer, [accountId, reviewId, approverId, digest].join(' '), CONTEXT)
  return `${publicUrl()}/reviews/${token}`
}

function readReviewToken(sealer: Sealer, token: string): ReviewLink | null {
  const text = openText(sealer, token, CONTEXT)
  if (text === null) return null
  const [accountId = '', reviewId = '', approverId = '', digest = ''] = text.split(' ')
  return { accountId, reviewId, approverId, digest }
}
