export { transferHandlers } from './handlers.ts'
export { purgeTransfers, transferWork } from './work-transfers.ts'
