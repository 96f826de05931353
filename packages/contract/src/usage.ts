// Daily usage of an account and its inboxes.

import type { Operation } from './operation.ts'
import { pageProperties } from './page.ts'
import { type Static, Type } from './schema.ts'
import { count, nullableText, oneOf, RULE, time } from './text.ts'
import { usageGroups } from './vocabulary.ts'

/** Maximum number of days in a response. */
export const USAGE_DAYS_MAX = 92

const counts = {
  received: count('Messages that arrived.'),
  sent: count('Messages accepted by the servers of all recipients.'),
  failed: count('Messages that failed for at least one recipient, including later bounces.'),
}

const UsageEntry = Type.Object(
  {
    inboxId: nullableText('The inbox; null for the whole account.'),
    address: nullableText('The address of the inbox; null for the whole account.'),
    ...counts,
    storedBytes: count(
      'Bytes stored now: mail, including quarantined mail, drafts and the text of attachments; for the account, also files of exports and imports.',
    ),
  },
  { description: 'The usage of an inbox or of the account.' },
)

export const Usage = Type.Object(
  {
    from: time('When the first day begins.'),
    to: time('When the last day ends.'),
    groupBy: oneOf(usageGroups, 'The scope of each entry.'),
    data: Type.Array(UsageEntry, {
      description: 'The entries on this page, those with the most messages first.',
    }),
    total: count('Number of entries over all pages.'),
    totals: Type.Object(counts, { description: 'The totals of all entries.' }),
    asOf: time('The time up to which all mail is counted.'),
  },
  { description: 'Usage of an account over a number of days.' },
)
export type Usage = Static<typeof Usage>

function day(description: string) {
  return Type.Optional(
    Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2}(T.*)?$',
      [RULE]: 'must be a date (2026-11-20) or a time in ISO 8601',
      description,
    }),
  )
}

export const usageOperations = {
  'usage.get': {
    method: 'GET',
    path: '/v1/usage',
    tag: 'Account',
    summary: 'Get the usage of the account or of each inbox.',
    notes: `Counts whole days (UTC), from the first to the last inclusive, up to ${USAGE_DAYS_MAX}. Counts are kept for 400 days and lag by a few seconds; asOf is the time up to which they are complete. Inboxes that had no mail in this period or have been deleted have no entry; the mail of deleted inboxes still counts for the account.`,
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      from: day('The first day; 29 days before the last if omitted. A time means its day in UTC.'),
      to: day('The last day; today if omitted.'),
      group_by: Type.Optional(
        oneOf(usageGroups, 'One entry for the account, or one for each inbox.'),
      ),
      ...pageProperties,
    }),
    success: { status: 200, description: 'The statistics.', schema: Usage },
    errors: [],
  },
} as const satisfies Record<string, Operation>
