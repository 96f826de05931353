// Mail to approvers about held mail. It is no message of an inbox, has no event and no bounce, and comes from an address
// that no inbox can have: whoever reads it may decide, so no key of the account may get hold of it. It also has no words
// of the held message, which the agent wrote.

import { composeMessage } from '@mailroom/mail/compose/compose-message.ts'
import { isInternational } from '@mailroom/mail/compose/header-text.ts'
import { shownLine } from '@mailroom/mail/unseen.ts'
import { findApprover } from '#accounts/accounts-rows.ts'
import { SERVICE_OWNER, type Signers } from '#domains/domains.ts'
import { isDomainHere } from '#domains/domains-rows.ts'
import { SERVICE_NAME } from '#inboxes/inboxes.ts'
import { raceAbort } from '#platform/abort.ts'
import type { Clock } from '#platform/clock.ts'
import { presentTime } from '#platform/clock.ts'
import { domainOf } from '#platform/email-address.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Sealer } from '#platform/seal.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import { nextAttemptAt } from '#queue/retry-schedules.ts'
import type { Db } from '#schema/tables.ts'
import { reviewUrl } from './review-link.ts'
import {
  claimReviewMail,
  findAccountWithNews,
  findDueReviewMail,
  gatherReviewMail,
  type ReviewMail,
  settleReviewMail,
} from './review-mail-rows.ts'
import { findReview, type Review } from './review-rows.ts'

/** From the first held message to the mail, which tells of all until then. */
const GATHER_MS = 2 * MINUTE_MS
/** Later the approver finds what is pending in the console. */
const MAIL_MS_MAX = DAY_MS
/** Each of another account. */
const MAILS_AT_ONCE = 16
/** How soon a new mail begins beside those under way. */
const POLL_MS = SECOND_MS
const LEASE_MS = 5 * MINUTE_MS
/** An attempt ends before its lease does. */
const ATTEMPT_MS_MAX = 2 * MINUTE_MS
/** Further ones are in the console. */
const REVIEWS_SHOWN_MAX = 25
/** Mailbox names have no underscore, so this address is no inbox. */
const SENDER_NAME = 'held_mail'

type OutgoingNotice = {
  readonly destination: string
  readonly reversePath: string
  readonly recipients: readonly string[]
  readonly raw: Uint8Array
  readonly needsSmtpUtf8: boolean
}

type Carry = (
  notice: OutgoingNotice,
  signal: AbortSignal,
) => Promise<{
  readonly outcomes: readonly {
    readonly kind: string
    readonly reply?: { readonly code: number }
  }[]
}>

export type ReviewMailDeps = {
  db: Db
  clock: Clock
  makeId: MakeId
  log: Log
  signers: Signers
  sealer: Sealer
  inboxDomain: string
  publicUrl: () => string
  /** Null in the sandbox, where no mail leaves the machine. */
  carrier: { carry: Carry } | null
}

/**
 * Gathers what is new and sends what is due, by account in turn, until nothing is; true when there may be more. An
 * account has one mail under way, so its slow servers delay the mail of no other. Safe beside another process.
 */
export async function mailReviews(deps: ReviewMailDeps, signal: AbortSignal): Promise<boolean> {
  /** By account. */
  const underWay = new Map<string, Promise<void>>()
  let after = ''
  try {
    for (;;) {
      const hasGathered = await gatherOldest(deps)
      const mail = signal.aborted ? null : await claimNext(deps, { after, underWay })
      if (mail !== null) {
        const { accountId } = mail
        const sending = mailOne(deps, mail, signal)
          // It is tried again after its lease.
          .catch((error) => deps.log.warn({ error }, 'the outcome of mail to an approver was lost'))
          .finally(() => underWay.delete(accountId))
        underWay.set(accountId, sending)
        after = accountId
      } else if (underWay.size === 0 || signal.aborted) return hasGathered
      else if (!hasGathered)
        await raceAbort(Promise.race(underWay.values()), { signal, timeoutMs: POLL_MS })
    }
  } finally {
    await Promise.all(underWay.values())
  }
}

async function gatherOldest({ db, clock, makeId, carrier }: ReviewMailDeps): Promise<boolean> {
  const nowMs = clock.now()
  const accountId = await findAccountWithNews(db, nowMs - GATHER_MS)
  if (accountId === null) return false
  const mail = carrier === null ? null : { id: makeId('rmt'), expiresAtMs: nowMs + MAIL_MS_MAX }
  await db.write(gatherReviewMail, { accountId, mail, nowMs })
  return true
}

async function claimNext(
  { db, clock, carrier }: ReviewMailDeps,
  { after, underWay }: { after: string; underWay: ReadonlyMap<string, unknown> },
): Promise<ReviewMail | null> {
  if (carrier === null || underWay.size === MAILS_AT_ONCE) return null
  const nowMs = clock.now()
  const due = await findDueReviewMail(db, { nowMs, after, busy: [...underWay.keys()] })
  return due && db.write(claimReviewMail, { ...due, nowMs, leaseMs: LEASE_MS })
}

async function mailOne(deps: ReviewMailDeps, mail: ReviewMail, signal: AbortSignal): Promise<void> {
  const { id, approverId, accountId, attempts, expiresAtMs } = mail
  const fields = { approver: approverId, attempt: attempts }
  let isOver = false
  try {
    isOver = await attempt(deps, mail, signal)
  } catch (error) {
    deps.log.error({ ...fields, error }, 'mail to an approver failed within the service')
  }
  const nowMs = deps.clock.now()
  // An attempt that this process had to end says nothing about the server.
  const retryAtMs = signal.aborted ? nowMs : nextAttemptAt({ attempts, nowMs, expiresAtMs })
  const nextAttemptAtMs = isOver ? null : retryAtMs
  if (!isOver) deps.log.info(fields, 'mail to an approver was not taken')
  await deps.db.write(settleReviewMail, { id, approverId, accountId, nextAttemptAtMs })
}

/** True when it is sent, or nobody is to be told any more. */
async function attempt(
  deps: ReviewMailDeps,
  { approverId, accountId, reviewIds, id }: ReviewMail,
  signal: AbortSignal,
): Promise<boolean> {
  const { carrier } = deps
  const approver = await findApprover(deps.db, { accountId, approverId })
  const email = approver?.email ?? null
  if (email === null || carrier === null) return true
  const destination = domainOf(email)
  // A domain of the service since the approver was created: an inbox could read the mail.
  if (await isDomainHere(deps, destination)) return true
  const found = await Promise.all(
    reviewIds.map((reviewId) => findReview(deps.db, { accountId, reviewId })),
  )
  const pending = found.filter((review) => review?.status === 'pending') as Review[]
  if (pending.length === 0) return true
  const nowMs = deps.clock.now()
  const { raw, needsSmtpUtf8 } = await compose(deps, { id, approverId, email, pending, nowMs })
  const owner = { ownerId: SERVICE_OWNER, domain: deps.inboxDomain }
  const signed = await deps.signers.sign(owner, raw, nowMs)
  const ending = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS_MAX)])
  // With the null sender nobody gets a bounce, which would have the links in it.
  const notice = { destination, reversePath: '', recipients: [email], raw: signed, needsSmtpUtf8 }
  const carried = await raceAbort(carrier.carry(notice, ending), { signal: ending })
  const [outcome] = carried?.outcomes ?? []
  const code = outcome?.reply?.code ?? 0
  return outcome?.kind === 'accepted' || outcome?.kind === 'unroutable' || code >= 500
}

async function compose(
  deps: ReviewMailDeps,
  {
    id,
    approverId,
    email,
    pending,
    nowMs,
  }: { id: string; approverId: string; email: string; pending: Review[]; nowMs: number },
): Promise<{ raw: Uint8Array; needsSmtpUtf8: boolean }> {
  const { inboxDomain } = deps
  // The newest of equal ones, as in the list of reviews.
  const groups = [
    ...Map.groupBy(pending.toReversed(), ({ id, equalKey }) => equalKey ?? id).values(),
  ]
  const shown = groups.toReversed().slice(0, REVIEWS_SHOWN_MAX)
  const entries = shown.map((equal) => entryOf(deps, equal, approverId))
  const more = groups.length - shown.length
  const count = pending.length === 1 ? 'One message waits' : `${pending.length} messages wait`
  const text = [
    `${count} for your decision. Nothing is sent unless somebody approves it.`,
    ...entries,
    ...(more === 0 ? [] : [`${more} more: ${deps.publicUrl()}/console/`]),
    'The links are for you alone: whoever has one can decide. Opening a link changes nothing.',
  ].join('\n\n')
  const composed = await composeMessage({
    from: { name: SERVICE_NAME, address: `${SENDER_NAME}@${inboxDomain}` },
    to: [email],
    cc: [],
    replyTo: null,
    subject: `${count} for your decision`,
    text: `${text}\n`,
    html: '',
    inReplyTo: null,
    references: [],
    messageId: `<${id}.${approverId}@${inboxDomain}>`,
    dateMs: nowMs,
    attachments: [],
    hopMark: null,
    unsubscribeUrl: null,
    // RFC 3834 §5: nobody's program answers it.
    extraFields: [{ name: 'Auto-Submitted', value: 'auto-generated' }],
  })
  return {
    raw: composed.raw,
    needsSmtpUtf8: composed.needsSmtpUtf8 || isInternational(email),
  }
}

/** Without words of the message: whoever wrote it could give the approver a link of their own. */
function entryOf(
  deps: ReviewMailDeps,
  [review, ...others]: readonly Review[],
  approverId: string,
): string {
  if (review === undefined) return ''
  const { accountId, id: reviewId, digest, content, expiresAtMs } = review
  const { to, cc, bcc } = content
  const recipients = [...to, ...cc, ...bcc].map(withoutWords)
  const guards = [...new Set(review.reasons.map(({ guard }) => guard))]
  const equal = `This message waits ${others.length + 1} times. The link is for the newest one.`
  return [
    ...(others.length === 0 ? [] : [equal]),
    `To ${recipients.slice(0, 5).join(', ')}${recipients.length > 5 ? ` and ${recipients.length - 5} more` : ''}`,
    `Held by: ${guards.join(', ')}. Decide by ${presentTime(expiresAtMs)}.`,
    reviewUrl(deps, { accountId, reviewId, approverId, digest }),
  ].join('\n')
}

/** An address as it is, unless its name could be read as a sentence or a URL: then its domain. */
function withoutWords(address: string): string {
  const at = address.lastIndexOf('@')
  return /^[\p{L}\p{N}\p{M}._+'=-]+$/u.test(address.slice(0, at))
    ? shownLine(address)
    : `…${shownLine(address.slice(at))}`
}
