// Sends approvers mail about held messages. Its reader may decide, so no key of the account may
// read it. It is in no inbox, has no event or bounce, and comes from an address without an inbox.

import { composeMessage } from '@mailroom/mail/compose/compose-message.ts'
import { isInternational } from '@mailroom/mail/compose/header-text.ts'
import { shownLine } from '@mailroom/mail/unseen.ts'
import { findApprover } from '#accounts/store/approvers.ts'
import { SERVICE_OWNER } from '#domains/dkim/dkim.ts'
import type { Signers } from '#domains/signing/signing.ts'
import { isDomainHere } from '#domains/store/domains.ts'
import { SERVICE_NAME } from '#inboxes/inboxes.ts'
import { raceAbort } from '#platform/abort.ts'
import { presentTime } from '#platform/clock.ts'
import { bareAddress, domainOf } from '#platform/email-address.ts'
import type { Sealer } from '#platform/seal.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { FeatureWork } from '#queue/background.ts'
import type { Job } from '#queue/jobs.ts'
import { nextAttemptAt } from '#queue/retry-schedules.ts'
import { failureOf } from '#queue/trouble.ts'
import type { JobKind } from '#queue/work-jobs.ts'
import {
  findAccountWithNews,
  gatherReviewMail,
  type ReviewMail,
} from '#reviews/store/review-mail.ts'
import { findReview, type Review } from '#reviews/store/reviews.ts'
import type { Store } from '#store/store.ts'
import { reviewUrl } from './review-link.ts'

/** The time between the first held message and the mail that reports it. */
const GATHER_MS = 2 * MINUTE_MS
/** Mail is not retried after this time; the console lists pending reviews. */
const MAIL_MS_MAX = DAY_MS
const MAILS_AT_ONCE = 16
const ATTEMPT_MS_MAX = 2 * MINUTE_MS
/** The console lists all reviews. */
const REVIEWS_SHOWN_MAX = 25
/** Inbox names cannot contain an underscore. */
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

export type ReviewMailDeps = Store & {
  signers: Signers
  sealer: Sealer
  inboxDomain: string
  publicUrl: () => string
  /** Null in the sandbox, where no mail leaves the machine. */
  carrier: { carry: Carry } | null
  wakeWorker(): void
}

export function reviewMailWork(deps: ReviewMailDeps): FeatureWork {
  return {
    jobs: [reviewMailJobs(deps)],
    tasks: [
      { name: 'review mail', everyMs: SECOND_MS, by: 'leader', run: () => gatherOldest(deps) },
    ],
  }
}

async function gatherOldest(deps: ReviewMailDeps): Promise<boolean> {
  const { db, clock, makeId, carrier } = deps
  const nowMs = clock.now()
  const accountId = await findAccountWithNews(db, nowMs - GATHER_MS)
  if (accountId === null) return false
  const mail = carrier === null ? null : { id: makeId('rmt'), expiresAtMs: nowMs + MAIL_MS_MAX }
  await db.write(gatherReviewMail, { accountId, mail, nowMs })
  deps.wakeWorker()
  return true
}

/** Each job is a mail to one approver, so slow servers of one account delay no other. */
function reviewMailJobs(deps: ReviewMailDeps): JobKind {
  return {
    name: 'review mail',
    atOnce: MAILS_AT_ONCE,
    isExclusive: true,
    async run([job], { signal }) {
      const { approverId, expiresAtMs } = job.payload as ReviewMail
      const attempts = (job.trouble?.attempts ?? 0) + 1
      const fields = { approver: approverId, attempt: attempts }
      let failure = { isPassing: false, message: 'The mail was not accepted.' }
      try {
        if (await attempt(deps, job, signal)) return 'done'
        deps.log.info(fields, 'mail to an approver was not accepted')
      } catch (error) {
        deps.log.error({ ...fields, error }, 'mail to an approver failed within the service')
        failure = failureOf(error)
      }
      const nowMs = deps.clock.now()
      // If a shutdown aborted the attempt, the server is not at fault.
      const retryAtMs = signal.aborted ? nowMs : nextAttemptAt({ attempts, nowMs, expiresAtMs })
      return retryAtMs === null ? 'done' : { failure, retryAtMs }
    },
  }
}

/** Returns true if the mail is sent or no longer needed. */
async function attempt(
  deps: ReviewMailDeps,
  { accountId, key, payload }: Job,
  signal: AbortSignal,
): Promise<boolean> {
  const { carrier } = deps
  const { approverId, reviewIds } = payload as ReviewMail
  const approver = await findApprover(deps.db, { accountId, approverId })
  const email = approver?.email ?? null
  if (email === null || carrier === null) return true
  const destination = domainOf(email)
  // If the domain was added after the approver was created, an inbox could read the mail.
  if (await isDomainHere(deps, destination)) return true
  const found = await Promise.all(
    reviewIds.map((reviewId) => findReview(deps.db, { accountId, reviewId })),
  )
  const pending = found.filter((review) => review?.status === 'pending') as Review[]
  if (pending.length === 0) return true
  const nowMs = deps.clock.now()
  const { raw, needsSmtpUtf8 } = await compose(deps, { key, approverId, email, pending, nowMs })
  const owner = { ownerId: SERVICE_OWNER, domain: deps.inboxDomain }
  const signed = await deps.signers.sign(owner, raw, nowMs)
  const ending = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS_MAX)])
  // The null sender prevents bounces, which would contain the links.
  const notice = { destination, reversePath: '', recipients: [email], raw: signed, needsSmtpUtf8 }
  const carried = await raceAbort(carrier.carry(notice, ending), { signal: ending })
  const [outcome] = carried?.outcomes ?? []
  const code = outcome?.reply?.code ?? 0
  return outcome?.kind === 'accepted' || outcome?.kind === 'unroutable' || code >= 500
}

async function compose(
  deps: ReviewMailDeps,
  {
    key,
    approverId,
    email,
    pending,
    nowMs,
  }: { key: string; approverId: string; email: string; pending: Review[]; nowMs: number },
): Promise<{ raw: Uint8Array; needsSmtpUtf8: boolean }> {
  const { inboxDomain } = deps
  // The newest of equal reviews is shown, as in the list.
  const groups = [
    ...Map.groupBy(pending.toReversed(), ({ id, equalKey }) => equalKey ?? id).values(),
  ]
  const shown = groups.toReversed().slice(0, REVIEWS_SHOWN_MAX)
  const entries = shown.map((equal) => entryOf(deps, equal, approverId))
  const more = groups.length - shown.length
  const count =
    pending.length === 1 ? 'One message is waiting' : `${pending.length} messages are waiting`
  const text = [
    `${count} for your decision. Nothing is sent without approval.`,
    ...entries,
    ...(more === 0 ? [] : [`${more} more: ${deps.publicUrl()}/console/`]),
    'The links are for you alone: anyone who has one can decide. Opening a link changes nothing.',
  ].join('\n\n')
  const composed = await composeMessage({
    from: { name: SERVICE_NAME, address: `${SENDER_NAME}@${inboxDomain}` },
    to: [{ name: null, address: email }],
    cc: [],
    replyTo: null,
    subject: `${count} for your decision`,
    text: `${text}\n`,
    html: '',
    inReplyTo: null,
    references: [],
    messageId: `<${key}@${inboxDomain}>`,
    dateMs: nowMs,
    attachments: [],
    hopMark: null,
    unsubscribeUrl: null,
    // Programs must not reply to this mail (RFC 3834 §5).
    extraFields: [{ name: 'Auto-Submitted', value: 'auto-generated' }],
  })
  return {
    raw: composed.raw,
    needsSmtpUtf8: composed.needsSmtpUtf8 || isInternational(email),
  }
}

/** Omits all text of the message, because its writer could include another link. */
function entryOf(
  deps: ReviewMailDeps,
  [review, ...others]: readonly Review[],
  approverId: string,
): string {
  if (review === undefined) return ''
  const { accountId, id: reviewId, digest, content, expiresAtMs } = review
  const { to, cc, bcc } = content
  const recipients = [...to, ...cc, ...bcc].map((mailbox) => withoutWords(bareAddress(mailbox)))
  const guards = [...new Set(review.reasons.map(({ guard }) => guard))]
  const equal = `${others.length + 1} equal messages are waiting. The link is for the newest one.`
  return [
    ...(others.length === 0 ? [] : [equal]),
    `To ${recipients.slice(0, 5).join(', ')}${recipients.length > 5 ? ` and ${recipients.length - 5} more` : ''}`,
    `Held by: ${guards.join(', ')}. Decide by ${presentTime(expiresAtMs)}.`,
    reviewUrl(deps, { accountId, reviewId, approverId, digest }),
  ].join('\n')
}

/** Shows only the domain if the name could be read as a sentence or a URL. */
function withoutWords(address: string): string {
  const at = address.lastIndexOf('@')
  return /^[\p{L}\p{N}\p{M}._+'=-]+$/u.test(address.slice(0, at))
    ? shownLine(address)
    : `…${shownLine(address.slice(at))}`
}
