// Erasures: removal of everything about an address from an account.

import type { Operation } from './operation.ts'
import { type Static, Type } from './schema.ts'
import { count, emailAddress, nullableText, nullableTime, oneOf, text, time } from './text.ts'

const STATUSES = ['queued', 'running', 'done'] as const

const ErasedCounts = Type.Object(
  {
    messages: count(
      'Messages from, to or copied to the address, with their reviews and waiting sends.',
    ),
    quarantined: count('Messages in quarantine.'),
    drafts: count('Drafts.'),
    events: count('Entries of the event log, with the logs of webhooks about them.'),
    correspondents: count('Notes on who has written to an inbox, and whom it has written to.'),
    answers: count(
      'Responses kept for Idempotency-Keys in which the address was replaced. The keys are stored only as hashes.',
    ),
    auditEntries: count('Audit entries in which the address was replaced by a keyed hash.'),
    reviews: count('Reviews of messages from or to the address that had been removed before.'),
    files: count('Exports and imports, which may hold the address.'),
  },
  { description: 'How many of each kind were removed.' },
)

const LeftPlace = Type.Object(
  { place: text('Where it may still be.'), note: text('Why, and what to do about it.') },
  { description: 'A place that the erasure leaves as it is.' },
)

export const Erasure = Type.Object(
  {
    id: text('Assigned by the service.'),
    status: oneOf(STATUSES, 'Whether everything is removed.'),
    address: nullableText(
      'The address to erase; null once its mail is removed, so that the receipt does not keep the address. Copies in database files are then overwritten until the status is done.',
    ),
    removed: ErasedCounts,
    left: Type.Array(LeftPlace, { description: 'Where the address, or its mail, may still be.' }),
    errorMessage: nullableText(
      'Why its last attempt failed; null if none has, and once it is done. It is tried again until everything is removed.',
    ),
    nextAttemptAt: nullableTime(
      'When it is tried again after an attempt that failed, an hour later at most; null unless it waits for that.',
    ),
    createdAt: time('When it was requested.'),
    completedAt: nullableTime('When it was done.'),
  },
  { description: 'The erasure of an address, and its receipt.' },
)
export type Erasure = Static<typeof Erasure>
export type ErasureCounts = Static<typeof ErasedCounts>

export const CreateErasure = Type.Object(
  { address: emailAddress('Whose mail is erased: one address, or Name <address>.') },
  { additionalProperties: false, description: 'Whom to erase.' },
)

export const erasureOperations = {
  'erasures.create': {
    method: 'POST',
    path: '/v1/erasures',
    tag: 'Exports and imports',
    summary: 'Erase everything of an address.',
    notes:
      'Permanently removes every message from, to, cc or bcc the address in all inboxes of the account, including the trash, quarantine, drafts, and scheduled and held messages, and what the service has recorded about the address. Rules and suppressions of the address stay. The receipt says what was removed and where the address may still be. This cannot be undone. In an account with an approver, only an approver can erase an address that the audit names.',
    auth: 'key-or-approver',
    isRateLimited: true,
    body: CreateErasure,
    success: { status: 202, description: 'The erasure has begun.', schema: Erasure },
    errors: ['approver_required', 'transfer_limit_reached'],
  },
  'erasures.get': {
    method: 'GET',
    path: '/v1/erasures/{id}',
    tag: 'Exports and imports',
    summary: 'Get an erasure and its receipt.',
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters: { id: 'The id of an erasure.' },
    success: { status: 200, description: 'The erasure.', schema: Erasure },
    errors: [],
  },
} as const satisfies Record<string, Operation>
