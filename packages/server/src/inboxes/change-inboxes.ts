import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import { notFound } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Db } from '#schema/tables.ts'
import { requireWebhookUrl } from '#webhooks/webhook.ts'
import { makeNewSecret } from '#webhooks/webhook-secrets.ts'
import { changeInbox } from './change-inbox-rows.ts'
import type { ChangedInbox } from './create-inbox.ts'
import { getInbox } from './read-inboxes.ts'

export type UpdateInbox = {
  accountId: string
  inboxId: string
  /** null clears it. */
  displayName?: string | null
  /** null removes it; another one keeps the secret. */
  webhookUrl?: string | null
}

/** Changes what is given. `invalid_webhook_url`, `not_found`. */
export async function updateInbox(
  deps: {
    db: Db
    clock: Clock
    chance: Chance
    makeId: MakeId
    sealer: Sealer
    allowPrivateEgress: boolean
    wakeWorker: () => void
  },
  { webhookUrl, ...input }: UpdateInbox,
): Promise<ChangedInbox> {
  const common = { ...input, jobId: deps.makeId('job'), nowMs: deps.clock.now() }
  if (webhookUrl === undefined || webhookUrl === null) {
    const webhook = webhookUrl === null ? { webhook: null } : {}
    const changed = await deps.db.write(changeInbox, { ...common, ...webhook })
    if (changed === null) throw notFound()
    if (webhookUrl === null) deps.wakeWorker()
    return { inbox: changed.inbox, webhookSecret: null }
  }
  // An inbox that is not there is told before what is wrong with its webhook.
  await getInbox(deps, input)
  requireWebhookUrl(deps, webhookUrl, 'webhookUrl')
  const { id, secret, sealedSecrets } = makeNewSecret(deps)
  const webhook = { id, url: webhookUrl, sealedSecrets }
  const changed = await deps.db.write(changeInbox, { ...common, webhook })
  if (changed === null) throw notFound()
  return { inbox: changed.inbox, webhookSecret: changed.isWebhookNew ? secret : null }
}
