export { checkCount, noThread } from './compose-send.ts'
export { readInvite } from './invite-to-send.ts'
export { limitHandlers } from './limit-handlers.ts'
export { approveHeld, sendWork } from './release-send.ts'
export {
  messageOf,
  presentSent,
  readExtraHeaders,
  readSendAt,
  sendHandlers,
} from './send-handlers.ts'
export { checkReplyTo, checkSendAt, findReplay, sendMessage } from './send-message.ts'
export { type SendDeps, sentRaw } from './sender.ts'
export { suppressionHandlers } from './suppressions.ts'
export { unsubscribeHandlers } from './unsubscribe.ts'
