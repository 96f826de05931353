export { keepReviews, purgeKeptReviews, removeReviews } from './kept-review-rows.ts'
export { claimReviewMail, gatherReviewMail, settleReviewMail } from './review-mail-rows.ts'
