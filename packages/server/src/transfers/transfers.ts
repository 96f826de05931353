export { transferHandlers } from './transfer-handlers.ts'
export { purgeTransfers, transferWork } from './work-transfers.ts'
