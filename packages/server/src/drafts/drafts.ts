export { draftHandlers } from './handlers.ts'
