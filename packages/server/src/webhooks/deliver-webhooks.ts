// One attempt: an event, signed, posted to a webhook, and what came of it recorded. The leases are the
// caller's to hold.

import { SHOWN_BODY_BYTES_MAX } from '@mailroom/contract/shapes/message.ts'
import type { LoggedEvent } from '#events/event.ts'
import { findEvent } from '#events/event-rows.ts'
import type { Clock } from '#platform/clock.ts'
import type { HttpPost, HttpPostOutcome } from '#platform/egress/http-post.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { storageTrouble } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { DispatchedQueue, GroupOutcome } from '#queue/dispatched-queue.ts'
import { WEBHOOK_LEASE_MS } from '#queue/dispatcher-bounds.ts'
import { giveBack, openLeaseKeeper, outlastStore } from '#queue/lease-keeper.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import { nextWebhookAttemptAt, WEBHOOK_WAIT_MS_MAX } from '#queue/retry-schedules.ts'
import type { Db } from '#schema/tables.ts'
import {
  checkWebhookUrl,
  type Webhook,
  type WebhookDeliveryStatus,
  type WebhookError,
} from './webhook.ts'
import { dropWebhookDeliveries } from './webhook-delivery-rows.ts'
import {
  findEventSizes,
  type HeldWebhookDelivery,
  settleWebhookDelivery,
  webhookQueue,
} from './webhook-queue-rows.ts'
import { findWebhook } from './webhook-rows.ts'
import { openSecrets, signWebhook } from './webhook-secrets.ts'

/** With the octets that its event takes while it is under way, at a guess. */
export type HeldWebhook = HeldWebhookDelivery & { readonly size_bytes: number }

export type WebhookQueue = DispatchedQueue<HeldWebhook>

/** `worker` is a name that no other process has. */
export function openWebhookQueue(
  deps: DeliverWebhookDeps & { db: Db },
  worker: string,
): WebhookQueue {
  const leases = openLeaseKeeper<HeldWebhookDelivery>(deps, {
    queue: webhookQueue,
    worker,
    leaseMs: WEBHOOK_LEASE_MS,
    backoffMaxMs: WEBHOOK_WAIT_MS_MAX,
  })
  const findText = openEventTexts(deps)
  return {
    ...leases,
    async claim(heads) {
      const held = await leases.claim(heads)
      const eventIds = [...new Set(held.map((delivery) => delivery.event_id))]
      // Should this read fail, the claim stands all the same.
      const sizes = await findEventSizes(deps.db, eventIds).catch(() => null)
      return held.map((delivery) => {
        const rawBytes = sizes === null ? EVENT_BYTES_GUESSED_MAX : sizes.get(delivery.event_id)
        return Object.assign(delivery, { size_bytes: guessBytes(rawBytes ?? 0) })
      })
    },
    group: (held) => held.map((delivery) => [delivery]),
    async deliver([held], signal, observer) {
      const fields = { webhook: held.lane, event: held.event_id }
      try {
        const ours = await outlastStore(deps, { fields, signal }, () => leases.confirm([held]))
        if (ours.length === 0) {
          // What is another's stays so.
          await giveBack(deps, [held], { leases, fields, signal })
          return 'returned'
        }
        const holding = { worker, signal, findText, ...(observer && { onSize: observer.onSize }) }
        return meaningOf(await deliverWebhook(deps, held, holding))
      } finally {
        leases.drop([held])
      }
    },
  }
}

/** Text, HTML and the new text of a reply, and each octet of them once more while they are sent. */
const EVENT_BYTES_GUESSED_MAX = 2 * 3 * SHOWN_BODY_BYTES_MAX
/** What is not of the message. */
const EVENT_BYTES_MIN = 4 * 1024

/**
 * Rather too many than too few: HTML is told as text, too, and as new text, and other charsets than
 * UTF-8 take fewer octets. When the event is rendered it is known.
 */
function guessBytes(rawBytes: number): number {
  return Math.min(EVENT_BYTES_MIN + 6 * rawBytes, EVENT_BYTES_GUESSED_MAX)
}

/** Any whole answer shows that the receiver is there. */
function meaningOf(outcome: WebhookOutcome): GroupOutcome {
  if (outcome.kind !== 'attempted') return 'returned'
  switch (outcome.error) {
    case 'webhook_disabled':
    case 'internal_error':
      return 'returned'
    case null:
    case 'status':
    case 'redirect':
      return 'reached'
    default:
      return 'unreached'
  }
}

export type DeliverWebhookDeps = {
  db: Db
  clock: Clock
  queueClock: QueueClock
  makeId: MakeId
  log: Log
  readEventTexts: ReadEventTexts
  sealer: Sealer
  allowPrivateEgress: boolean
  postWebhook: HttpPost
  countWebhookDelivery: (status: 'succeeded' | 'deferred' | 'failed') => void
  wakeEvents: () => void
}

/** `error` is null when the receiver answered with a success. */
export type WebhookAttempt = {
  readonly kind: 'attempted'
  readonly responseStatus: number | null
  readonly responseBody: string | null
  readonly latencyMs: number | null
  readonly error: WebhookError | null
}

/**
 * What the attempt came to; `returned` when the service ended before there was an answer, and the
 * delivery waits to be attempted anew; `gone` when the webhook, the event or its message is no more.
 */
export type WebhookOutcome =
  | WebhookAttempt
  | { readonly kind: 'returned' }
  | { readonly kind: 'gone' }

export type Holding = {
  worker: string
  signal: AbortSignal
  /** Where events are found that others are told of as well. */
  findText?: FindEventText
  /** Told how many octets it takes while it is under way, when that is known. */
  onSize?: (sizeBytes: number) => void
}

/**
 * Attempts what `worker` holds and records the outcome; on return it holds it no more. Rejects only
 * where the outcome could not be recorded before `signal` was aborted: then the lease ends by itself.
 */
export async function deliverWebhook(
  deps: DeliverWebhookDeps,
  held: HeldWebhookDelivery,
  holding: Holding,
): Promise<WebhookOutcome> {
  const { worker, signal } = holding
  const fields = { webhook: held.lane, event: held.event_id }
  const outlast = <Value>(run: () => Promise<Value>) => outlastStore(deps, { fields, signal }, run)
  const ids = [held.id]
  const attemptAtMs = deps.clock.now()
  const outcome = endTest(held, await attempt(deps, held, { ...holding, outlast }))
  if (outcome.kind === 'gone') await outlast(() => deps.db.write(dropWebhookDeliveries, { ids }))
  else if (outcome.kind === 'returned') {
    await returnOnce(deps, { worker, ids, fields })
  } else await outlast(() => settle(deps, { held, worker, attemptAtMs, outcome }))
  return outcome
}

/** At the end of the service, when there is no time to try again: the lease ends by itself. */
async function returnOnce(
  { db, log }: DeliverWebhookDeps,
  { fields, ...held }: { worker: string; ids: string[]; fields: object },
): Promise<void> {
  try {
    await db.write(webhookQueue.giveBack, held)
  } catch (error) {
    if (storageTrouble(error) === null) throw error
    log.warn({ error, ...fields }, 'deliveries could not be released; their leases will expire')
  }
}

/** A test is not made anew: whoever asked for it would not know of the second. */
function endTest(held: HeldWebhookDelivery, outcome: WebhookOutcome): WebhookOutcome {
  const isCut = outcome.kind === 'returned' && held.event_kind === 'webhook.test'
  return isCut ? unsent('internal_error') : outcome
}

type Outlast = <Value>(run: () => Promise<Value>) => Promise<Value>

async function attempt(
  deps: DeliverWebhookDeps,
  held: HeldWebhookDelivery,
  { outlast, signal, findText = findEventTextIn(deps), onSize }: Holding & { outlast: Outlast },
): Promise<WebhookOutcome> {
  let request: Request | WebhookOutcome
  try {
    request = await outlast(() => makeRequest(deps, held, findText))
  } catch (error) {
    if (storageTrouble(error) !== null) throw error
    // A fault of ours is no outcome of theirs: it is tried again by schedule, and ends with it.
    deps.log.error(
      { error, webhook: held.lane, event: held.event_id },
      'a webhook request could not be built',
    )
    return unsent('internal_error')
  }
  if ('kind' in request) return request
  // As text and as octets.
  onSize?.(2 * Buffer.byteLength(request.body))
  return outcomeOf(await deps.postWebhook({ ...request, signal }))
}

type Request = { url: string; headers: Record<string, string>; body: string }

/** What is posted, or why nothing is. */
async function makeRequest(
  deps: DeliverWebhookDeps,
  held: HeldWebhookDelivery,
  findText: FindEventText,
): Promise<Request | WebhookOutcome> {
  const webhook = await findWebhook(deps.db, held.lane)
  if (webhook === null || webhook.accountId !== held.account_id) return { kind: 'gone' }
  if (!webhook.isEnabled && held.event_kind !== 'webhook.test') return unsent('webhook_disabled')
  const text = await findText({ accountId: held.account_id, eventId: held.event_id })
  if (text === null) return { kind: 'gone' }
  const { url } = webhook
  // What the operator allows may have changed since the URL was accepted.
  const mistake = checkWebhookUrl(url, { allowPrivate: deps.allowPrivateEgress })
  if (mistake !== null) return unsent('forbidden_address')
  const body = text.render({ deliveredAtMs: deps.clock.now(), attempt: held.attempts })
  return { url, headers: makeHeaders(deps, { webhook, held, body }), body }
}

function makeHeaders(
  { clock, sealer }: DeliverWebhookDeps,
  { webhook, held, body }: { webhook: Webhook; held: HeldWebhookDelivery; body: string },
): Record<string, string> {
  const nowMs = clock.now()
  const secrets = openSecrets(sealer, webhook, nowMs)
  const timestamp = Math.floor(nowMs / 1000)
  return {
    'content-type': 'application/json',
    ...signWebhook({ id: held.event_id, timestamp, body, secrets }),
  }
}

function unsent(error: WebhookError): WebhookAttempt {
  return { kind: 'attempted', responseStatus: null, responseBody: null, latencyMs: null, error }
}

function outcomeOf(posted: HttpPostOutcome): WebhookOutcome {
  if (posted.kind === 'failed') {
    if (posted.error === 'cut') return { kind: 'returned' }
    const { status: responseStatus = null, body: responseBody = null } = posted.answer ?? {}
    const { error, latencyMs } = posted
    return { kind: 'attempted', responseStatus, responseBody, latencyMs, error }
  }
  const { status, body, latencyMs } = posted
  const error = errorOfStatus(status)
  return { kind: 'attempted', responseStatus: status, responseBody: body, latencyMs, error }
}

function errorOfStatus(status: number): WebhookError | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 ? 'redirect' : 'status'
}

async function settle(
  deps: DeliverWebhookDeps,
  {
    held,
    worker,
    attemptAtMs,
    outcome: { kind: _, ...answer },
  }: {
    held: HeldWebhookDelivery
    worker: string
    attemptAtMs: number
    outcome: WebhookAttempt
  },
): Promise<void> {
  const queueMs = deps.queueClock.now()
  const nextAttemptAtMs = isFinal(held, answer.error)
    ? null
    : nextWebhookAttemptAt({ attempts: held.attempts, nowMs: queueMs })
  const status = statusOf(answer.error, nextAttemptAtMs)
  const nowMs = deps.clock.now()
  const { id, account_id: accountId, attempts } = held
  const attempt = { worker, id, accountId, attempts, attemptAtMs }
  const eventId = deps.makeId('evt')
  const recorded = { ...attempt, status, nextAttemptAtMs, ...answer, nowMs, queueMs, eventId }
  const settled = await deps.db.write(settleWebhookDelivery, recorded)
  if (settled === 'lost') return
  tell(deps, held, { ...answer, status })
  if (settled !== 'disabled') return
  deps.log.warn({ webhook: held.lane }, 'a webhook was disabled after failing for days')
  deps.wakeEvents()
}

/** A test is not repeated by itself, and a webhook that is disabled is told of nothing. */
function isFinal(held: HeldWebhookDelivery, error: WebhookError | null): boolean {
  return error === null || error === 'webhook_disabled' || held.event_kind === 'webhook.test'
}

function statusOf(error: WebhookError | null, nextAtMs: number | null): WebhookDeliveryStatus {
  if (error === null) return 'succeeded'
  return nextAtMs === null ? 'failed' : 'pending'
}

function tell(
  { log, countWebhookDelivery }: DeliverWebhookDeps,
  held: HeldWebhookDelivery,
  outcome: Omit<WebhookAttempt, 'kind' | 'responseBody'> & { status: WebhookDeliveryStatus },
): void {
  const { status, error, responseStatus, latencyMs } = outcome
  countWebhookDelivery(status === 'pending' ? 'deferred' : status)
  const { lane: webhook, event_id: event, attempts: attempt } = held
  const fields = { webhook, event, attempt, error, responseStatus, latencyMs }
  if (status === 'succeeded') log.debug(fields, 'told a webhook')
  else
    log.info(
      fields,
      status === 'pending' ? 'a webhook failed and will be retried' : 'a webhook failed',
    )
}

/** Of what several webhooks are told, made once: octets kept, and how long. */
export const EVENT_TEXTS_BYTES_MAX = 8 * 1024 * 1024
export const EVENT_TEXT_MS = 10 * SECOND_MS

/** An event as webhooks are told of it. */
export type EventText = {
  /** JSON of the whole envelope. */
  render(told: { readonly deliveredAtMs: number; readonly attempt: number }): string
}

/** In order; events whose message is gone are left out. */
export type ReadEventTexts = (events: readonly LoggedEvent[]) => Promise<EventText[]>

type EventTextDeps = { db: Db; clock: Clock; readEventTexts: ReadEventTexts }

export type FindEventText = (named: {
  accountId: string
  eventId: string
}) => Promise<EventText | null>

/** Null when the event or its message is gone. */
export function findEventTextIn(deps: EventTextDeps): FindEventText {
  return async ({ accountId, eventId }) => {
    const event = await findEvent(deps.db, accountId, eventId)
    const [text] = event === null ? [] : await deps.readEventTexts([event])
    return text ?? null
  }
}

type Kept = { readonly text: Promise<EventText | null>; readonly madeMs: number; bytes: number }

/**
 * The same, kept for EVENT_TEXT_MS: an event that goes to a hundred webhooks is read and made into
 * JSON once, and those under way share it. One that was deleted meanwhile is on its way.
 */
export function openEventTexts(
  deps: EventTextDeps,
  find: FindEventText = findEventTextIn(deps),
): FindEventText {
  /** From the oldest on. */
  const all = new Map<string, Kept>()
  let bytes = 0
  const forget = (key: string, kept: Kept) => {
    if (all.get(key) !== kept) return
    all.delete(key)
    bytes -= kept.bytes
  }
  const tidy = () => {
    const sinceMs = deps.clock.monotonic() - EVENT_TEXT_MS
    for (const [key, kept] of all) {
      if (kept.madeMs > sinceMs && bytes <= EVENT_TEXTS_BYTES_MAX) return
      forget(key, kept)
    }
  }
  return (named) => {
    tidy()
    const key = `${named.accountId} ${named.eventId}`
    const old = all.get(key)
    if (old !== undefined) return old.text
    const made: Kept = { text: find(named), madeMs: deps.clock.monotonic(), bytes: 0 }
    all.set(key, made)
    const weigh = (text: EventText | null) => {
      if (text === null || all.get(key) !== made) return forget(key, made)
      made.bytes = bytesOf(text)
      bytes += made.bytes
      tidy()
    }
    made.text.then(weigh, () => forget(key, made))
    return made.text
  }
}

/** In memory, where a character takes up to two: its bodies, and their JSON. */
function bytesOf(text: EventText): number {
  return 4 * text.render({ deliveredAtMs: 0, attempt: 1 }).length
}
