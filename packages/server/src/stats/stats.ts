export { statsWork } from './count-mail.ts'
export { statsHandlers } from './handlers.ts'
export { usageHandlers } from './usage-handlers.ts'
