export { expireInbox, findExpired, RELEASED_ADDRESS_MS, removeInbox } from './change-inbox-rows.ts'
export { inboxAddressOf } from './inbox.ts'
export {
  findInbox,
  findInboxByAddress,
  findInboxIds,
  findOwnInbox,
  findReachedInbox,
  listInboxIds,
  retentionOf,
} from './inbox-rows.ts'
export {
  changedMetadata,
  type MetadataChange,
  metadataMarks,
  metadataOf,
} from './metadata.ts'
