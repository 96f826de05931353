export { findPostmasterMessage, listPostmasterMessages } from './postmaster-message-rows.ts'
export {
  purgeQuarantined,
  purgeQuarantinedOf,
  QUARANTINE_MS,
  removeQuarantined,
  storeReleased,
} from './quarantine-rows.ts'
export {
  type ImportedArrival,
  noteLostAnswer,
  receiveImported,
  storeReceived,
} from './receive-message-rows.ts'
export { settleReport } from './settle-report-rows.ts'
