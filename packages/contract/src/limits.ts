// Remaining send limits of an inbox.

import type { Operation } from './operation.ts'
import { type Static, Type } from './schema.ts'
import { count, nullableCount, nullableTime } from './text.ts'

function limit(description: string) {
  return Type.Object(
    {
      limit: nullableCount('The maximum; null while this limit does not apply.'),
      used: count('The amount used.'),
      remaining: nullableCount('The remaining amount; null while this limit does not apply.'),
      resetsAt: nullableTime('When `used` decreases next; null while nothing is used.'),
    },
    { description },
  )
}

export const InboxLimits = Type.Object(
  {
    sendsPerMinute: limit(
      'Messages that the inbox sends in any 60 seconds. A message that is held for approval counts when it is held.',
    ),
    sendsPerDay: limit('Messages that the inbox sends in any 24 hours.'),
    coldRecipientsPerDay: limit(
      'Recipients per UTC day who have never written to the inbox. This limit applies only to inboxes younger than 30 days.',
    ),
    accountColdRecipientsPerDay: limit(
      'New recipients per UTC day, for all inboxes of the account together.',
    ),
    heldMessages: limit('Messages of the inbox that await approval.'),
  },
  { description: 'The limits on sending from an inbox, and their usage.' },
)
export type InboxLimits = Static<typeof InboxLimits>

export const limitOperations = {
  'inboxes.limits': {
    method: 'GET',
    path: '/v1/inboxes/{id}/limits',
    tag: 'Inboxes',
    summary: 'Get the send limits of an inbox.',
    notes:
      'A send is refused with 429 exactly when it would exceed one of these limits. A cold recipient counts once for each inbox and day. Concurrent sends may use up the remainder first.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    success: { status: 200, description: 'The limits.', schema: InboxLimits },
    errors: [],
  },
} as const satisfies Record<string, Operation>
