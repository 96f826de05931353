// The links in the mail to approvers, and the pages that they open. A link is bound to a review, its digest and an
// approver, and works until the review is decided. Only POST decides: programs follow links in mail.

import { clientGroup } from '@mailroom/smtp/client-address.ts'
import { findApprover } from '#accounts/accounts-rows.ts'
import type { BinaryResponse, Context, Handlers } from '#http/handler.ts'
import { rateLimited } from '#http/problems.ts'
import { attachmentUrl, MESSAGE_PAGE_HEADERS, showMessage } from '#mailbox/mailbox.ts'
import { findMessage } from '#mailbox/mailbox-rows.ts'
import type { SendDeps } from '#outbound/outbound.ts'
import { AppError, notFound } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { Budgets } from '#rate-limits/rate-limits.ts'
import { approveReview, rejectReview } from './decide-review.ts'
import { decidedPage, refusedPage, reviewPage, unknownPage } from './review-page.ts'
import { findReview, type Review } from './review-rows.ts'

/** Uses of links from one address in a minute. */
const LINK_USES_PER_MINUTE_MAX = 120

type Deps = SendDeps & { budgets: Budgets; urlKey: Uint8Array }

type LinkOperation = Extract<keyof Handlers, `reviews.${string}Linked`>

export function reviewLinkHandlers(deps: Deps): Pick<Handlers, LinkOperation> {
  const uses = deps.budgets.openWindow({
    name: 'review links',
    limit: LINK_USES_PER_MINUTE_MAX,
    windowMs: MINUTE_MS,
  })
  const open = async (token: string, { clientAddress }: Context): Promise<OpenLink | null> => {
    const refusal = await uses.take(clientGroup(clientAddress))
    if (!refusal.isAllowed) {
      const refused = { scope: 'address', refusal, clock: deps.clock } as const
      throw rateLimited('Too many uses of links from this address.', refused)
    }
    return openLink(deps, token)
  }
  const decide = async (
    token: string,
    context: Context,
    run: (link: ReviewLink) => Promise<Review>,
  ): Promise<BinaryResponse> => {
    const opened = await open(token, context)
    if (opened === null) return unknown(context)
    try {
      return decidedPage(await run(opened.link), { isByThis: true })
    } catch (error) {
      const review = await findReview(deps.db, opened.link)
      if (!(error instanceof AppError) || review === null) throw error
      return review.status === 'pending'
        ? refusedPage(error)
        : decidedPage(review, { isByThis: false })
    }
  }
  return {
    'reviews.showLinked': async ({ path }, context) => {
      const opened = await open(path.token, context)
      if (opened === null) return unknown(context)
      const { review } = opened
      if (review.status !== 'pending') return decidedPage(review, { isByThis: false })
      const message = await findMessage(deps.db, review.accountId, review.messageId, LINES_ONLY)
      if (message === null) return unknown(context)
      const file = { messageId: message.id, nowMs: deps.clock.now() }
      const urlOf = (filename: string) => attachmentUrl(deps, { ...file, filename })
      return reviewPage(review, message, { token: path.token, urlOf })
    },
    'reviews.bodyLinked': async ({ path }, context) => {
      const opened = await open(path.token, context)
      if (opened === null || opened.review.status !== 'pending') return unknown(context)
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

const LINES_ONLY = { lengthMax: 0 }

/** Browsers get a page, programs the usual problem. */
function unknown({ headers }: Context): BinaryResponse {
  if (headers.accept?.includes('text/html')) return unknownPage()
  throw notFound()
}

export type ReviewLink = {
  accountId: string
  reviewId: string
  approverId: string
  digest: string
}

type OpenLink = { link: ReviewLink; review: Review }

/** Null for a link that this service did not make, of a deleted approver, or of a message that is gone. */
async function openLink(deps: Deps, token: string): Promise<OpenLink | null> {
  const link = readReviewToken(deps.sealer, token)
  if (link === null || (await findApprover(deps.db, link)) === null) return null
  const review = await findReview(deps.db, link)
  return review === null || review.digest !== link.digest ? null : { link, review }
}

const CONTEXT = 'review-link'
/** In characters; a token has some 290. */
const TOKEN_LENGTH_MAX = 1_000

/** An absolute URL with a new token each time. It discloses nothing and cannot be forged. */
export function reviewUrl(
  { publicUrl, sealer }: { publicUrl: () => string; sealer: Sealer },
  { accountId, reviewId, approverId, digest }: ReviewLink,
): string {
  const plain = Buffer.from([accountId, reviewId, approverId, digest].join(' '))
  const token = Buffer.from(sealer.seal(plain, CONTEXT)).toString('base64url')
  return `${publicUrl()}/reviews/${token}`
}

function readReviewToken(sealer: Sealer, token: string): ReviewLink | null {
  if (token.length > TOKEN_LENGTH_MAX) return null
  const sealed = Buffer.from(token, 'base64url')
  // Decoding skips characters that are no base64url.
  if (sealed.toString('base64url') !== token) return null
  const plain = sealer.open(sealed, CONTEXT)
  if (plain === null) return null
  const [accountId = '', reviewId = '', approverId = '', digest = ''] = Buffer.from(plain)
    .toString()
    .split(' ')
  return { accountId, reviewId, approverId, digest }
}
