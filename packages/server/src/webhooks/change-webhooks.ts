// Changing and removing webhooks.

import type { AskedFilter, CheckFilter, EventFilter } from '#events/event.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db, Page } from '#schema/tables.ts'
import type { WebhookDelivery, WebhookFailure } from './webhook.ts'
import { requireWebhookUrl, type Webhook } from './webhook.ts'
import {
  findWebhookDelivery,
  findWebhookFailures,
  listWebhookDeliveries,
  retryWebhookDelivery,
} from './webhook-delivery-rows.ts'
import * as store from './webhook-rows.ts'
import {
  changeWebhook,
  insertWebhook,
  removeWebhook,
  replaceWebhookSecrets,
  WEBHOOKS_PER_ACCOUNT_MAX,
} from './webhook-rows.ts'
import {
  makeNewSecret,
  makeWebhookSecret,
  sealNewest,
  WEBHOOK_SECRETS_MAX,
} from './webhook-secrets.ts'

export type CreateWebhook = {
  accountId: string
  url: string
  /** Empty lists leave nothing out. */
  kinds: readonly string[]
  /** Ids or `clientId`s. */
  podIds: readonly string[]
  inboxIds: readonly string[]
  isEnabled: boolean
}

/**
 * The webhook and, this once, its secret. Refused with `invalid_webhook_url`, `invalid_pod`,
 * `bad_request` for an inbox that is not the account's, or `webhook_limit_reached`, in this order.
 */
export async function createWebhook(
  deps: {
    db: Db
    clock: Clock
    chance: Chance
    makeId: MakeId
    sealer: Sealer
    allowPrivateEgress: boolean
    checkFilter: CheckFilter
  },
  { accountId, url, kinds, podIds, inboxIds, isEnabled }: CreateWebhook,
): Promise<{ webhook: Webhook; secret: string }> {
  requireWebhookUrl(deps, url, 'url')
  const filter = await requireFilter(deps, { accountId, kinds, podIds, inboxIds })
  const { id, secret, sealedSecrets } = makeNewSecret(deps)
  const nowMs = deps.clock.now()
  const webhook = await deps.db.write(insertWebhook, {
    id,
    accountId,
    inboxId: null,
    url,
    filter,
    isEnabled,
    sealedSecrets,
    nowMs,
  })
  if (webhook === 'no_account') throw notFound()
  if (webhook === 'limit_reached') {
    throw problem(
      'webhook_limit_reached',
      `The account has reached the limit of ${WEBHOOKS_PER_ACCOUNT_MAX} webhooks.`,
    )
  }
  return { webhook, secret }
}

export type UpdateWebhook = {
  accountId: string
  webhookId: string
  url?: string
  /** A list that is given replaces the one that was; an empty one leaves nothing out. */
  kinds?: readonly string[]
  podIds?: readonly string[]
  inboxIds?: readonly string[]
  /** Enabled, it is told of what happens from then on. */
  isEnabled?: boolean
}

/** Changes what is given. `not_found`, then refused as when one is made. */
export async function updateWebhook(
  deps: { db: Db; clock: Clock; allowPrivateEgress: boolean; checkFilter: CheckFilter },
  input: UpdateWebhook,
): Promise<Webhook> {
  const { accountId, webhookId, url, isEnabled } = input
  const webhook = await getWebhook(deps, input)
  if (url !== undefined) requireWebhookUrl(deps, url, 'url')
  const filter = await changedFilter(deps, webhook, input)
  const change = {
    filter,
    ...(url !== undefined && { url }),
    ...(isEnabled !== undefined && { isEnabled }),
  }
  const nowMs = deps.clock.now()
  const changed = await deps.db.write(changeWebhook, { accountId, webhookId, change, nowMs })
  if (changed === null) throw notFound()
  return changed
}

/** Removes it at once. What is on its way may still arrive; a second call finds nothing. */
export async function deleteWebhook(
  deps: { db: Db; clock: Clock; makeId: MakeId; wakeWorker: () => void },
  input: { accountId: string; webhookId: string },
): Promise<void> {
  const removal = { ...input, jobId: deps.makeId('job'), nowMs: deps.clock.now() }
  if (!(await deps.db.write(removeWebhook, removal))) throw notFound()
  deps.wakeWorker()
}

/** The lists that are given, checked. */
async function changedFilter(
  deps: { checkFilter: CheckFilter },
  webhook: Webhook,
  input: UpdateWebhook,
): Promise<Partial<EventFilter>> {
  requirePlace(webhook, input)
  const { kinds = [], podIds = [], inboxIds = [] } = input
  const { accountId } = webhook
  const checked = await requireFilter(deps, { accountId, kinds, podIds, inboxIds })
  return {
    ...(input.kinds && { kinds: checked.kinds }),
    ...(input.podIds && { podIds: checked.podIds }),
    ...(input.inboxIds && { inboxIds: checked.inboxIds }),
  }
}

/** That of an inbox tells of its inbox, whatever else is changed. */
function requirePlace({ inboxId }: Webhook, { podIds = [], inboxIds }: UpdateWebhook): void {
  if (inboxId === null) return
  const isIt = (id: string): boolean => id === inboxId
  const message =
    'cannot be changed, because the webhook belongs to an inbox and delivers only its events'
  const tellsOfIt = inboxIds === undefined || (inboxIds.length > 0 && inboxIds.every(isIt))
  const path = podIds.length > 0 ? 'podIds' : tellsOfIt ? null : 'inboxIds'
  if (path === null) return
  throw problem('bad_request', `The field "${path}" ${message}.`, { details: [{ path, message }] })
}

/** Null where the account has no such inbox. */
export type FindInbox = (accountId: string, inboxId: string) => Promise<object | null>

type ReadDeps = { db: Db }
type Named = { accountId: string; webhookId: string }

/** Newest first, those of inboxes among them. */
export function listWebhooks(
  deps: ReadDeps,
  input: { accountId: string } & Page,
): Promise<{ webhooks: Webhook[]; total: number }> {
  return store.listWebhooks(deps.db, input)
}

/** How those that fail do so, by their ids; nothing is looked up for the others. */
export function readFailures(
  deps: ReadDeps,
  { accountId, webhooks }: { accountId: string; webhooks: readonly Webhook[] },
): Promise<Map<string, WebhookFailure>> {
  const failing = webhooks.filter(({ failingSinceMs }) => failingSinceMs !== null)
  return findWebhookFailures(deps.db, { accountId, webhookIds: failing.map(({ id }) => id) })
}

/** `not_found` when the account has no such webhook. */
export async function getWebhook(deps: ReadDeps, input: Named): Promise<Webhook> {
  const webhook = await store.findOwnWebhook(deps.db, input)
  if (webhook === null) throw notFound()
  return webhook
}

/** The one behind an inbox's `webhookUrl`; `not_found` without the inbox, else `no_webhook_url`. */
export async function getWebhookOfInbox(
  deps: ReadDeps & { findInbox: FindInbox },
  input: { accountId: string; inboxId: string },
): Promise<Webhook> {
  const inbox = await deps.findInbox(input.accountId, input.inboxId)
  if (inbox === null) throw notFound()
  const webhook = await store.findWebhookOfInbox(deps.db, input)
  if (webhook === null) throw problem('no_webhook_url')
  return webhook
}

/** Newest first; `total` is counted up to COUNTED_MAX. `not_found` without the webhook. */
export async function listDeliveries(
  deps: ReadDeps,
  input: Named & Page,
): Promise<{ deliveries: WebhookDelivery[]; total: number }> {
  await getWebhook(deps, input)
  return listWebhookDeliveries(deps.db, input)
}

type RotateDeps = { db: Db; clock: Clock; chance: Chance; sealer: Sealer; log: Log }

/**
 * The webhook with the new secret, which is told this once. Of two calls at once both hold.
 * `rate_limit_exceeded`, and nothing is changed, while WEBHOOK_SECRETS_MAX sign: a receiver was promised
 * each of them. Secrets that cannot be opened sign nothing, and are dropped.
 */
export async function rotateSecret(
  deps: RotateDeps,
  input: { accountId: string; webhookId: string },
): Promise<{ webhook: Webhook; secret: string }> {
  const secret = makeWebhookSecret(deps.chance)
  for (;;) {
    const webhook = await getWebhook(deps, input)
    const nowMs = deps.clock.now()
    const sealed = sealNewest(deps.sealer, webhook, { secret, nowMs })
    if (sealed.kind === 'full') throw tooMany(sealed.untilMs - nowMs)
    const { sealedSecrets, isAlone } = sealed
    const kept = webhook.sealedSecrets
    // Where it fails another call has succeeded, so that one of all always gets on.
    const isKept = await deps.db.write(replaceWebhookSecrets, { ...input, kept, sealedSecrets })
    if (!isKept) continue
    if (isAlone) {
      deps.log.warn(
        { webhook: webhook.id },
        'webhook secrets that could not be decrypted were dropped',
      )
    }
    return { webhook, secret }
  }
}

function tooMany(waitMs: number): ReturnType<typeof problem> {
  return problem(
    'rate_limit_exceeded',
    `The webhook has ${WEBHOOK_SECRETS_MAX} active secrets, which is the limit; wait until the oldest expires.`,
    { retryAfterSeconds: Math.ceil(waitMs / 1_000) },
  )
}

/** The same for the one behind an inbox's `webhookUrl`. */
export async function rotateInboxSecret(
  deps: RotateDeps & { findInbox: FindInbox },
  input: { accountId: string; inboxId: string },
): Promise<string> {
  const { id } = await getWebhookOfInbox(deps, input)
  const { secret } = await rotateSecret(deps, { accountId: input.accountId, webhookId: id })
  return secret
}

/**
 * Due at once, whatever it came to; `delivery_pending` while it is under way anyhow, and
 * `webhook_is_disabled` where it would not be posted.
 */
export async function retryDelivery(
  deps: { db: Db; queueClock: QueueClock; wakeWebhooks: () => void },
  input: { accountId: string; webhookId: string; deliveryId: string },
): Promise<WebhookDelivery> {
  const queueMs = deps.queueClock.now()
  const outcome = await deps.db.write(retryWebhookDelivery, { ...input, queueMs })
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'pending') throw problem('delivery_pending')
  if (outcome === 'disabled') throw problem('webhook_is_disabled')
  const delivery = await findWebhookDelivery(deps.db, input)
  deps.wakeWebhooks()
  if (delivery === null) throw notFound()
  return delivery
}

/** `invalid_pod` or `bad_request`, naming the first that is wrong. */
export async function requireFilter(
  deps: { checkFilter: CheckFilter },
  asked: AskedFilter,
): Promise<EventFilter> {
  const test = asked.kinds.indexOf('webhook.test')
  if (test >= 0) {
    const message = 'cannot contain webhook.test, which is always sent to the webhook under test'
    throw refusal('bad_request', `${fieldNames.kinds}[${test}]`, message)
  }
  const checked = await deps.checkFilter(asked)
  if (checked.kind === 'filter') return checked.filter
  const { field, index, message } = checked
  const code = field === 'podIds' ? 'invalid_pod' : 'bad_request'
  throw refusal(code, `${fieldNames[field]}[${index}]`, message)
}

function refusal(code: 'invalid_pod' | 'bad_request', path: string, message: string) {
  return problem(code, `The field "${path}" ${message}.`, { details: [{ path, message }] })
}

const fieldNames = { kinds: 'eventTypes', podIds: 'podIds', inboxIds: 'inboxIds' } as const
