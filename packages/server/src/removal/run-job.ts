// Doing one job: which action stands behind each kind.

import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Job } from '#queue/job-rows.ts'
import type { Lease } from '#queue/lease.ts'
import type { Db } from '#schema/tables.ts'
import { purgeInbox, purgeWebhook } from './purge.ts'

/** Steps after which a job goes back into the queue, so that others have their turn. */
const PURGE_STEPS_PER_RUN = 50

/** Does (a part of) a job; `again` when it has to be run once more at once. */
export async function runJob(
  deps: { db: Db; blobs: BlobStore | null },
  job: Job,
  lease: Lease,
): Promise<'done' | 'again'> {
  switch (job.kind) {
    case 'purge-inbox': {
      const inboxId = String(job.payload.inboxId)
      const isDone = await purgeInbox(deps, { inboxId, stepsMax: PURGE_STEPS_PER_RUN, lease })
      if (!isDone) return 'again'
      if (typeof job.payload.webhookId !== 'string') return 'done'
      return purgeDeliveries(deps, job.payload.webhookId, lease)
    }
    case 'purge-webhook':
      return purgeDeliveries(deps, String(job.payload.webhookId), lease)
    default:
      throw new Error(`No action does jobs of the kind ${job.kind}.`)
  }
}

async function purgeDeliveries(
  deps: { db: Db },
  webhookId: string,
  lease: Lease,
): Promise<'done' | 'again'> {
  const isDone = await purgeWebhook(deps, { webhookId, stepsMax: PURGE_STEPS_PER_RUN, lease })
  return isDone ? 'done' : 'again'
}
