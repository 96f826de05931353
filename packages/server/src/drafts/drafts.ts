export { draftHandlers } from './draft-handlers.ts'
