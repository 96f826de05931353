// Accepting one message to be sent: composed, signed, stored and queued for each of its recipients in
// one transaction. When this returns, the message is on disk and will be attempted.

import type { Deps } from '#actions/deps.ts'
import { findSendingDomain } from '#actions/domain/sending-domain.ts'
import { AUTOMATIC_SENDS_MAX, COMPOSE_ATTEMPTS_MAX } from '#base/limits.ts'
import type { Account } from '#model/account.ts'
import { addressKey } from '#model/email-address.ts'
import { notFound, problem } from '#model/problem.ts'
import { findAccount } from '#store/account.ts'
import type { SendAnswer } from '#store/idempotency-key.ts'
import { findInbox } from '#store/inbox.ts'
import type { TooCold } from '#store/send-limits.ts'
import type { SendOutcome } from '#store/send-message.ts'
import { addressSend, composeSend } from './compose-send.ts'
import { findOwnInbox } from './find-recipient.ts'
import { lookAhead } from './look-ahead.ts'
import { queueMessage } from './queue-message.ts'
import { readReplied } from './read-replied.ts'

export type SendAttachment = {
  filename: string
  contentType: string
  /** Gone when the send is over, if it is large and memory of its own. */
  content: Uint8Array
  /** For a picture that the HTML refers to as `cid:…`. */
  contentId: string | null
}

export type SendMessage = {
  accountId: string
  inboxId: string
  idempotencyKey: string
  /** SHA-256 of what was asked for: the same key with another one is refused. */
  requestHash: Uint8Array
  to: string
  cc: string[]
  body: string
  bodyHtml: string | null
  /** Null only with `threadId`. */
  subject: string | null
  threadId: string | null
  includeQuote: boolean
  replyTo: string | null
  attachments: SendAttachment[]
  /** With a link by which the one recipient can unsubscribe. */
  hasUnsubscribe: boolean
}

export type SendDeps = Pick<
  Deps,
  | 'db'
  | 'clock'
  | 'makeId'
  | 'blobs'
  | 'parser'
  | 'signers'
  | 'inboxDomain'
  | 'sending'
  | 'laneOf'
  | 'queueClock'
  | 'wakeDelivery'
  | 'wakeEvents'
  | 'deriveKey'
  | 'sealer'
  | 'publicUrl'
>

/**
 * Queues the message, or repeats the answer to an earlier request under the same key. Refused with
 * `not_found`, `invalid_domain`, `feature_requires_paid_plan`, `payload_too_large`, `idempotency_key_reused`,
 * `recipient_suppressed`, `loop_suspected`, `rate_limit_exceeded`, `cold_outreach_limit` or, with a
 * link to unsubscribe for several recipients, `bad_request`; a refusal uses up nothing.
 */
export async function sendMessage(
  deps: SendDeps,
  input: SendMessage,
): Promise<{ isReplay: boolean; response: SendAnswer }> {
  const { accountId, inboxId } = input
  checkUnsubscribe(input, [input.to, ...input.cc])
  const [inbox, account] = await Promise.all([
    findInbox(deps.db, accountId, inboxId),
    findAccount(deps.db, accountId),
  ])
  if (inbox === null || account === null) throw notFound()
  for (let attempt = 1; ; attempt++) {
    const replied = await readReplied(deps, { ...input, inbox })
    if (attempt === 1) {
      // Refuses what its domain keeps from sending.
      await findSendingDomain(deps, inbox)
      await checkReplyTo(deps, account, input.replyTo)
    }
    const { recipients } = addressSend(input, { inbox, replied })
    checkUnsubscribe(input, recipients)
    const refusal = await lookAhead(deps, input, { inbox, account, recipients })
    if (refusal !== null) return answerOf(deps, refusal)
    const composition = await composeSend(deps, input, { inbox, replied })
    const mayBeStale = attempt === COMPOSE_ATTEMPTS_MAX
    const outcome = await queueMessage(deps, input, { inbox, account, composition, mayBeStale })
    if (outcome.kind === 'thread_changed') continue
    if (outcome.kind === 'queued') deps.wakeDelivery()
    if (outcome.kind === 'loop_suspected' && !outcome.isTold) deps.wakeEvents()
    return answerOf(deps, outcome)
  }
}

/** One link for several recipients would let each unsubscribe the others. */
function checkUnsubscribe(input: SendMessage, recipients: string[]): void {
  if (!input.hasUnsubscribe) return
  const [own, ...others] = new Set(recipients.map(addressKey))
  const other = recipients.find((address) => addressKey(address) !== own)
  if (others.length === 0 || other === undefined) return
  const isCopier = !input.cc.some((address) => addressKey(address) === addressKey(other))
  const message = isCopier
    ? `must be empty with unsubscribe, but a reply in this thread also goes to ${other}`
    : 'must be empty with unsubscribe, because the link is for one recipient'
  throw problem('bad_request', `cc ${message}.`, { details: [{ path: 'cc', message }] })
}

/** A plan without this feature has replies come to its own inboxes only. */
async function checkReplyTo(
  deps: Pick<Deps, 'db'>,
  account: Account,
  replyTo: string | null,
): Promise<void> {
  if (replyTo === null || account.plan !== 'free') return
  if ((await findOwnInbox(deps, account.id, replyTo)) !== null) return
  throw problem(
    'feature_requires_paid_plan',
    'On the free plan, replyTo must be the address of an inbox of the account.',
    { fields: { feature: 'external_reply_to' } },
  )
}

function answerOf(
  deps: Pick<Deps, 'clock'>,
  outcome: Exclude<SendOutcome, { kind: 'thread_changed' }>,
): { isReplay: boolean; response: SendAnswer } {
  // The time may have come since it was looked at.
  const secondsUntil = (timeMs: number) =>
    Math.max(1, Math.ceil((timeMs - deps.clock.now()) / 1000))
  switch (outcome.kind) {
    case 'queued':
      return { isReplay: false, response: outcome.answer }
    case 'replay':
      return { isReplay: true, response: outcome.answer }
    case 'key_reused':
      throw problem('idempotency_key_reused')
    case 'not_found':
      throw notFound()
    case 'suppressed':
      throw problem(
        'recipient_suppressed',
        `${outcome.address} is on the suppression list of the account (${outcome.type}).`,
        { fields: { type: outcome.type, address: outcome.address } },
      )
    case 'loop_suspected':
      throw problem(
        'loop_suspected',
        `The inbox has replied to automatic messages ${AUTOMATIC_SENDS_MAX} times within an hour in this thread.`,
        { retryAfterSeconds: secondsUntil(outcome.retryAtMs) },
      )
    case 'too_many':
      throw problem(
        'rate_limit_exceeded',
        outcome.window === 'minute'
          ? `The inbox may send ${outcome.limit} messages a minute.`
          : `The inbox may send ${outcome.limit} messages in 24 hours.`,
        { retryAfterSeconds: secondsUntil(outcome.retryAtMs) },
      )
    case 'too_cold':
      throw problem('cold_outreach_limit', COLD_TEXTS[outcome.scope](outcome.limit), {
        retryAfterSeconds: secondsUntil(outcome.retryAtMs),
        // No midnight makes room for it.
        ...(outcome.strangers > outcome.limit ? { fix: tooColdForEver(outcome.limit) } : {}),
      })
  }
}

function tooColdForEver(limit: number): string {
  return limit === 0
    ? 'Send only to addresses that have written to the inbox. Repeating this request cannot succeed.'
    : `Send to at most ${limit} new addresses in one message. Repeating this request cannot succeed.`
}

const COLD_TEXTS: Record<TooCold['scope'], (limit: number) => string> = {
  inbox: (limit) =>
    `A new inbox may send to ${limit} addresses a day (UTC) that have never written to it.`,
  account: (limit) =>
    `The account may send to ${limit} addresses a day (UTC) that have never written to its inboxes.`,
}
