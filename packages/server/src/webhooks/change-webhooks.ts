import type { AskedFilter, CheckFilter, EventFilter } from '#events/model.ts'
import type { Chance } from '#platform/chance.ts'
import { notFound, problem, wrongField } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'
import {
  findWebhookDelivery,
  retryWebhookDelivery,
  type WebhookDelivery,
} from '#webhooks/store/deliveries.ts'
import {
  changeWebhook,
  findOwnWebhook,
  insertWebhook,
  removeWebhook,
  replaceWebhookSecrets,
  WEBHOOKS_PER_ACCOUNT_MAX,
} from '#webhooks/store/webhooks.ts'
import { requireWebhookUrl, type Webhook } from './model.ts'
import { sealHeaders } from './webhook-headers.ts'
import {
  makeNewSecret,
  makeWebhookSecret,
  sealNewest,
  WEBHOOK_SECRETS_MAX,
} from './webhook-secrets.ts'

export type FindInbox = (accountId: string, inboxId: string) => Promise<object | null>

type Named = { accountId: string; webhookId: string }

export async function getWebhook({ db }: { db: Db }, input: Named): Promise<Webhook> {
  const webhook = await findOwnWebhook(db, input)
  if (webhook === null) throw notFound()
  return webhook
}

/** Throws `not_found` without the inbox, and `no_webhook_url` without a webhook. */
export async function getWebhookOfInbox(
  deps: { db: Db; findInbox: FindInbox },
  input: { accountId: string; inboxId: string },
): Promise<Webhook> {
  const inbox = await deps.findInbox(input.accountId, input.inboxId)
  if (inbox === null) throw notFound()
  const webhook = await findOwnWebhook(deps.db, input)
  if (webhook === null) throw problem('no_webhook_url')
  return webhook
}

/**
 * The secret is only in this result. Errors, in this order: `invalid_webhook_url`, `invalid_pod`,
 * `bad_request` for another account's inbox, `webhook_limit_reached`.
 */
export async function createWebhook(
  deps: Store & {
    chance: Chance
    sealer: Sealer
    allowPrivateEgress: boolean
    checkFilter: CheckFilter
  },
  {
    url,
    isEnabled,
    headers,
    ...asked
  }: AskedFilter & { url: string; isEnabled: boolean; headers: Readonly<Record<string, string>> },
): Promise<{ webhook: Webhook; secret: string }> {
  requireWebhookUrl(deps, url, 'url')
  const { accountId } = asked
  const filter = await requireFilter(deps, asked)
  const { id, secret, sealedSecrets } = makeNewSecret(deps)
  const nowMs = deps.clock.now()
  const sealed = { sealedSecrets, headers: sealHeaders(deps.sealer, id, headers) }
  const made = { ...filter, id, accountId, inboxId: null, url, isEnabled, ...sealed, nowMs }
  const webhook = await deps.db.write(insertWebhook, made)
  if (webhook === 'no_account') throw notFound()
  if (webhook === 'limit_reached') {
    throw problem(
      'webhook_limit_reached',
      `The account has reached the limit of ${WEBHOOKS_PER_ACCOUNT_MAX} webhooks.`,
    )
  }
  return { webhook, secret }
}

/** A list replaces the previous one. An empty list excludes nothing. */
export type UpdateWebhook = Named & {
  url?: string
  kinds?: readonly string[]
  podIds?: readonly string[]
  inboxIds?: readonly string[]
  categories?: readonly string[]
  /** An enabled webhook skips earlier events. */
  isEnabled?: boolean
  headers?: Readonly<Record<string, string>>
}

/** Throws `not_found`, or the errors of `createWebhook`. */
export async function updateWebhook(
  deps: Store & { sealer: Sealer; allowPrivateEgress: boolean; checkFilter: CheckFilter },
  input: UpdateWebhook,
): Promise<Webhook> {
  const { accountId, webhookId, url, isEnabled } = input
  const webhook = await getWebhook(deps, input)
  if (url !== undefined) requireWebhookUrl(deps, url, 'url')
  const headers = input.headers && sealHeaders(deps.sealer, webhookId, input.headers)
  const change = { ...(await changedFilter(deps, webhook, input)), url, isEnabled, headers }
  const nowMs = deps.clock.now()
  const changed = await deps.db.write(changeWebhook, { accountId, webhookId, change, nowMs })
  if (changed === null) throw notFound()
  return changed
}

/** A running attempt may still arrive. A second call throws `not_found`. */
export async function deleteWebhook(
  deps: Store & { wakeWorker: () => void },
  input: Named,
): Promise<void> {
  const removal = { ...input, nowMs: deps.clock.now() }
  if (!(await deps.db.write(removeWebhook, removal))) throw notFound()
  deps.wakeWorker()
}

async function changedFilter(
  deps: { checkFilter: CheckFilter },
  webhook: Webhook,
  input: UpdateWebhook,
): Promise<Partial<EventFilter>> {
  requirePlace(webhook, input)
  const { kinds = [], podIds = [], inboxIds = [], categories = [] } = input
  const { accountId } = webhook
  const checked = await requireFilter(deps, { accountId, kinds, podIds, inboxIds, categories })
  return {
    ...(input.kinds && { kinds: checked.kinds }),
    ...(input.podIds && { podIds: checked.podIds }),
    ...(input.inboxIds && { inboxIds: checked.inboxIds }),
    ...(input.categories && { categories: checked.categories }),
  }
}

function requirePlace({ inboxId }: Webhook, { podIds = [], inboxIds }: UpdateWebhook): void {
  if (inboxId === null) return
  const isOwn = inboxIds === undefined || (inboxIds.length > 0 && inboxIds.every(isOf(inboxId)))
  const path = podIds.length > 0 ? 'podIds' : isOwn ? null : 'inboxIds'
  if (path === null) return
  const message =
    'cannot be changed, because the webhook belongs to an inbox and delivers only its events'
  throw wrongField(path, message)
}

const isOf = (inboxId: string) => (id: string) => id === inboxId

async function requireFilter(
  deps: { checkFilter: CheckFilter },
  asked: AskedFilter,
): Promise<EventFilter> {
  const test = asked.kinds.indexOf('webhook.test')
  if (test >= 0) {
    const message = 'cannot contain webhook.test, which is always sent to the webhook under test'
    throw wrongField(`${FIELD_NAMES.kinds}[${test}]`, message)
  }
  const checked = await deps.checkFilter(asked)
  if (checked.kind === 'filter') return checked.filter
  const { field, index, message } = checked
  const code = field === 'podIds' ? 'invalid_pod' : 'bad_request'
  throw wrongField(`${FIELD_NAMES[field]}[${index}]`, message, code)
}

const FIELD_NAMES = {
  kinds: 'eventTypes',
  podIds: 'podIds',
  inboxIds: 'inboxIds',
  categories: 'categories',
} as const

/**
 * The secret is only in this result. Concurrent calls all succeed. Throws `rate_limit_exceeded`
 * while WEBHOOK_SECRETS_MAX secrets sign, because receivers may rely on each. Drops secrets that
 * cannot be decrypted.
 */
export async function rotateSecret(
  deps: Store & { chance: Chance; sealer: Sealer },
  input: Named,
): Promise<{ webhook: Webhook; secret: string }> {
  const secret = makeWebhookSecret(deps.chance)
  for (;;) {
    const webhook = await getWebhook(deps, input)
    const nowMs = deps.clock.now()
    const sealed = sealNewest(deps.sealer, webhook, { secret, nowMs })
    if (sealed.kind === 'full') throw tooMany(sealed.untilMs - nowMs)
    const { sealedSecrets, isAlone } = sealed
    const kept = webhook.sealedSecrets
    // This fails only if another call has succeeded, so at least one call always succeeds.
    const isKept = await deps.db.write(replaceWebhookSecrets, { ...input, kept, sealedSecrets })
    if (!isKept) continue
    if (isAlone) {
      const fields = { webhook: webhook.id }
      deps.log.warn(fields, 'webhook secrets that could not be decrypted were dropped')
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

/** Throws `delivery_pending` before the outcome, or `webhook_is_disabled`. */
export async function retryDelivery(
  deps: { db: Db; queueClock: QueueClock; wakeWebhooks: () => void },
  input: Named & { deliveryId: string },
): Promise<WebhookDelivery> {
  await getWebhook(deps, input)
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
