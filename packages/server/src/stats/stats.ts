export { statsWork } from './count-mail.ts'
export { statsHandlers } from './stats-handlers.ts'
export { usageHandlers } from './usage-handlers.ts'
