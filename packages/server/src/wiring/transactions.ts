// Every transaction, for the writer thread of the embedded database. It loads the modules that declare them, which
// load no handlers and no libraries.

import '#accounts/accounts-rows.ts'
import '#attachment-texts/attachment-texts-rows.ts'
import '#domains/domains-rows.ts'
import '#drafts/drafts-rows.ts'
import '#erasures/erasures-rows.ts'
import '#events/events-rows.ts'
import '#inbound/inbound-rows.ts'
import '#inboxes/inboxes-rows.ts'
import '#mailbox/mailbox-rows.ts'
import '#outbound/outbound-rows.ts'
import '#policy/policy-rows.ts'
import '#queue/job-rows.ts'
import '#rate-limits/rate-limits-rows.ts'
import '#removal/removal-rows.ts'
import '#reviews/reviews-rows.ts'
import '#schema/unreferenced-blobs.ts'
import '#search/search-rows.ts'
import '#secrets/secrets-rows.ts'
import '#stats/stats-rows.ts'
import '#transfers/transfers-rows.ts'
import '#webhooks/webhooks-rows.ts'
import { declaredTransactions } from '#platform/db/db.ts'
import type { Tables } from '#schema/tables.ts'

export const transactions = declaredTransactions<Tables>()
