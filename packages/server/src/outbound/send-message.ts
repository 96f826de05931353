// Accepting one message to be sent: composed, signed, stored and queued for each of its recipients in
// one transaction. When this returns, the message is on disk and will be attempted.

import type { Account } from '#accounts/account.ts'
import { findAccount } from '#accounts/account-rows.ts'
import type { SendAnswer } from '#accounts/idempotency-key-rows.ts'
import type { Signers } from '#domains/signers.ts'
import { findInbox } from '#inboxes/inbox-rows.ts'
import { findOwnInbox } from '#inboxes/read-inboxes.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import { addressKey } from '#platform/email-address.ts'
import type { MakeId } from '#platform/ids.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import { AUTOMATIC_SENDS_MAX } from './automatic-sends-rows.ts'
import { addressSend, composeSend } from './compose-send.ts'
import { lookAhead } from './look-ahead.ts'
import { queueMessage } from './queue-message.ts'
import { readReplied } from './read-replied.ts'
import type { TooCold } from './send-limits-rows.ts'
import type { SendOutcome } from './send-message-rows.ts'
import type { SendSettings } from './send-policy.ts'
import { findSendingDomain } from './sending-domain.ts'

/**
 * Times that a reply is composed anew because its thread got a message meanwhile: as many replies as
 * an inbox may send in a minute, and some mail that arrives between them.
 */
const COMPOSE_ATTEMPTS_MAX = 12

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

export type SendDeps = {
  db: Db
  clock: Clock
  makeId: MakeId
  blobs: BlobStore | null
  parser: Parser
  signers: Signers
  inboxDomain: string
  sending: SendSettings
  laneOf: (domain: string) => string
  queueClock: QueueClock
  wakeDelivery: () => void
  wakeEvents: () => void
  deriveKey: (purpose: string) => Uint8Array
  sealer: Sealer
  publicUrl: string
}

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
  deps: { db: Db },
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
  deps: { clock: Clock },
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
