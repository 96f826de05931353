export { claimReviewMail, gatherReviewMail, settleReviewMail } from './review-mail-rows.ts'
