import type { LimitScope } from '@mailroom/contract/vocabulary.ts'
import { fixOfLimit } from '#config/limit-fix.ts'
import type { StorageQuota } from '#mailbox/messages/store/storage-quota.ts'
import {
  AUTOMATIC_SENDS_MAX,
  type LimitRefusal,
  type TooCold,
} from '#outbound/send/store/check-send.ts'
import type { WaitingRefusal } from '#outbound/waiting/store/check-waiting.ts'
import type { Clock } from '#platform/clock.ts'
import { type AppError, limitFields, problem } from '#platform/problem.ts'
import { HOUR_MS } from '#platform/units.ts'

/** Nothing shows when a full storage will have room again. */
const STORAGE_RETRY_MS = HOUR_MS

export function refusalOf(
  { clock }: { clock: Clock },
  outcome: LimitRefusal | WaitingRefusal,
): AppError {
  const limited = (scope: LimitScope, limit: number, resetsAtMs: number) =>
    limitedUntil({ clock, scope, limit, resetsAtMs })
  switch (outcome.kind) {
    case 'not_found':
      return problem('not_found', 'The inbox or the thread was deleted while the message was sent.')
    case 'lease_lost':
      return problem('lease_lost')
    case 'thread_trashed':
      return problem('thread_trashed')
    case 'suppressed':
      return problem(
        'recipient_suppressed',
        `${outcome.address} is on the suppression list of the account (${outcome.type}).`,
        { fields: { type: outcome.type, address: outcome.address } },
      )
    case 'loop_suspected':
      return problem(
        'loop_suspected',
        `The inbox has replied to automatic messages ${AUTOMATIC_SENDS_MAX} times within an hour in this thread.`,
        limited('thread', AUTOMATIC_SENDS_MAX, outcome.retryAtMs),
      )
    case 'too_many':
      return problem(
        'rate_limit_exceeded',
        outcome.window === 'minute'
          ? `The inbox may send ${outcome.limit} messages a minute.`
          : `The inbox may send ${outcome.limit} messages in 24 hours.`,
        {
          ...limited('inbox', outcome.limit, outcome.retryAtMs),
          fix: fixOfLimit(outcome.window === 'minute' ? 'sendsPerMinute' : 'sendsPerDay'),
        },
      )
    case 'too_cold':
      return problem('cold_outreach_limit', COLD_TEXTS[outcome.scope](outcome.limit), {
        ...limited(outcome.scope, outcome.limit, outcome.retryAtMs),
        fix: fixForTooCold(outcome),
      })
    case 'too_many_waiting':
      return problem(
        'rate_limit_exceeded',
        `${outcome.limit} messages of the inbox are scheduled or awaiting approval, which is the limit.`,
        {
          ...limited('inbox', outcome.limit, outcome.retryAtMs),
          fix: 'Cancel some of these messages with POST /v1/messages/{id}/cancel, or repeat the request after the number of seconds in Retry-After. This limit cannot be changed.',
        },
      )
    case 'too_many_held':
      return problem(
        'rate_limit_exceeded',
        `${outcome.limit} messages of the inbox are awaiting approval, which is the limit.`,
        {
          ...limited('held', outcome.limit, outcome.retryAtMs),
          fix: fixOfLimit(
            'heldPerInbox',
            'Wait until an approver decides, or cancel messages that are awaiting approval.',
          ),
        },
      )
    case 'too_many_per_hour':
    case 'thread_changed':
      // The send is held or composed again before this is called.
      throw new Error(`${outcome.kind} is not the end of a send`)
  }
}

export type RefusalDeps = { clock: Clock; storageQuota: Pick<StorageQuota, 'limitBytes'> }

export function storageFull({ clock, storageQuota }: RefusalDeps): AppError {
  const resetsAtMs = clock.now() + STORAGE_RETRY_MS
  const limit = storageQuota.limitBytes ?? 0
  return problem(
    'rate_limit_exceeded',
    `The account stores ${limit} bytes or more. It can send messages immediately, but not schedule them or hold them for approval.`,
    {
      ...limitedUntil({ clock, scope: 'account', limit, resetsAtMs }),
      fix: fixOfLimit('storedBytesPerAccount', 'Delete inboxes that are no longer needed.'),
    },
  )
}

function limitedUntil({ clock, ...fields }: { clock: Clock } & Parameters<typeof limitFields>[0]) {
  const seconds = Math.max(1, Math.ceil((fields.resetsAtMs - clock.now()) / 1000))
  return { retryAfterSeconds: seconds, fields: limitFields(fields) }
}

function fixForTooCold({ scope, limit, coldRecipients }: TooCold): string {
  const setting = scope === 'inbox' ? 'coldPerDay' : 'coldAccountPerDay'
  // A message with more cold recipients than an entire day allows never succeeds.
  if (coldRecipients <= limit) return fixOfLimit(setting)
  const most =
    limit === 0
      ? 'Send only to addresses that have written to the inbox.'
      : `Send to at most ${limit} new addresses in one message.`
  return fixOfLimit(setting, `${most} Repeating this request cannot succeed.`)
}

const COLD_TEXTS: Record<TooCold['scope'], (limit: number) => string> = {
  inbox: (limit) =>
    `A new inbox may send to ${limit} addresses a day (UTC) that have never written to it.`,
  account: (limit) =>
    `The account may send to ${limit} addresses a day (UTC) that have never written to its inboxes.`,
}
