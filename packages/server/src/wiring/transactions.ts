// Every transaction: the writer thread of the embedded database gets their names. Imports rows only, so that
// the thread loads no handlers and no libraries.

import {
  changeAccount,
  endSession,
  insertAccount,
  insertKey,
  markKeyRevoked,
  touchKeys,
} from '#accounts/account-rows.ts'
import {
  insertPairing,
  markPairingApproved,
  markPairingDenied,
  takePairing,
} from '#accounts/pairing-rows.ts'
import { changePod, insertPod, removePod } from '#accounts/pod-rows.ts'
import {
  ensureDkimKeys,
  markPublished,
  replaceRetiredKey,
  switchDkimKeys,
} from '#domains/dkim-key-rows.ts'
import { insertDomain, removeDomain, setDomainPod } from '#domains/domain-rows.ts'
import { claimDomainChecks, settleDomain } from '#domains/settle-domain-rows.ts'
import { settleEventOrder } from '#events/event-order-rows.ts'
import { removeQuarantined, storeReleased } from '#inbound/quarantine-rows.ts'
import { storeReceived } from '#inbound/receive-message-rows.ts'
import { insertSenderRule, removeSenderRule } from '#inbound/sender-rule-rows.ts'
import { settleReport } from '#inbound/settle-report-rows.ts'
import { changeInbox, insertInbox, removeInbox } from '#inboxes/change-inbox-rows.ts'
import { countStoredStep, noteQuota } from '#mailbox/stored-bytes-rows.ts'
import { setThreadRead } from '#mailbox/thread-rows.ts'
import { keepThreadSummaries } from '#mailbox/thread-summary-rows.ts'
import { removeCaptured } from '#outbound/captured-message-rows.ts'
import { deliveryQueue } from '#outbound/delivery-claim-rows.ts'
import { insertSend } from '#outbound/send-message-rows.ts'
import { settleDeliveries } from '#outbound/settle-deliveries-rows.ts'
import { deleteSuppression, insertSuppression } from '#outbound/suppression-rows.ts'
import type { AnyTransaction } from '#platform/db/db.ts'
import {
  claimJobs,
  completeJob,
  continueJob,
  enqueueJob,
  releaseLeases,
  renewLease,
  retryJob,
  returnJobs,
} from '#queue/job-rows.ts'
import {
  noteTaskDone,
  releaseTaskLeases,
  returnTaskLeases,
  takeTaskLeases,
} from '#queue/periodic-task-rows.ts'
import { exchangeBudgets, renewBudgetHolder, sweepBudgets } from '#rate-limits/budget-rows.ts'
import { purgeExpiredStep, purgeInboxStep } from '#removal/retention-rows.ts'
import type { Tables } from '#schema/tables.ts'
import { eraseSearchStep, forgetPurgedSearch, indexSearchStep } from '#search/search-index-rows.ts'
import { ensureSecret, replaceSecret } from '#secrets/service-secret-rows.ts'
import { addMailHours } from '#stats/mail-hours-rows.ts'
import {
  dropWebhookDeliveries,
  purgeWebhookStep,
  retryWebhookDelivery,
} from '#webhooks/webhook-delivery-rows.ts'
import {
  addWebhookDeliveries,
  addWebhookTest,
  settleWebhookDelivery,
  webhookQueue,
} from '#webhooks/webhook-queue-rows.ts'
import {
  changeWebhook,
  insertWebhook,
  removeWebhook,
  replaceWebhookSecrets,
} from '#webhooks/webhook-rows.ts'

export const transactions: readonly AnyTransaction<Tables>[] = [
  insertAccount,
  changeAccount,
  insertKey,
  markKeyRevoked,
  touchKeys,
  insertPod,
  changePod,
  removePod,
  insertInbox,
  changeInbox,
  removeInbox,
  insertDomain,
  setDomainPod,
  removeDomain,
  claimDomainChecks,
  settleDomain,
  storeReceived,
  insertSenderRule,
  removeSenderRule,
  storeReleased,
  removeQuarantined,
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
  takeTaskLeases,
  noteTaskDone,
  returnTaskLeases,
  releaseTaskLeases,
  insertSend,
  ...deliveryQueue.transactions,
  settleDeliveries,
  settleReport,
  insertSuppression,
  deleteSuppression,
  removeCaptured,
  settleEventOrder,
  addWebhookDeliveries,
  addWebhookTest,
  ...webhookQueue.transactions,
  settleWebhookDelivery,
  retryWebhookDelivery,
  dropWebhookDeliveries,
  purgeWebhookStep,
  renewBudgetHolder,
  exchangeBudgets,
  sweepBudgets,
  endSession,
  insertPairing,
  markPairingApproved,
  markPairingDenied,
  takePairing,
  addMailHours,
  insertWebhook,
  changeWebhook,
  replaceWebhookSecrets,
  removeWebhook,
]
