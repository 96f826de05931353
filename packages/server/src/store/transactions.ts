// Every write of the service by its name: the table that both engines run.

import type { Db as AnyDb } from '#db/db.ts'
import { createAccount, createKey, revokeKey, touchKeys, updateAccount } from './account.ts'
import { createInbox, deleteInbox, updateInbox } from './inbox.ts'
import { claimJobs, completeJob, enqueueJob, releaseLeases, retryJob } from './job.ts'
import { createPod, deletePod, updatePod } from './pod.ts'
import { receiveMessage } from './receive-message.ts'
import { purgeExpiredStep, purgeInboxStep } from './retention.ts'
import { ensureSecret } from './service-secret.ts'
import type { Tables } from './tables.ts'
import { setThreadRead } from './thread.ts'

export const transactions = {
  createAccount,
  updateAccount,
  createKey,
  revokeKey,
  touchKeys,
  createPod,
  updatePod,
  deletePod,
  createInbox,
  updateInbox,
  deleteInbox,
  receiveMessage,
  setThreadRead,
  purgeInboxStep,
  purgeExpiredStep,
  ensureSecret,
  enqueueJob,
  claimJobs,
  completeJob,
  retryJob,
  releaseLeases,
}

/** Transactions that make room on the disk, and may use the reserve for it. */
export const FREEING: ReadonlySet<string> = new Set<keyof typeof transactions>([
  'deleteInbox',
  'deletePod',
  'revokeKey',
  'purgeInboxStep',
  'purgeExpiredStep',
  'claimJobs',
  'completeJob',
  'retryJob',
  'releaseLeases',
])

export type Db = AnyDb<Tables, typeof transactions>
