// Making a webhook.

import type { Deps } from '#actions/deps.ts'
import { WEBHOOKS_PER_ACCOUNT_MAX } from '#base/limits.ts'
import { notFound, problem } from '#model/problem.ts'
import type { Webhook } from '#model/webhook.ts'
import { insertWebhook } from '#store/webhook.ts'
import { makeNewSecret } from './new-secret.ts'
import { requireFilter } from './require-filter.ts'
import { requireWebhookUrl } from './require-url.ts'

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
  deps: Pick<Deps, 'db' | 'clock' | 'chance' | 'makeId' | 'sealer' | 'allowPrivateEgress'>,
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
