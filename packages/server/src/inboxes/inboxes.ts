export { createInbox } from './create-inbox.ts'
export {
  domainOf,
  type Inbox,
  inboxAddressOf,
  type ReachedInbox,
  type Screening,
  tagOf,
  unquote,
} from './inbox.ts'
export { inboxHandlers } from './inbox-handlers.ts'
