export { type RawReader, readRawBytes, readReceivedRaw } from '#mailbox/messages/read-content.ts'
export { openDownloads } from './downloads.ts'
export { openAttachmentTexts } from './extract-text.ts'
export {
  attachmentUrl,
  isSignatureGood,
  SIGNED_URL_MS,
  signedFileUrl,
  type UrlSigner,
} from './signed-url.ts'
export { attachmentTextHandlers } from './text-handlers.ts'
export { attachmentTextWork } from './work-extractions.ts'
