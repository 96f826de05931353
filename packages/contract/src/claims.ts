// Claims: a worker has exclusive use of a thread under a lease, so several can share a mailbox
// without replying twice.

import { FACETS_MAX, labelItem } from './labels.ts'
import { Message } from './messages.ts'
import type { Operation } from './operation.ts'
import { type Static, Type } from './schema.ts'
import { count, line, oneOf, text, time } from './text.ts'
import { Thread } from './threads.ts'
import { messageCategories } from './vocabulary.ts'

const LEASE_SECONDS_MIN = 10
export const LEASE_SECONDS_MAX = 3_600
const OWNER_LENGTH_MAX = 200
const CLAIMS_MAX = 50
const CLAIM_WAIT_SECONDS_MAX = 60

const lease = {
  minimum: LEASE_SECONDS_MIN,
  maximum: LEASE_SECONDS_MAX,
}

const newClaim = {
  owner: line({
    minLength: 1,
    maxLength: OWNER_LENGTH_MAX,
    description:
      'The name of the worker, shown with the thread. The service does not verify the name.',
  }),
  leaseSeconds: Type.Integer({
    ...lease,
    description: `How long the claim lasts unless it is renewed: ${LEASE_SECONDS_MIN} to ${LEASE_SECONDS_MAX} seconds.`,
  }),
}

export const RenewedClaim = Type.Object(
  {
    threadId: text('The thread.'),
    inboxId: text('The inbox of the thread.'),
    owner: text('The owner in the claim.'),
    fence: count(
      'The number of the claim. Each claim on a thread has a higher number than those before it, so other systems can refuse requests from earlier workers.',
    ),
    expiresAt: time('When the lease expires unless it is renewed.'),
  },
  { description: 'A claim on a thread.' },
)
export type RenewedClaim = Static<typeof RenewedClaim>

export const Claim = Type.Extended(
  RenewedClaim,
  {
    leaseToken: text(
      'The secret of the claim, for the header Lease-Token of requests that change the thread or send in it. It is shown only in this response.',
    ),
    message: Type.Union([Message, Type.Null()], {
      description:
        'The newest received message of the thread, its bodies cut as in lists (isTruncated); null if the thread has none.',
    }),
  },
  { description: 'A new claim on a thread.' },
)
export type Claim = Static<typeof Claim>

export const ClaimedThread = Type.Extended(
  Claim,
  { thread: Thread },
  { description: 'A new claim with its thread.' },
)
export type ClaimedThread = Static<typeof ClaimedThread>

const ClaimThread = Type.Object(newClaim, { additionalProperties: false })

const RenewClaim = Type.Object(
  {
    leaseSeconds: Type.Optional(
      Type.Integer({
        ...lease,
        description: 'The new duration in seconds from now; by default the duration of the claim.',
      }),
    ),
  },
  { additionalProperties: false },
)

const ReleaseClaim = Type.Object(
  {
    isRead: Type.Optional(
      Type.Boolean({
        description:
          'Sets the read state on release. An unread thread can be claimed from the inbox again immediately.',
      }),
    ),
  },
  { additionalProperties: false },
)

const ClaimThreads = Type.Object(
  {
    ...newClaim,
    max: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: CLAIMS_MAX,
        default: 1,
        description: `Number of threads to claim, 1 to ${CLAIMS_MAX}. The response may have fewer.`,
      }),
    ),
    waitSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: CLAIM_WAIT_SECONDS_MAX,
        default: 0,
        description: 'How long to wait for a thread if none is available.',
      }),
    ),
    category: Type.Optional(
      oneOf(messageCategories, 'Only threads whose newest received message has this category.'),
    ),
    labels: Type.Optional(
      Type.Array(labelItem, {
        maxItems: FACETS_MAX,
        description: 'Only threads with all of these labels.',
      }),
    ),
  },
  { additionalProperties: false },
)
const ClaimedThreads = Type.Object(
  {
    data: Type.Array(ClaimedThread, {
      description: 'The claims, oldest threads first; empty if no thread became available in time.',
    }),
  },
  { description: 'New claims.' },
)

const parameters = { id: 'The id of a thread.' } as const

export const claimOperations = {
  'inboxes.claimThreads': {
    method: 'POST',
    path: '/v1/inboxes/{id}/claims',
    tag: 'Claims',
    summary: 'Claim the oldest unread threads of an inbox, or wait for one.',
    notes:
      'A work queue in one call: claims threads that are unread, not snoozed and not claimed, starting with the one whose newest message is oldest. If there is none, the request waits up to waitSeconds for one; waiting requests are served in order of arrival. If the inbox is deleted during the wait, the response is 404. A claim for a client that has disconnected is released.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    body: ClaimThreads,
    success: { status: 200, description: 'The claims.', schema: ClaimedThreads },
    errors: [],
  },
  'threads.claim': {
    method: 'POST',
    path: '/v1/threads/{id}/claim',
    tag: 'Claims',
    summary: 'Claim a thread.',
    notes:
      'While the lease lasts, changing the thread or sending in it requires the leaseToken, and no other claim is possible, not even by the same owner.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    body: ClaimThread,
    success: { status: 200, description: 'The claim.', schema: Claim },
    errors: ['thread_claimed', 'thread_trashed'],
  },
  'threads.renewClaim': {
    method: 'POST',
    path: '/v1/threads/{id}/claim/renew',
    tag: 'Claims',
    summary: 'Renew a claim on a thread.',
    notes: 'The lease is extended to leaseSeconds from now. An expired lease cannot be renewed.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    body: RenewClaim,
    takesLeaseToken: true,
    success: { status: 200, description: 'The renewed claim.', schema: RenewedClaim },
    errors: [],
  },
  'threads.releaseClaim': {
    method: 'POST',
    path: '/v1/threads/{id}/claim/release',
    tag: 'Claims',
    summary: 'Release a claim on a thread.',
    notes:
      'Ends the claim early. Releasing a claim twice, or after its lease has expired, fails with lease_lost.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    body: ReleaseClaim,
    takesLeaseToken: true,
    success: { status: 200, description: 'The updated thread.', schema: Thread },
    errors: [],
  },
} as const satisfies Record<string, Operation>
