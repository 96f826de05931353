export { expireReviews } from './decide-review.ts'
export { reviewHandlers } from './review-handlers.ts'
export { reviewLinkHandlers } from './review-link.ts'
export { mailReviews } from './review-mail.ts'
