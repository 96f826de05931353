// Removing the deliveries of a deleted webhook, a step at a time.

import { paced } from '#platform/paced.ts'
import type { Lease } from '#queue/lease.ts'
import type { Db } from '#schema/tables.ts'
import { purgeWebhookStep } from '#webhooks/webhook-delivery-rows.ts'

/**
 * Runs up to `stepsMax` steps for as long as the job's lease lets it; true when nothing of the webhook
 * is left. Safe to run again.
 */
export async function purgeWebhook(
  { db }: { db: Db },
  input: { webhookId: string; stepsMax: number; lease: Lease },
): Promise<boolean> {
  const { webhookId, stepsMax, lease } = input
  for (let step = 0; step < stepsMax; step++) {
    if (!(await lease.mayGoOn())) return false
    const { isDone } = await paced(() => db.write(purgeWebhookStep, { webhookId }))
    if (isDone) return true
  }
  return false
}
