export { reviewWork } from './decide-review.ts'
export { reviewHandlers } from './handlers.ts'
export { reviewLinkHandlers } from './review-link.ts'
export { reviewMailWork } from './review-mail.ts'
