export { createInbox } from './create-inbox.ts'
export { inboxHandlers } from './handlers.ts'
export {
  type Inbox,
  inboxAddressOf,
  type ReachedInbox,
  type Screening,
  tagOf,
} from './model.ts'
export { SERVICE_NAME } from './service-names.ts'
