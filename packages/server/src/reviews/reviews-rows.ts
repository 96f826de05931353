export { keepReviews, purgeKeptReviews, removeReviews } from './kept-review-rows.ts'

import './review-mail-rows.ts'
