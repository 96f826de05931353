// The webhook behind an inbox's `webhookUrl`: one that tells of this inbox alone and goes with it.

import type { Tx } from '#schema/tables.ts'
import { readIn } from '#schema/tables.ts'
import {
  changeWebhook,
  findWebhookOfInbox,
  insertWebhookRow,
  removeWebhook,
} from '#webhooks/webhook-rows.ts'

/** What it is made of, where there is none yet. */
export type InboxWebhook = { id: string; url: string; sealedSecrets: Uint8Array }

type Place = { accountId: string; inboxId: string; nowMs: number }

/** Where there is none; the caller has locked the account. */
export async function addInboxWebhook(
  tx: Tx,
  { accountId, inboxId, nowMs }: Place,
  webhook: InboxWebhook,
): Promise<void> {
  const filter = { kinds: [], podIds: [], inboxIds: [inboxId] }
  await insertWebhookRow(tx, { ...webhook, accountId, inboxId, filter, isEnabled: true, nowMs })
}

/**
 * Makes it, gives it another URL, or removes it (null); true when it was made. One that was disabled
 * goes on, for through the inbox it could not be enabled otherwise. The caller has locked the account.
 */
export async function changeInboxWebhook(
  tx: Tx,
  place: Place & { jobId: string },
  webhook: InboxWebhook | null,
): Promise<boolean> {
  const { accountId, jobId, nowMs } = place
  const kept = await findWebhookOfInbox(readIn(tx), place)
  if (webhook === null) {
    if (kept !== null) await removeWebhook.run(tx, { accountId, webhookId: kept.id, jobId, nowMs })
    return false
  }
  if (kept === null) {
    await addInboxWebhook(tx, place, webhook)
    return true
  }
  const change = { url: webhook.url, isEnabled: true }
  await changeWebhook.run(tx, { accountId, webhookId: kept.id, change, nowMs })
  return false
}
