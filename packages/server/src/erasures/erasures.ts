export { erasureHandlers } from './erasure-handlers.ts'
export { workErasures } from './run-erasure.ts'
