export { createInbox } from './create-inbox.ts'
export {
  type Inbox,
  inboxAddressOf,
  type ReachedInbox,
  type Screening,
  tagOf,
} from './inbox.ts'
export { inboxHandlers } from './inbox-handlers.ts'
export { SERVICE_NAME } from './service-names.ts'
