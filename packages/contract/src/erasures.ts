// Erasures: removal of everything about an address from an account.

import type { Operation } from './operation.ts'
import { type Static, Type } from './schema.ts'
import { count, emailAddress, nullableText, nullableTime, oneOf, text, time } from './text.ts'

const STATUSES = ['queued', 'running', 'done'] as const

const ErasedCounts = Type.Object(
  {
    messages: count(
      'Messages from, to or copied to the address, with their reviews and pending sends.',
    ),
    quarantined: count('Messages in quarantine.'),
    drafts: count('Drafts.'),
    events: count('Entries of the event log, and of the webhook logs about them.'),
    correspondents: count('Records of who has written to an inbox and whom it has written to.'),
    answers: count(
      'Stored responses for Idempotency-Keys in which the address was replaced. The keys are stored only as hashes.',
    ),
    auditEntries: count('Audit entries in which the address was replaced by a keyed hash.'),
    reviews: count('Reviews of previously removed messages from or to the address.'),
    files: count('Exports and imports, which may contain the address.'),
  },
  { description: 'Number of removed items of each kind.' },
)

const LeftPlace = Type.Object(
  {
    place: text('Where the address may still exist.'),
    note: text('Why the address may remain there, and how to remove it.'),
  },
  { description: 'A location that the erasure does not change.' },
)

export const Erasure = Type.Object(
  {
    id: text('The id.'),
    status: oneOf(STATUSES, 'Whether the erasure is complete.'),
    address: nullableText(
      'The address to erase; null once its mail is removed, so that the receipt does not keep the address. Copies in database files are then overwritten until the status is done.',
    ),
    removed: ErasedCounts,
    left: Type.Array(LeftPlace, { description: 'Where the address or its mail may still exist.' }),
    errorMessage: nullableText(
      'Why the last attempt failed; null if none failed, and once the erasure is done. The erasure is retried until everything is removed.',
    ),
    nextAttemptAt: nullableTime(
      'When the next attempt is due, at most an hour after a failed one; null if none is due.',
    ),
    createdAt: time('When the erasure was requested.'),
    completedAt: nullableTime('When the erasure finished.'),
  },
  { description: 'The erasure of an address, and its receipt.' },
)
export type Erasure = Static<typeof Erasure>
export type ErasureCounts = Static<typeof ErasedCounts>

export const CreateErasure = Type.Object(
  { address: emailAddress('The address whose mail is erased: a bare address, or Name <address>.') },
  { additionalProperties: false, description: 'The address to erase.' },
)

export const erasureOperations = {
  'erasures.create': {
    method: 'POST',
    path: '/v1/erasures',
    tag: 'Exports and imports',
    summary: 'Erase everything about an address.',
    notes:
      'Permanently removes every message from, to, cc or bcc the address in all inboxes of the account, including the trash, quarantine, drafts, scheduled and held messages, and all records about it. Rules and suppressions for the address are kept. The receipt lists what was removed and where the address may still exist. This cannot be undone. In an account with an approver, only an approver can erase an address in the audit log.',
    auth: 'key-or-approver',
    isRateLimited: true,
    body: CreateErasure,
    success: { status: 202, description: 'The erasure has started.', schema: Erasure },
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
