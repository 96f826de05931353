// The refusals of a send as problems of the API.

import type { LimitScope } from '@mailroom/contract/vocabulary.ts'
import type { Clock } from '#platform/clock.ts'
import { type AppError, limitFields, notFound, problem } from '#platform/problem.ts'
import { AUTOMATIC_SENDS_MAX, type LimitRefusal, type TooCold } from './check-send-rows.ts'

export function refusalOf({ clock }: { clock: Clock }, outcome: LimitRefusal): AppError {
  // The time may have passed since the check.
  const secondsUntil = (timeMs: number) => Math.max(1, Math.ceil((timeMs - clock.now()) / 1000))
  const limited = (scope: LimitScope, limit: number, retryAtMs: number) => ({
    retryAfterSeconds: secondsUntil(retryAtMs),
    fields: limitFields({ scope, limit, resetsAtMs: retryAtMs }),
  })
  switch (outcome.kind) {
    case 'not_found':
      return notFound()
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
        limited('inbox', outcome.limit, outcome.retryAtMs),
      )
    case 'too_cold':
      return problem('cold_outreach_limit', COLD_TEXTS[outcome.scope](outcome.limit), {
        ...limited(outcome.scope, outcome.limit, outcome.retryAtMs),
        // The message has more cold recipients than the limit of a whole day.
        ...(outcome.coldRecipients > outcome.limit ? { fix: fixForTooCold(outcome.limit) } : {}),
      })
    case 'too_many_unseen':
    case 'thread_changed':
      // A send is held, or composed again.
      throw new Error(`${outcome.kind} is not the end of a send`)
  }
}

function fixForTooCold(limit: number): string {
  return limit === 0
    ? 'Send only to addresses that have written to the inbox. Repeating this request cannot succeed.'
    : `Send to at most ${limit} new addresses in one message. Repeating this request cannot succeed.`
}

const COLD_TEXTS: Record<TooCold['scope'], (limit: number) => string> = {
  inbox: (limit) =>
    `A new inbox may send to ${limit} addresses a day (UTC) that have never written to it.`,
  account: (limit) =>
    `The account may send to ${limit} addresses a day (UTC) that have never written to its inboxes.`,
}
