export {
  messageOf,
  presentSent,
  readExtraHeaders,
  readRecipients,
  readSendAt,
  sendHandlers,
} from './handlers.ts'
export { limitHandlers } from './limit-handlers.ts'
