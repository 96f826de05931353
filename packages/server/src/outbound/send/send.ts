export { checkCount, noThread } from './compose-send.ts'
export { readInvite } from './invite-to-send.ts'
export { checkReplyTo, checkSendAt, findReplay, sendMessage } from './send-message.ts'
export { type SendDeps, sentRaw } from './sender.ts'
