// Reading webhooks and what has become of their deliveries.

import { notFound, problem } from '#platform/problem.ts'
import type { Db, Page } from '#schema/tables.ts'
import type { Webhook, WebhookDelivery, WebhookFailure } from './webhook.ts'
import { findWebhookFailures, listWebhookDeliveries } from './webhook-delivery-rows.ts'
import * as store from './webhook-rows.ts'

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
