export { MESSAGE_PAGE_HEADERS, mailHandlers, presentThread } from './handlers.ts'
export { claimWork, getThread, readThread } from './read-mail.ts'
