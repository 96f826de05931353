export { transferHandlers } from './transfer-handlers.ts'
export { purgeTransfers, TRANSFERS_AT_ONCE, workTransfers } from './work-transfers.ts'
