export { openMailCounter } from './count-mail.ts'
export { statsHandlers } from './stats-handlers.ts'
