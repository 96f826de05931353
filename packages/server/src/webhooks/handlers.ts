import type {
  UpdateWebhook as UpdateWebhookShape,
  WebhookAttempt as WebhookAttemptShape,
  WebhookDelivery as WebhookDeliveryShape,
  Webhook as WebhookShape,
} from '@mailroom/contract/webhooks.ts'
import { SHOWN_REQUEST_BYTES_MAX } from '@mailroom/contract/webhooks.ts'
import type { CheckFilter, EventKind } from '#events/model.ts'
import { findEvent } from '#events/store/events.ts'
import type { Handlers } from '#http/handler.ts'
import type { Chance } from '#platform/chance.ts'
import { presentTime } from '#platform/clock.ts'
import { notFound } from '#platform/problem.ts'
import { webhooks } from '#store/nouns.ts'
import type { Row } from '#store/tables.ts'
import {
  findWebhookDelivery,
  findWebhookFailures,
  listWebhookAttempts,
  listWebhookDeliveries,
  type WebhookDelivery,
} from '#webhooks/store/deliveries.ts'
import { listWebhooks } from '#webhooks/store/webhooks.ts'
import {
  createWebhook,
  deleteWebhook,
  type FindInbox,
  getWebhook,
  getWebhookOfInbox,
  retryDelivery,
  rotateSecret,
  updateWebhook,
} from './change-webhooks.ts'
import type { Webhook, WebhookDeliveryStatus, WebhookError, WebhookFailure } from './model.ts'
import { type TestDeps, testWebhook } from './test-webhook.ts'

type HandlerDeps = TestDeps & {
  chance: Chance
  checkFilter: CheckFilter
  findInbox: FindInbox
  wakeWebhooks: () => void
  wakeWorker: () => void
}

type WebhookHandlers = Pick<
  Handlers,
  | Extract<keyof Handlers, `webhooks.${string}`>
  | 'inboxes.rotateWebhookSecret'
  | 'inboxes.testWebhook'
>

export function webhookHandlers(deps: HandlerDeps): WebhookHandlers {
  return {
    'webhooks.create': async ({ body }, { accountId }) => {
      const asked = { accountId, ...DEFAULTS, ...changeOf(body), url: body.url }
      const { webhook, secret } = await createWebhook(deps, asked)
      return { ...presentWebhook(webhook), secret }
    },
    'webhooks.list': async ({ query }, { accountId }) => {
      const { webhooks: found, total } = await listWebhooks(deps.db, { accountId, ...query })
      return { data: await presentAll(deps, found), total }
    },
    'webhooks.get': async ({ path }, { accountId }) =>
      presentOne(deps, await getWebhook(deps, { accountId, webhookId: path.id })),
    'webhooks.update': async ({ path, body }, { accountId }) => {
      const change = { accountId, webhookId: path.id, ...changeOf(body) }
      return presentOne(deps, await updateWebhook(deps, change))
    },
    'webhooks.delete': async ({ path }, { accountId }) => {
      await deleteWebhook(deps, { accountId, webhookId: path.id })
    },

    'webhooks.rotateSecret': async ({ path }, { accountId }) => {
      const { webhook, secret } = await rotateSecret(deps, { accountId, webhookId: path.id })
      return { ...(await presentOne(deps, webhook)), secret }
    },
    'webhooks.test': async ({ path }, { accountId }) => {
      const { message, delivery } = await testWebhook(deps, { accountId, webhookId: path.id })
      return { ok: true, message, delivery: presentDelivery(delivery) }
    },
    'webhooks.deliveries': async ({ path, query }, { accountId }) => {
      const page = { accountId, webhookId: path.id, ...query }
      await getWebhook(deps, page)
      const { deliveries, total } = await listWebhookDeliveries(deps.db, page)
      return { data: deliveries.map(presentDelivery), total }
    },
    'webhooks.getDelivery': async ({ path }, { accountId, takeSlot }) => {
      const { id: webhookId, deliveryId } = path
      await getWebhook(deps, { accountId, webhookId })
      const delivery = await findWebhookDelivery(deps.db, { accountId, webhookId, deliveryId })
      if (delivery === null) throw notFound()
      const attempts = await listWebhookAttempts(deps.db, deliveryId)
      await takeSlot()
      const requestBody = await renderBody(deps, delivery)
      const history = attempts.map(presentAttempt)
      return { ...presentDelivery(delivery), requestBody, history }
    },
    'webhooks.retryDelivery': async ({ path }, { accountId }) => {
      const { id: webhookId, deliveryId } = path
      return presentDelivery(await retryDelivery(deps, { accountId, webhookId, deliveryId }))
    },

    'inboxes.rotateWebhookSecret': async ({ path }, { accountId }) => {
      const { id: webhookId } = await getWebhookOfInbox(deps, { accountId, inboxId: path.id })
      const { secret } = await rotateSecret(deps, { accountId, webhookId })
      return { webhookSecret: secret }
    },
    'inboxes.testWebhook': async ({ path }, { accountId }) => {
      const { id: webhookId } = await getWebhookOfInbox(deps, { accountId, inboxId: path.id })
      const { message } = await testWebhook(deps, { accountId, webhookId })
      return { ok: true, message }
    },
  }
}

const DEFAULTS = {
  isEnabled: true,
  kinds: [],
  podIds: [],
  inboxIds: [],
  categories: [],
  headers: {},
}

function changeOf(change: UpdateWebhookShape) {
  const { url, enabled, eventTypes, podIds, inboxIds, categories, headers } = change
  return {
    ...(url !== undefined && { url }),
    ...(enabled !== undefined && { isEnabled: enabled }),
    ...(eventTypes !== undefined && { kinds: eventTypes ?? [] }),
    ...(podIds !== undefined && { podIds: podIds ?? [] }),
    ...(inboxIds !== undefined && { inboxIds: inboxIds ?? [] }),
    ...(categories !== undefined && { categories: categories ?? [] }),
    ...(headers !== undefined && { headers: headers ?? {} }),
  }
}

async function presentOne(deps: HandlerDeps, webhook: Webhook): Promise<WebhookShape> {
  const failures = await findWebhookFailures(deps.db, [webhook])
  return presentWebhook(webhook, failures.get(webhook.id))
}

async function presentAll(deps: HandlerDeps, all: readonly Webhook[]): Promise<WebhookShape[]> {
  const failures = await findWebhookFailures(deps.db, all)
  return all.map((webhook) => presentWebhook(webhook, failures.get(webhook.id)))
}

/** A new webhook has no `failure`. */
function presentWebhook(webhook: Webhook, failure?: WebhookFailure): WebhookShape {
  const { kinds, isEnabled, failingSinceMs, headers, ...shown } = webhooks.present(webhook)
  return {
    ...shown,
    eventTypes: [...kinds] as WebhookShape['eventTypes'],
    podIds: [...shown.podIds],
    inboxIds: [...shown.inboxIds],
    categories: [...shown.categories],
    enabled: isEnabled,
    headerNames: headers.map(({ name }) => name),
    failingSince: presentTimeOrNull(failingSinceMs),
    lastError: failure?.error ?? null,
    lastResponseStatus: failure?.responseStatus ?? null,
    lastFailureAt: presentTimeOrNull(failure?.lastFailureAtMs ?? null),
    consecutiveFailures: failure?.failures ?? 0,
    nextAttemptAt: presentTimeOrNull(isEnabled ? (failure?.nextAttemptAtMs ?? null) : null),
  }
}

function presentDelivery(delivery: WebhookDelivery): WebhookDeliveryShape {
  return {
    id: delivery.id,
    eventId: delivery.event_id,
    eventType: delivery.event_kind as EventKind,
    status: delivery.status as WebhookDeliveryStatus,
    attempts: delivery.attempts,
    lastAttemptAt: presentTimeOrNull(delivery.last_attempt_at),
    nextAttemptAt: presentTimeOrNull(delivery.next_attempt_at),
    responseStatus: delivery.response_status,
    responseBody: delivery.response_body,
    latencyMs: delivery.latency_ms,
    error: delivery.error as WebhookError | null,
  }
}

function presentAttempt(attempt: Row<'webhook_attempts'>): WebhookAttemptShape {
  const { request_headers: headers } = attempt
  return {
    number: attempt.number,
    attemptedAt: presentTime(attempt.attempted_at),
    requestUrl: attempt.request_url,
    requestHeaders: headers === null ? null : (JSON.parse(headers) as Record<string, string>),
    responseStatus: attempt.response_status,
    responseBody: attempt.response_body,
    latencyMs: attempt.latency_ms,
    error: attempt.error as WebhookError | null,
  }
}

/** No copy of deleted mail is stored, so the result is null if the event or its message is gone. */
async function renderBody(
  { db, clock, readEventTexts }: HandlerDeps,
  { account_id, event_id, attempts, last_attempt_at }: WebhookDelivery,
): Promise<string | null> {
  const event = await findEvent(db, account_id, event_id)
  const [text] = event === null ? [] : await readEventTexts([event])
  const deliveredAtMs = last_attempt_at ?? clock.now()
  const body = text?.render({ deliveredAtMs, attempt: Math.max(1, attempts) })
  return body === undefined ? null : firstOctets(body)
}

function firstOctets(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= SHOWN_REQUEST_BYTES_MAX) return text
  // Drops a character that is cut in the middle.
  return new TextDecoder().decode(bytes.subarray(0, SHOWN_REQUEST_BYTES_MAX), { stream: true })
}

function presentTimeOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : presentTime(timeMs)
}
