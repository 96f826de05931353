export { findPostmasterMessage, listPostmasterMessages } from './postmaster-message-rows.ts'
export {
  purgeQuarantined,
  purgeQuarantinedOf,
  QUARANTINE_MS,
  removeQuarantined,
} from './quarantine-rows.ts'
export { type ImportedArrival, receiveImported } from './receive-message-rows.ts'

import './settle-report-rows.ts'
