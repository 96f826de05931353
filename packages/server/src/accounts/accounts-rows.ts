export {
  type Account,
  changeAccount,
  changeAccountCounters,
  changeAccountTotal,
  countSenderRules,
  deleteRulesOf,
  endSession,
  findAccount,
  findActiveKeys,
  findEndedSessions,
  findKeyAccount,
  inboxesAllowed,
  insertAccount,
  insertKey,
  listAccounts,
  lockAccount,
  markKeyRevoked,
  needsApprover,
  readAccountCounters,
  touchKeys,
} from './account-rows.ts'
export {
  findApproverAccount,
  insertApprover,
  listApprovers,
  markApproverDeleted,
} from './approver-rows.ts'
export {
  insertPairing,
  markPairingApproved,
  markPairingDenied,
  takePairing,
} from './pairing-rows.ts'
export {
  changePod,
  changePodTotal,
  defaultPodRow,
  findPod,
  findPodIds,
  findPodRow,
  insertPod,
  removePod,
} from './pod-rows.ts'
