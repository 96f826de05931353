// Figures of an account's mail over time.

import { type Static, Type } from '#schema.ts'
import { statsRanges } from '#vocabulary.ts'
import { count, nullableCount, oneOf, time } from './text.ts'

const counts = {
  received: count('Messages that arrived.'),
  sent: count('Messages accepted by the servers of all recipients.'),
  failed: count('Messages that failed for at least one recipient, including later bounces.'),
}

const StatsBucket = Type.Object(
  {
    at: time('When it begins.'),
    ...counts,
    latencyMsP50: nullableCount(
      'Median time from acceptance to sent, within ten percent; null without sent messages.',
    ),
    latencyMsP95: nullableCount('The 95th percentile of the same time.'),
  },
  { description: 'A stretch of time.' },
)

export const Stats = Type.Object(
  {
    range: oneOf(statsRanges, 'How far back.'),
    bucketSeconds: count('The length of each interval.'),
    buckets: Type.Array(StatsBucket, {
      description: 'Oldest first; the last interval is still open.',
    }),
    totals: Type.Object(counts, { description: 'Over all of them.' }),
    inboxes: count('Inboxes of the account now.'),
    unreadThreads: count('Unread threads in them now.'),
    storedBytes: count(
      'Octets of the messages stored in them now, as they came, with what is in quarantine.',
    ),
    storedBytesLimit: nullableCount(
      'While as much is stored, mail to the account is refused; null where there is no quota.',
    ),
    asOf: time('Everything up to this time is counted.'),
  },
  { description: 'Figures of the account’s mail.' },
)
export type Stats = Static<typeof Stats>
