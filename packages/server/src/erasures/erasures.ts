export { erasureHandlers } from './handlers.ts'
export { erasureWork } from './run-erasure.ts'
