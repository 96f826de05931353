import type { AnyTransaction } from '#db/db.ts'
import { changeAccount, insertAccount, insertKey, markKeyRevoked, touchKeys } from './account.ts'
import { addWebhookDeliveries, addWebhookTest } from './add-webhook-deliveries.ts'
import {
  addBudgetHolder,
  endBudgetHolder,
  exchangeBudgets,
  renewBudgetHolder,
  sweepBudgets,
} from './budget.ts'
import { removeCaptured } from './captured-message.ts'
import { insertDomain, removeDomain, setDomainPod } from './change-domain.ts'
import { changeInbox, insertInbox, removeInbox } from './change-inbox.ts'
import { insertSenderRule } from './create-sender-rule.ts'
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
import { insertPairing, markPairingApproved, markPairingDenied, takePairing } from './pairing.ts'
import { changePod, insertPod, removePod } from './pod.ts'
import { removeQuarantined } from './quarantine.ts'
import { storeReceived } from './receive-messages.ts'
import { storeReleased } from './release-quarantined.ts'
import { purgeExpiredStep, purgeInboxStep } from './retention.ts'
import { indexSearchStep } from './search-index.ts'
import { eraseSearchStep, forgetPurgedSearch } from './search-removal.ts'
import { sendMessage } from './send-message.ts'
import { removeSenderRule } from './sender-rule.ts'
import { ensureSecret, replaceSecret } from './service-secret.ts'
import { claimDomainChecks, settleDomain } from './settle-domain.ts'
import { settleReport } from './settle-report.ts'
import { settleDeliveries } from './settle-together.ts'
import { settleWebhookDelivery } from './settle-webhook-delivery.ts'
import { countStoredStep, noteQuota } from './stored-bytes.ts'
import { deleteSuppression, insertSuppression } from './suppression.ts'
import type { Tables } from './tables.ts'
import { setThreadRead } from './thread.ts'
import { keepThreadSummaries } from './thread-summary.ts'
import { changeWebhook, insertWebhook, removeWebhook, replaceWebhookSecrets } from './webhook.ts'
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

/** All of them, for the writer thread of the embedded database, which is told names. */
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
  insertSuppression,
  deleteSuppression,
  removeCaptured,
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
