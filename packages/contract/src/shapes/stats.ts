// Figures of an account's mail over time.

import { type Static, Type } from '#schema.ts'
import { statsRanges } from '#vocabulary.ts'
import { count, nullableCount, oneOf, time } from './text.ts'

const counts = {
  received: count('Messages that arrived.'),
  sent: count('Messages that the servers of all their recipients took.'),
  failed: count(
    'Messages that at least one recipient did not get, also where that was told later.',
  ),
}

const StatsBucket = Type.Object(
  {
    at: time('When it begins.'),
    ...counts,
    latencyMsP50: nullableCount(
      'Half of the sent messages took no longer from acceptance to sent, within ten percent; null for none.',
    ),
    latencyMsP95: nullableCount('The same for 95 of 100 messages.'),
  },
  { description: 'A stretch of time.' },
)

export const Stats = Type.Object(
  {
    range: oneOf(statsRanges, 'How far back.'),
    bucketSeconds: count('The length of each stretch of time.'),
    buckets: Type.Array(StatsBucket, {
      description: 'Oldest first; the last is not over yet.',
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
    asOf: time('What happened up to then is counted.'),
  },
  { description: 'Figures of the account’s mail.' },
)
export type Stats = Static<typeof Stats>
