// The pages about what may be sent and who decides, in one script that is loaded with the first of them.

import { ApproversPage } from './approvers.tsx'
import { PolicyPage } from './policy.tsx'
import { ReviewPage } from './review.tsx'
import { ReviewsPage } from './reviews.tsx'

export const decisions = { ApproversPage, PolicyPage, ReviewPage, ReviewsPage }
