export {
  claimAttachmentRead,
  endAttachmentRead,
  releaseAttachmentReads,
  renewAttachmentRead,
  storeAttachmentText,
} from './attachment-text-rows.ts'
export { isReadOnArrival } from './read-on-arrival.ts'
