// Removing the deliveries of a deleted webhook, a step at a time.

import type { Deps } from '#actions/deps.ts'
import type { Lease } from '#actions/lease.ts'
import { purgeWebhookStep } from '#store/webhook-delivery.ts'
import { paced } from './paced.ts'

/**
 * Runs up to `stepsMax` steps for as long as the job's lease lets it; true when nothing of the webhook
 * is left. Safe to run again.
 */
export async function purgeWebhook(
  { db }: Pick<Deps, 'db'>,
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
