export { type Authenticator, openAuthenticator } from './authenticate/authenticator.ts'
export { type AcceptedRecipient, findRecipient, type Recipient } from './find-recipient.ts'
export { type CountedReport, findAtReturnPath } from './find-reported.ts'
export {
  type FromIntakeThread,
  type IntakeThreadData,
  IntakeThreads,
  type MailListener,
  type ToIntakeThread,
} from './intake-threads.ts'
export { quarantineHandlers } from './quarantine.ts'
export {
  type Loop,
  type ReceiveDeps,
  receiveMail,
  refusalReply,
} from './receive-mail.ts'
export {
  contentOf,
  keyOfBytes,
  mentionsOf,
  parentKeysOf,
  type ReadsFiles,
} from './received-content.ts'
export { makeReceiver, outcomeCounter } from './receiver.ts'
export { openMailScanner } from './scan/mail-scanner.ts'
