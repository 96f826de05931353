// Making a webhook.

import type { CheckFilter } from '#events/event-filter.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Db } from '#schema/tables.ts'
import { makeNewSecret } from './new-secret.ts'
import { requireFilter } from './require-filter.ts'
import { requireWebhookUrl } from './require-url.ts'
import type { Webhook } from './webhook.ts'
import { insertWebhook, WEBHOOKS_PER_ACCOUNT_MAX } from './webhook-rows.ts'

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
