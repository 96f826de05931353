export { releaseAttachmentReads } from './attachment-text-rows.ts'
export { isReadOnArrival } from './read-on-arrival.ts'
