export { createInbox } from './create-inbox.ts'
export {
  type Inbox,
  inboxAddressOf,
  type ReachedInbox,
  type Screening,
  tagOf,
} from './inbox.ts'
export { inboxHandlers } from './inbox-handlers.ts'
