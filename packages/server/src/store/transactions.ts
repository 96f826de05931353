// Every write of the service by its name: the table that both engines run.

import type { Db as AnyDb, GroupForm } from '#db/db.ts'
import { createAccount, createKey, revokeKey, touchKeys, updateAccount } from './account.ts'
import { addWebhookDeliveries, addWebhookTest } from './add-webhook-deliveries.ts'
import {
  addBudgetHolder,
  endBudgetHolder,
  exchangeBudgets,
  renewBudgetHolder,
  sweepBudgets,
} from './budget.ts'
import { clearCaptured } from './captured-message.ts'
import { createDomain, deleteDomain, scopeDomain } from './change-domain.ts'
import { createInbox, deleteInbox, updateInbox } from './change-inbox.ts'
import { createSenderRule } from './create-sender-rule.ts'
import {
  claimDeliveries,
  readyDueDeliveries,
  releaseDeliveries,
  renewDeliveries,
  returnDeliveries,
} from './delivery-claim.ts'
import { ensureDkimKeys, markPublished, replaceRetiredKey, switchDkimKeys } from './dkim-key.ts'
import { noteDutyDone, releaseDuties, returnDuties, takeDuties } from './duty.ts'
import { endSession } from './ended-session.ts'
import { settleEventOrder } from './event-order.ts'
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
import { addMailHours } from './mail-hours.ts'
import { approvePairing, denyPairing, startPairing, takePairing } from './pairing.ts'
import { createPod, deletePod, updatePod } from './pod.ts'
import { deleteQuarantined } from './quarantine.ts'
import { receiveMessage } from './receive-message.ts'
import { receivingTogether } from './receive-messages.ts'
import { releaseQuarantined } from './release-quarantined.ts'
import { purgeExpiredStep, purgeInboxStep } from './retention.ts'
import { indexSearchStep } from './search-index.ts'
import { eraseSearchStep, forgetPurgedSearch } from './search-removal.ts'
import { sendMessage } from './send-message.ts'
import { deleteSenderRule } from './sender-rule.ts'
import { ensureSecret, replaceSecret } from './service-secret.ts'
import { settleDeliveries } from './settle-deliveries.ts'
import { claimDomainChecks, settleDomain } from './settle-domain.ts'
import { settleReport } from './settle-report.ts'
import { settlingTogether } from './settle-together.ts'
import { settleWebhookDelivery } from './settle-webhook-delivery.ts'
import { countStoredStep, noteQuota } from './stored-bytes.ts'
import { addSuppression, removeSuppression } from './suppression.ts'
import type { Tables } from './tables.ts'
import { setThreadRead } from './thread.ts'
import { keepThreadSummaries } from './thread-summary.ts'
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
  createDomain,
  scopeDomain,
  deleteDomain,
  claimDomainChecks,
  settleDomain,
  receiveMessage,
  createSenderRule,
  deleteSenderRule,
  releaseQuarantined,
  deleteQuarantined,
  setThreadRead,
  keepThreadSummaries,
  countStoredStep,
  noteQuota,
  purgeInboxStep,
  purgeExpiredStep,
  indexSearchStep,
  eraseSearchStep,
  forgetPurgedSearch,
  ensureSecret,
  replaceSecret,
  ensureDkimKeys,
  markPublished,
  switchDkimKeys,
  replaceRetiredKey,
  enqueueJob,
  claimJobs,
  renewLease,
  completeJob,
  continueJob,
  retryJob,
  returnJobs,
  releaseLeases,
  takeDuties,
  noteDutyDone,
  returnDuties,
  releaseDuties,
  sendMessage,
  claimDeliveries,
  renewDeliveries,
  returnDeliveries,
  readyDueDeliveries,
  releaseDeliveries,
  settleDeliveries,
  settleReport,
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
  addBudgetHolder,
  renewBudgetHolder,
  endBudgetHolder,
  exchangeBudgets,
  sweepBudgets,
  endSession,
  startPairing,
  approvePairing,
  denyPairing,
  takePairing,
  addMailHours,
  createWebhook,
  updateWebhook,
  replaceWebhookSecrets,
  deleteWebhook,
}

/** Those that engines whose commits are not grouped by themselves run for several inputs at once. */
export const groupForms: Readonly<Record<string, GroupForm<Tables>>> = {
  receiveMessage: receivingTogether,
  settleDeliveries: settlingTogether,
}

type Names = ReadonlySet<keyof typeof transactions>

/** Transactions that remove what must not linger, neither in the database nor in its log. */
const erasing: Names = new Set([
  'deleteInbox',
  'deletePod',
  'deleteDomain',
  'purgeInboxStep',
  'purgeExpiredStep',
  'forgetPurgedSearch',
  'deleteQuarantined',
  'purgeWebhookStep',
  'dropWebhookDeliveries',
  'replaceSecret',
  'replaceRetiredKey',
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
  'deleteSenderRule',
  'clearCaptured',
])

export const TRANSACTION_KINDS: { erasing: ReadonlySet<string>; essential: ReadonlySet<string> } = {
  erasing,
  essential,
}

export type Db = AnyDb<Tables, typeof transactions>
