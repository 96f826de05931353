export { attachmentTextHandlers } from './attachment-text-handlers.ts'
export { openAttachmentTexts } from './read-attachment-text.ts'
export { attachmentTextWork } from './work-reads.ts'
