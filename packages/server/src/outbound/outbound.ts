export { messageOf, presentSent, readExtraHeaders, readSendAt, sendHandlers } from './handlers.ts'
export { limitHandlers } from './limit-handlers.ts'
