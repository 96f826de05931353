export { type AcceptedRecipient, findRecipient, type Recipient } from './find-recipient.ts'
export { type Loop, type ReceiveDeps, receiveMail, refusalReply } from './receive-mail.ts'
export {
  contentOf,
  keyOfBytes,
  mentionsOf,
  parentKeysOf,
  type ReadsFiles,
} from './received-content.ts'
export { makeReceiver, outcomeCounter } from './smtp-receiver.ts'
