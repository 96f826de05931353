export { erasureHandlers } from './erasure-handlers.ts'
export { erasureWork } from './run-erasure.ts'
