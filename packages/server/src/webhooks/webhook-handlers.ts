// Handlers of webhooks, those of inboxes included.

import type {
  UpdateWebhook as UpdateWebhookShape,
  WebhookDelivery as WebhookDeliveryShape,
  Webhook as WebhookShape,
} from '@mailroom/contract/shapes/webhook.ts'
import type { CheckFilter } from '#events/event.ts'
import type { Handlers } from '#http/handler.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import { presentTime } from '#platform/clock.ts'
import type { HttpPost } from '#platform/egress/http-post.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Sealer } from '#platform/seal.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import {
  createWebhook,
  deleteWebhook,
  type FindInbox,
  getWebhook,
  listDeliveries,
  listWebhooks,
  readFailures,
  retryDelivery,
  rotateInboxSecret,
  rotateSecret,
  updateWebhook,
} from './change-webhooks.ts'
import type { ReadEventTexts } from './deliver-webhooks.ts'
import { testInboxWebhook, testWebhook, type WebhookTests } from './test-webhook.ts'
import type { Webhook, WebhookDelivery, WebhookFailure } from './webhook.ts'

/** What the functions below work with. */
type Needs = {
  db: Db
  clock: Clock
  chance: Chance
  makeId: MakeId
  log: Log
  readEventTexts: ReadEventTexts
  checkFilter: CheckFilter
  findInbox: FindInbox
  sealer: Sealer
  allowPrivateEgress: boolean
  queueClock: QueueClock
  wakeEvents: () => void
  postWebhook: HttpPost
  countWebhookDelivery: (status: 'succeeded' | 'deferred' | 'failed') => void
  webhookTests: WebhookTests
  wakeWebhooks: () => void
  wakeWorker: () => void
}

type WebhookHandlers = Pick<
  Handlers,
  | Extract<keyof Handlers, `webhooks.${string}`>
  | 'inboxes.rotateWebhookSecret'
  | 'inboxes.testWebhook'
>

/** One handler for each operation on webhooks. */
export function webhookHandlers(deps: Needs): WebhookHandlers {
  return {
    'webhooks.create': async ({ body }, { accountId }) => {
      const { url, enabled: isEnabled = true, eventTypes, podIds, inboxIds } = body
      const { webhook, secret } = await createWebhook(deps, {
        accountId,
        url,
        kinds: eventTypes ?? [],
        podIds: podIds ?? [],
        inboxIds: inboxIds ?? [],
        isEnabled,
      })
      return { ...presentWebhook(webhook), secret }
    },
    'webhooks.list': async ({ query }, { accountId }) => {
      const { webhooks, total } = await listWebhooks(deps, { accountId, ...query })
      const failures = await readFailures(deps, { accountId, webhooks })
      return { data: webhooks.map((one) => presentWebhook(one, failures.get(one.id))), total }
    },
    'webhooks.get': async ({ path }, { accountId }) =>
      presentWithFailure(deps, await getWebhook(deps, { accountId, webhookId: path.id })),
    'webhooks.update': async ({ path, body }, { accountId }) => {
      const change = { accountId, webhookId: path.id, ...changeOf(body) }
      return presentWithFailure(deps, await updateWebhook(deps, change))
    },
    'webhooks.delete': async ({ path }, { accountId }) => {
      await deleteWebhook(deps, { accountId, webhookId: path.id })
    },

    'webhooks.rotateSecret': async ({ path }, { accountId }) => {
      const { webhook, secret } = await rotateSecret(deps, { accountId, webhookId: path.id })
      return { ...(await presentWithFailure(deps, webhook)), secret }
    },
    'webhooks.test': async ({ path }, { accountId }) => {
      const { message, delivery } = await testWebhook(deps, { accountId, webhookId: path.id })
      return { ok: true, message, delivery: presentWebhookDelivery(delivery) }
    },
    'webhooks.deliveries': async ({ path, query }, { accountId }) => {
      const page = { accountId, webhookId: path.id, ...query }
      const { deliveries, total } = await listDeliveries(deps, page)
      return { data: deliveries.map(presentWebhookDelivery), total }
    },
    'webhooks.retryDelivery': async ({ path }, { accountId }) => {
      const { id: webhookId, deliveryId } = path
      return presentWebhookDelivery(await retryDelivery(deps, { accountId, webhookId, deliveryId }))
    },

    'inboxes.rotateWebhookSecret': async ({ path }, { accountId }) => ({
      webhookSecret: await rotateInboxSecret(deps, { accountId, inboxId: path.id }),
    }),
    'inboxes.testWebhook': async ({ path }, { accountId }) => {
      const { message } = await testInboxWebhook(deps, { accountId, inboxId: path.id })
      return { ok: true, message }
    },
  }
}

async function presentWithFailure(deps: Needs, webhook: Webhook) {
  const { accountId, id } = webhook
  const failures = await readFailures(deps, { accountId, webhooks: [webhook] })
  return presentWebhook(webhook, failures.get(id))
}

/** What is given; null for a list stands for an empty one. */
function changeOf({ url, enabled, eventTypes, podIds, inboxIds }: UpdateWebhookShape) {
  return {
    ...(url !== undefined && { url }),
    ...(enabled !== undefined && { isEnabled: enabled }),
    ...(eventTypes !== undefined && { kinds: eventTypes ?? [] }),
    ...(podIds !== undefined && { podIds: podIds ?? [] }),
    ...(inboxIds !== undefined && { inboxIds: inboxIds ?? [] }),
  }
}

/** Without its secret. A webhook that was just created has no failures. */
export function presentWebhook(webhook: Webhook, failure?: WebhookFailure): WebhookShape {
  const { id, url, filter, isEnabled, disabledReason, disabledAtMs, inboxId, createdAtMs } = webhook
  return {
    id,
    url,
    eventTypes: [...filter.kinds],
    podIds: [...filter.podIds],
    inboxIds: [...filter.inboxIds],
    enabled: isEnabled,
    disabledReason,
    disabledAt: presentTimeOrNull(disabledAtMs),
    failingSince: presentTimeOrNull(webhook.failingSinceMs),
    lastError: failure?.error ?? null,
    lastResponseStatus: failure?.responseStatus ?? null,
    nextAttemptAt: presentTimeOrNull(isEnabled ? (failure?.nextAttemptAtMs ?? null) : null),
    inboxId,
    createdAt: presentTime(createdAtMs),
  }
}

/** One event on its way to one webhook. */
export function presentWebhookDelivery(delivery: WebhookDelivery): WebhookDeliveryShape {
  const { id, eventId, eventKind, status, attempts, responseStatus, responseBody } = delivery
  return {
    id,
    eventId,
    eventType: eventKind,
    status,
    attempts,
    lastAttemptAt: presentTimeOrNull(delivery.lastAttemptAtMs),
    nextAttemptAt: presentTimeOrNull(delivery.nextAttemptAtMs),
    responseStatus,
    responseBody,
    latencyMs: delivery.latencyMs,
    error: delivery.error,
  }
}

function presentTimeOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : presentTime(timeMs)
}
