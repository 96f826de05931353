export {
  type Account,
  activeApprovers,
  changeAccountCounters,
  changeAccountTotal,
  countRules,
  deleteRulesOf,
  findAccount,
  findActiveKeys,
  findEndedSessions,
  findKeyAccount,
  hasPolicy,
  inboxesAllowed,
  listAccounts,
  lockAccount,
  needsApprover,
  payerOfChange,
  readAccountCounters,
  setAccountRetention,
} from './account-rows.ts'
export type { Actor } from './actor.ts'
export {
  findApprover,
  findApproverAccount,
  hasApprover,
  listApprovers,
  listApproversToTell,
  lockApprover,
} from './approver-rows.ts'
export {
  AUDIT_MS,
  type AuditEntry,
  accountEntry,
  insertAudit,
  type NewAuditEntry,
  noteRejection,
  noteReviewEnd,
  purgeAudit,
} from './audit-rows.ts'

import './pairing-rows.ts'

export { changePodTotal, defaultPodRow, findPod, findPodIds, findPodRow } from './pod-rows.ts'
