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
      'Median time from release to delivery, within ten percent; null without sent messages. A message is released when it is accepted, due or approved, whichever is last.',
    ),
    latencyMsP95: nullableCount('The 95th percentile of the time from release to delivery.'),
  },
  { description: 'An interval.' },
)

export const Stats = Type.Object(
  {
    range: oneOf(statsRanges, 'The range of the statistics.'),
    bucketSeconds: count('The length of each interval.'),
    buckets: Type.Array(StatsBucket, {
      description: 'The intervals, oldest first; the last one has not ended.',
    }),
    totals: Type.Object(counts, { description: 'The totals of all intervals.' }),
    inboxes: count('Current number of inboxes of the account.'),
    unreadThreads: count('Current number of unread threads in all inboxes.'),
    storedBytes: count(
      'Bytes currently stored by the account: mail, including quarantined mail, drafts, the text of attachments, and files of exports and imports.',
    ),
    storedBytesLimit: nullableCount(
      'The storage quota in bytes; null without a quota. Once the quota is reached, mail to the account is refused.',
    ),
    asOf: time('The time up to which all mail is counted.'),
  },
  { description: 'Statistics of the account’s mail.' },
)
export type Stats = Static<typeof Stats>

export const statsOperations = {
  'stats.get': {
    method: 'GET',
    path: '/v1/stats',
    tag: 'Account',
    summary: 'Get mail statistics.',
    notes:
      'Messages received, sent and failed, and the duration of sends. Counts are kept per hour for 400 days and lag by a few seconds; asOf is the time up to which they are complete.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      range: Type.Optional(
        oneOf(
          statsRanges,
          'The period: hourly intervals for 24h, three-hour intervals for 7d, daily intervals (UTC) for 30d.',
        ),
      ),
    }),
    success: { status: 200, description: 'The statistics.', schema: Stats },
    errors: [],
  },
} as const satisfies Record<string, Operation>
