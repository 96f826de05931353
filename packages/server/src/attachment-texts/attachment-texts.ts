export { attachmentTextHandlers } from './attachment-text-handlers.ts'
export { openAttachmentTexts } from './read-attachment-text.ts'
export { openAttachmentReading } from './work-reads.ts'
