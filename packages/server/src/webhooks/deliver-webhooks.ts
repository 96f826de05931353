// Posts signed events and records the outcomes.

import { SHOWN_BODY_BYTES_MAX } from '@mailroom/contract/messages.ts'
import type { LoggedEvent } from '#events/model.ts'
import { findEvent, isEventShown } from '#events/store/events.ts'
import { Cache } from '#platform/cache.ts'
import type { HttpPost, HttpPostOutcome } from '#platform/egress/http-post.ts'
import { storageErrorKind } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { DispatchedQueue, GroupOutcome } from '#queue/dispatched-queue.ts'
import { WEBHOOK_LEASE_MS } from '#queue/dispatcher-bounds.ts'
import { openLeaseKeeper, retryUntilStored, returnLeases } from '#queue/lease-keeper.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import { nextWebhookAttemptAt, WEBHOOK_WAIT_MS_MAX } from '#queue/retry-schedules.ts'
import type { Store } from '#store/store.ts'
import { dropWebhookDeliveries } from '#webhooks/store/deliveries.ts'
import {
  findEventSizes,
  type HeldWebhookDelivery,
  settleWebhookDelivery,
  webhookQueue,
} from '#webhooks/store/queue.ts'
import { findWebhook } from '#webhooks/store/webhooks.ts'
import {
  checkWebhookUrl,
  type Webhook,
  type WebhookDeliveryStatus,
  type WebhookError,
  type WebhookRequest,
} from './model.ts'
import { openHeaders } from './webhook-headers.ts'
import { openSecrets, signWebhook, withoutSignatures } from './webhook-secrets.ts'

/** `size_bytes` is an estimate of the event's memory. */
type HeldWebhook = HeldWebhookDelivery & { readonly size_bytes: number }

/** `worker` must be unique among all processes. */
export function openWebhookQueue(
  deps: DeliverWebhookDeps,
  worker: string,
): DispatchedQueue<HeldWebhook> {
  const leases = openLeaseKeeper<HeldWebhookDelivery>(deps, {
    queue: webhookQueue,
    worker,
    leaseMs: WEBHOOK_LEASE_MS,
    backoffMaxMs: WEBHOOK_WAIT_MS_MAX,
  })
  const findText = openEventTexts(deps)
  return {
    ...leases,
    async lease(heads) {
      const held = await leases.lease(heads)
      const eventIds = [...new Set(held.map((delivery) => delivery.event_id))]
      // The lease is valid even if this query fails.
      const sizes = await findEventSizes(deps.db, eventIds).catch(() => null)
      return held.map((delivery) => {
        const rawBytes = sizes === null ? EVENT_BYTES_GUESSED_MAX : sizes.get(delivery.event_id)
        return Object.assign(delivery, { size_bytes: guessBytes(rawBytes ?? 0) })
      })
    },
    group: (held) => held.map((delivery) => [delivery]),
    async deliver([held], signal) {
      const fields = { webhook: held.lane, event: held.event_id }
      try {
        const ours = await retryUntilStored(deps, { fields, signal }, () => leases.confirm([held]))
        if (ours.length === 0) {
          // Affects only deliveries that this worker still leases.
          await returnLeases(deps, [held], { leases, fields, signal })
          return 'returned'
        }
        return groupOutcomeOf(await deliverWebhook(deps, held, { worker, signal, findText }))
      } finally {
        leases.drop([held])
      }
    },
  }
}

/** Text, HTML and a reply's new text, each both as a string and as octets. */
const EVENT_BYTES_GUESSED_MAX = 2 * 3 * SHOWN_BODY_BYTES_MAX
const EVENT_BYTES_MIN = 4 * 1024

/** HTML is also converted to text and new text, and other charsets may be denser than UTF-8. */
function guessBytes(rawBytes: number): number {
  return Math.min(EVENT_BYTES_MIN + 6 * rawBytes, EVENT_BYTES_GUESSED_MAX)
}

/** Any complete response shows that the receiver is reachable. */
function groupOutcomeOf(outcome: WebhookOutcome): GroupOutcome {
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

export type DeliverWebhookDeps = Store & {
  queueClock: QueueClock
  readEventTexts: ReadEventTexts
  sealer: Sealer
  allowPrivateEgress: boolean
  postWebhook: HttpPost
  countWebhookDelivery: (status: 'succeeded' | 'deferred' | 'failed') => void
}

/** The field `error` is null after a success. */
type WebhookAttempt = {
  readonly kind: 'attempted'
  readonly request: WebhookRequest | null
  readonly responseStatus: number | null
  readonly responseBody: string | null
  readonly latencyMs: number | null
  readonly error: WebhookError | null
}

/**
 * `returned`: a shutdown came first, so the attempt is repeated. `gone`: nothing is left to post.
 */
type WebhookOutcome = WebhookAttempt | { readonly kind: 'returned' } | { readonly kind: 'gone' }

type Holding = {
  worker: string
  signal: AbortSignal
  findText?: FindEventText
}

/**
 * Rejects only if the outcome cannot be recorded before `signal` aborts; the lease then expires.
 */
export async function deliverWebhook(
  deps: DeliverWebhookDeps,
  held: HeldWebhookDelivery,
  holding: Holding,
): Promise<WebhookOutcome> {
  const { worker, signal } = holding
  const fields = { webhook: held.lane, event: held.event_id }
  const untilStored = <Value>(run: () => Promise<Value>) =>
    retryUntilStored(deps, { fields, signal }, run)
  const ids = [held.id]
  const attemptAtMs = deps.clock.now()
  const outcome = endTest(held, await attempt(deps, held, { ...holding, untilStored }))
  if (outcome.kind === 'gone')
    await untilStored(() => deps.db.write(dropWebhookDeliveries, { ids }))
  else if (outcome.kind === 'returned') await returnOnce(deps, { worker, ids, fields })
  else await untilStored(() => settle(deps, { held, worker, attemptAtMs, outcome }))
  return outcome
}

/** Does not retry during a shutdown. After a failure the lease expires. */
async function returnOnce(
  { db, log }: DeliverWebhookDeps,
  { fields, ...held }: { worker: string; ids: string[]; fields: object },
): Promise<void> {
  try {
    await db.write(webhookQueue.return, held)
  } catch (error) {
    if (storageErrorKind(error) === null) throw error
    log.warn({ error, ...fields }, 'deliveries could not be released; their leases will expire')
  }
}

/** Tests are not retried, because the caller would not see the second attempt. */
function endTest(held: HeldWebhookDelivery, outcome: WebhookOutcome): WebhookOutcome {
  const isCut = outcome.kind === 'returned' && held.event_kind === 'webhook.test'
  return isCut ? unsent('internal_error') : outcome
}

type UntilStored = <Value>(run: () => Promise<Value>) => Promise<Value>

async function attempt(
  deps: DeliverWebhookDeps,
  held: HeldWebhookDelivery,
  { untilStored, signal, findText = findEventTextIn(deps) }: Holding & { untilStored: UntilStored },
): Promise<WebhookOutcome> {
  let request: Request | WebhookOutcome
  try {
    request = await untilStored(() => makeRequest(deps, held, findText))
  } catch (error) {
    if (storageErrorKind(error) !== null) throw error
    // The schedule retries the delivery. A fault of the service is not held against the webhook.
    deps.log.error(
      { error, webhook: held.lane, event: held.event_id },
      'a webhook request could not be built',
    )
    return unsent('internal_error')
  }
  if ('kind' in request) return request
  const { url, own, headers, body } = request
  const hidden = Object.fromEntries(Object.keys(own).map((name) => [name, HIDDEN]))
  const shown = { url, headers: { ...hidden, ...withoutSignatures(headers) } }
  const posted = { url, headers: { ...own, ...headers }, body, signal }
  return hideEchoes(outcomeOf(shown, await deps.postWebhook(posted)), Object.values(own))
}

/** Shown in place of the value of an additional header field. */
const HIDDEN = '***'

/** Some receivers answer with the request, whose values must not be stored. */
function hideEchoes(outcome: WebhookOutcome, values: readonly string[]): WebhookOutcome {
  if (outcome.kind !== 'attempted' || outcome.responseBody === null) return outcome
  const responseBody = values
    .flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])
    .reduce((body, value) => body.replaceAll(value, HIDDEN), outcome.responseBody)
  return { ...outcome, responseBody }
}

type Request = {
  url: string
  /** The additional header fields of the webhook. */
  own: Record<string, string>
  headers: Record<string, string>
  body: string
}

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
  // The setting may have changed since the URL was accepted.
  const mistake = checkWebhookUrl(url, { allowPrivate: deps.allowPrivateEgress })
  if (mistake !== null) return unsent('forbidden_address')
  const body = text.render({ deliveredAtMs: deps.clock.now(), attempt: held.attempts })
  const own = openHeaders(deps.sealer, webhook)
  return { url, own, headers: makeHeaders(deps, { webhook, held, body }), body }
}

const USER_AGENT = 'Mailroom-Webhooks/1'

function makeHeaders(
  { clock, sealer }: DeliverWebhookDeps,
  { webhook, held, body }: { webhook: Webhook; held: HeldWebhookDelivery; body: string },
): Record<string, string> {
  const nowMs = clock.now()
  const secrets = openSecrets(sealer, webhook, nowMs)
  const timestamp = Math.floor(nowMs / 1000)
  return {
    'user-agent': USER_AGENT,
    'content-type': 'application/json',
    ...signWebhook({ id: held.event_id, timestamp, body, secrets }),
  }
}

function unsent(error: WebhookError): WebhookAttempt {
  const nothing = { request: null, responseStatus: null, responseBody: null, latencyMs: null }
  return { kind: 'attempted', ...nothing, error }
}

function outcomeOf(request: WebhookRequest, posted: HttpPostOutcome): WebhookOutcome {
  if (posted.kind === 'failed') {
    if (posted.error === 'cut') return { kind: 'returned' }
    const { status: responseStatus = null, body: responseBody = null } = posted.answer ?? {}
    const { error, latencyMs } = posted
    return { kind: 'attempted', request, responseStatus, responseBody, latencyMs, error }
  }
  const { status, body, latencyMs } = posted
  const error = errorOfStatus(status)
  const answer = { responseStatus: status, responseBody: body, latencyMs }
  return { kind: 'attempted', request, ...answer, error }
}

function errorOfStatus(status: number): WebhookError | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 ? 'redirect' : 'status'
}

async function settle(
  deps: DeliverWebhookDeps,
  input: {
    held: HeldWebhookDelivery
    worker: string
    attemptAtMs: number
    outcome: WebhookAttempt
  },
): Promise<void> {
  const { held, outcome, ...attempt } = input
  const { kind: _, ...answer } = outcome
  const queueMs = deps.queueClock.now()
  const nextAttemptAtMs = isFinal(held, answer.error)
    ? null
    : nextWebhookAttemptAt({ attempts: held.attempts, nowMs: queueMs })
  const status = statusOf(answer.error, nextAttemptAtMs)
  const nowMs = deps.clock.now()
  const { id, account_id: accountId, attempts } = held
  const eventId = deps.makeId('evt')
  const times = { nextAttemptAtMs, nowMs, queueMs }
  const recorded = { ...attempt, id, accountId, attempts, status, ...answer, ...times, eventId }
  const settled = await deps.db.write(settleWebhookDelivery, recorded)
  if (settled === 'lost') return
  report(deps, held, { ...answer, status })
  if (settled !== 'disabled') return
  deps.log.warn({ webhook: held.lane }, 'a webhook was disabled after failing for days')
  deps.wakeEvents()
}

function isFinal(held: HeldWebhookDelivery, error: WebhookError | null): boolean {
  return error === null || error === 'webhook_disabled' || held.event_kind === 'webhook.test'
}

function statusOf(error: WebhookError | null, nextAtMs: number | null): WebhookDeliveryStatus {
  if (error === null) return 'succeeded'
  return nextAtMs === null ? 'failed' : 'pending'
}

function report(
  { log, countWebhookDelivery }: DeliverWebhookDeps,
  held: HeldWebhookDelivery,
  outcome: Pick<WebhookAttempt, 'error' | 'responseStatus' | 'latencyMs'> & {
    status: WebhookDeliveryStatus
  },
): void {
  const { status, error, responseStatus, latencyMs } = outcome
  countWebhookDelivery(status === 'pending' ? 'deferred' : status)
  const { lane: webhook, event_id: event, attempts: attempt } = held
  const fields = { webhook, event, attempt, error, responseStatus, latencyMs }
  if (status === 'succeeded') log.debug(fields, 'a webhook was delivered')
  else if (status === 'pending') log.info(fields, 'a webhook failed and will be retried')
  else log.info(fields, 'a webhook failed')
}

export const EVENT_TEXTS_BYTES_MAX = 8 * 1024 * 1024
export const EVENT_TEXT_MS = 10 * SECOND_MS

export type EventText = {
  /** Renders the complete envelope as JSON. */
  render(attempt: { readonly deliveredAtMs: number; readonly attempt: number }): string
}

/** Preserves the order and omits events whose message is gone. */
type ReadEventTexts = (events: readonly LoggedEvent[]) => Promise<EventText[]>

type EventTextDeps = Store & { readEventTexts: ReadEventTexts }

type NamedEvent = { accountId: string; eventId: string }

type FindEventText = (named: NamedEvent) => Promise<EventText | null>

function findEventTextIn(deps: EventTextDeps): FindEventText {
  return async ({ accountId, eventId }) => {
    const event = await findEvent(deps.db, accountId, eventId)
    const [text] = event === null ? [] : await deps.readEventTexts([event])
    return text ?? null
  }
}

/** A hundred webhooks of an event share one query. Each call checks that the event still exists. */
export function openEventTexts(
  deps: EventTextDeps,
  {
    find = findEventTextIn(deps),
    isShown = ({ accountId, eventId }) => isEventShown(deps.db, accountId, eventId),
  }: { find?: FindEventText; isShown?: (named: NamedEvent) => Promise<boolean> } = {},
): FindEventText {
  const now = () => deps.clock.monotonic()
  const kept = new Cache<Promise<EventText | null>>({ sizeMax: EVENT_TEXTS_BYTES_MAX, now })
  return (named) => {
    const key = `${named.accountId} ${named.eventId}`
    const old = kept.get(key)
    if (old !== null) return isShown(named).then((shown) => (shown ? old : null))
    const made = find(named)
    kept.set(key, made, { ttlMs: EVENT_TEXT_MS, size: 0 })
    const weigh = (text: EventText | null) => {
      const found = kept.find(key)
      if (found?.value !== made) return
      if (text === null) kept.delete(key)
      else kept.set(key, made, { ttlMs: found.leftMs, size: bytesOf(text) })
    }
    made.then(weigh, () => weigh(null))
    return made
  }
}

/** The memory of the bodies and their JSON, at up to two octets per character. */
function bytesOf(text: EventText): number {
  return 4 * text.render({ deliveredAtMs: 0, attempt: 1 }).length
}
