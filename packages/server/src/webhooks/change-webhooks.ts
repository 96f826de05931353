// Changing and removing webhooks.

import type { EventFilter } from '#events/event.ts'
import type { CheckFilter } from '#events/event-filter.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'
import { getWebhook } from './read-webhooks.ts'
import { requireFilter } from './require-filter.ts'
import { requireWebhookUrl } from './require-url.ts'
import type { Webhook } from './webhook.ts'
import { changeWebhook, removeWebhook } from './webhook-rows.ts'

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
