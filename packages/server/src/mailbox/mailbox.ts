export { type Downloads, openDownloads } from './downloads.ts'
export { type Extractions, openExtractions } from './extractions.ts'
export { MESSAGE_PAGE_HEADERS, mailHandlers, presentThread } from './mail-handlers.ts'
export { kindColumns, NOT_SCANNED, type ScanResult } from './message-kind.ts'
export type { MessageContent, NewRows } from './message-statements.ts'
export {
  CUT_READ_LENGTH,
  cutBodies,
  presentAttachments,
  presentListed,
  presentMessage,
  presentReading,
  withParsedTexts,
} from './present-message.ts'
export {
  type FoundAttachment,
  findAttachment,
  readAttachment,
  readRawBytes,
  readReceivedRaw,
} from './read-content.ts'
export { claimWork, getThread, readThread } from './read-mail.ts'
export { openImageFetches, showMessage } from './show-message.ts'
export {
  attachmentUrl,
  isSignatureGood,
  SIGNED_URL_MS,
  signedFileUrl,
  type UrlSigner,
} from './signed-url.ts'
export { openStorageQuota, type StorageQuota } from './storage-quota.ts'
export { isLabel, labelMark } from './thread-mark.ts'
export { digestInSteps, ownBytes, withRawBytes } from './with-raw-bytes.ts'
