export {
  type Additions,
  additionsTo,
  addMessage,
  type KnownInbox,
} from './add-message.ts'
export {
  findAttachmentText,
  listReadFiles,
  listWholeTexts,
  readAttachedText,
  removeAttachmentTexts,
} from './attachment-text-rows.ts'
export { labelNewMessage, labelNewThread } from './change-thread-rows.ts'
export {
  type ClaimedBatch,
  type ClaimRequest,
  claimOldest,
  claimThread,
  type MadeClaim,
  releaseClaim,
  renewClaim,
} from './claim-rows.ts'
export { filterMessages, filterThreads, findArrivalsOf, type Period } from './filter-mail.ts'
export { insertAdditions } from './insert-additions.ts'
export { hashOfLeaseToken, type Lease, mayChange } from './lease.ts'
export {
  findCopied,
  findMentioning,
  findUnreadFile,
  insertMentions,
  MENTIONS_MS,
  mentionRows,
  noteFileMentions,
  purgeMentions,
  type ReceivedMentions,
} from './mention-rows.ts'
export { kindOfRow } from './message-kind.ts'
export {
  CANCELLED,
  type DeliveryRole,
  type Direction,
  findMessage,
  findMessageHeads,
  findMessagesCut,
  findRemoved,
  hiddenRecipientsOf,
  listMessageHeads,
  type Message,
  type MessageHead,
  readCounters,
} from './message-rows.ts'
export {
  bodiesForRow,
  changeInboxes,
  insertLongBodies,
  longBodyOf,
  NO_CHANGE,
  THREAD_STATE_COLUMNS,
  type ThreadState,
} from './message-statements.ts'
export { dropRawReferences, existingRawIds, findRawMessage } from './raw-message-rows.ts'
export { readFileBytes, readStored } from './stored-bytes-rows.ts'
export { labelMark } from './thread-mark.ts'
export {
  existingThreadIds,
  findCopiedFrom,
  findShownThreads,
  findThread,
  listRecentMessages,
  listThreadIds,
  type RecentMessage,
  type Thread,
} from './thread-rows.ts'
export { sumUp, type ThreadSummary } from './thread-summary-rows.ts'
