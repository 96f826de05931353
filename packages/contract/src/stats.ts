// Statistics of the mail of an account.

import type { Operation } from './operation.ts'
import { type Static, Type } from './schema.ts'
import { count, nullableCount, oneOf, time } from './text.ts'
import { statsRanges } from './vocabulary.ts'

const counts = {
  received: count('Messages that arrived.'),
  sent: count('Messages accepted by the servers of all recipients.'),
  failed: count('Messages that failed for at least one recipient, including later bounces.'),
}

const StatsBucket = Type.Object(
  {
    at: time('When the interval begins.'),
    ...counts,
    latencyMsP50: nullableCount(
      'Median time from acceptance to sent, within ten percent; null without sent messages.',
    ),
    latencyMsP95: nullableCount('The 95th percentile of the same time.'),
  },
  { description: 'An interval.' },
)

export const Stats = Type.Object(
  {
    range: oneOf(statsRanges, 'The range of the figures.'),
    bucketSeconds: count('The length of each interval.'),
    buckets: Type.Array(StatsBucket, {
      description: 'Oldest first; the last interval is still open.',
    }),
    totals: Type.Object(counts, { description: 'The sums over all intervals.' }),
    inboxes: count('Inboxes of the account now.'),
    unreadThreads: count('Unread threads in them now.'),
    storedBytes: count(
      'Bytes that the account stores now: mail, including quarantined mail, drafts, the text of attachments, and files of exports and imports.',
    ),
    storedBytesLimit: nullableCount(
      'The storage quota in bytes. Mail to the account is refused while it is reached; null without a quota.',
    ),
    asOf: time('Everything up to this time is counted.'),
  },
  { description: 'Figures of the account’s mail.' },
)
export type Stats = Static<typeof Stats>

export const statsOperations = {
  'stats.get': {
    method: 'GET',
    path: '/v1/stats',
    tag: 'Account',
    summary: 'Get mail statistics.',
    notes:
      'Messages received, sent and failed, and how long sends took. Counts are kept per hour for 400 days and lag by a few seconds; asOf says up to when.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      range: Type.Optional(
        oneOf(statsRanges, 'Figures by hour for 24h, by three hours for 7d, by day (UTC) for 30d.'),
      ),
    }),
    success: { status: 200, description: 'The figures.', schema: Stats },
    errors: [],
  },
} as const satisfies Record<string, Operation>
