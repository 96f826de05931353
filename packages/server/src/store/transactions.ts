// Every write of the service by its name: the table that both engines run.

import type { Db as AnyDb } from '#db/db.ts'
import { createAccount, createKey, revokeKey, touchKeys, updateAccount } from './account.ts'
import { addWebhookDeliveries, addWebhookTest } from './add-webhook-deliveries.ts'
import { clearCaptured } from './captured-message.ts'
import {
  claimDeliveries,
  readyDueDeliveries,
  releaseDeliveries,
  renewDeliveries,
  returnDeliveries,
} from './delivery-claim.ts'
import { settleEventOrder } from './event-order.ts'
import { createInbox, deleteInbox, updateInbox } from './inbox.ts'
import {
  claimJobs,
  completeJob,
  continueJob,
  enqueueJob,
  releaseLeases,
  renewLease,
  retryJob,
  returnJobs,
} from './job.ts'
import { createPod, deletePod, updatePod } from './pod.ts'
import { receiveMessage } from './receive-message.ts'
import { purgeExpiredStep, purgeInboxStep } from './retention.ts'
import { sendMessage } from './send-message.ts'
import { ensureSecret, replaceSecret } from './service-secret.ts'
import { settleDeliveries } from './settle-deliveries.ts'
import { settleWebhookDelivery } from './settle-webhook-delivery.ts'
import { addSuppression, removeSuppression } from './suppression.ts'
import type { Tables } from './tables.ts'
import { setThreadRead } from './thread.ts'
import { createWebhook, deleteWebhook, replaceWebhookSecrets, updateWebhook } from './webhook.ts'
import {
  dropWebhookDeliveries,
  purgeWebhookStep,
  retryWebhookDelivery,
} from './webhook-delivery.ts'
import {
  claimWebhookDeliveries,
  readyDueWebhookDeliveries,
  releaseWebhookDeliveries,
  renewWebhookDeliveries,
  returnWebhookDeliveries,
} from './webhook-queue.ts'

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
  replaceSecret,
  enqueueJob,
  claimJobs,
  renewLease,
  completeJob,
  continueJob,
  retryJob,
  returnJobs,
  releaseLeases,
  sendMessage,
  claimDeliveries,
  renewDeliveries,
  returnDeliveries,
  readyDueDeliveries,
  releaseDeliveries,
  settleDeliveries,
  addSuppression,
  removeSuppression,
  clearCaptured,
  settleEventOrder,
  addWebhookDeliveries,
  addWebhookTest,
  claimWebhookDeliveries,
  renewWebhookDeliveries,
  returnWebhookDeliveries,
  readyDueWebhookDeliveries,
  releaseWebhookDeliveries,
  settleWebhookDelivery,
  retryWebhookDelivery,
  dropWebhookDeliveries,
  purgeWebhookStep,
  createWebhook,
  updateWebhook,
  replaceWebhookSecrets,
  deleteWebhook,
}

type Names = ReadonlySet<keyof typeof transactions>

/** Transactions that remove what must not linger, neither in the database nor in its log. */
const erasing: Names = new Set([
  'deleteInbox',
  'deletePod',
  'purgeInboxStep',
  'purgeExpiredStep',
  'purgeWebhookStep',
  'dropWebhookDeliveries',
  'replaceSecret',
  'deleteWebhook',
])

/** Transactions that go on when the disk is full: those that make room, and what they need for it. */
const essential: Names = new Set([
  ...erasing,
  'revokeKey',
  'claimJobs',
  'renewLease',
  'completeJob',
  'continueJob',
  'retryJob',
  'returnJobs',
  'releaseLeases',
  'claimDeliveries',
  'renewDeliveries',
  'returnDeliveries',
  'readyDueDeliveries',
  'releaseDeliveries',
  'settleDeliveries',
  'claimWebhookDeliveries',
  'renewWebhookDeliveries',
  'returnWebhookDeliveries',
  'readyDueWebhookDeliveries',
  'releaseWebhookDeliveries',
  'settleWebhookDelivery',
  'removeSuppression',
  'clearCaptured',
])

export const TRANSACTION_KINDS: { erasing: ReadonlySet<string>; essential: ReadonlySet<string> } = {
  erasing,
  essential,
}

export type Db = AnyDb<Tables, typeof transactions>
