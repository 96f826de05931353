// From what happened to a recipient on the way to what is recorded of it: the state, the next attempt,
// the server's words, and whether the address is dead.

import { isDeadAddress } from '@mailroom/mail-reading/report/bounce-class.ts'
import { RESPONSE_LENGTH_MAX } from '@mailroom/mail-reading/report/report.ts'
import type { CarryOutcome } from '#delivery/transport/carrier.ts'
import type { HeldDelivery } from '#outbound/delivery-claim-rows.ts'
import type { SettledDelivery } from '#outbound/settle-deliveries-rows.ts'
import { newSuppression } from '#outbound/suppressions.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import { nextAttemptAt } from '#queue/retry-schedules.ts'

/** Attempts that may end without an answer to the final dot. */
const AMBIGUOUS_ATTEMPTS_MAX = 3

export type Attempted = {
  delivery: HeldDelivery
  outcome:
    | Exclude<CarryOutcome, { kind: 'crowded' }>
    | { kind: 'complained'; text: string }
    /** Its time was over before this attempt. */
    | { kind: 'expired' }
  host: string | null
  tls: string | null
}

type OutcomeDeps = { clock: Clock; queueClock: QueueClock; makeId: MakeId }

/**
 * 5xx is for good; any other code that is not 2xx, a failed connection and a missing route are tried
 * again by schedule until the delivery's time is over; an end without an answer to the final dot is
 * tried AMBIGUOUS_ATTEMPTS_MAX times.
 */
export function settledOf(deps: OutcomeDeps, attempted: Attempted): SettledDelivery {
  const { outcome, delivery } = attempted
  switch (outcome.kind) {
    case 'accepted':
      return over(attempted, { status: 'accepted', ...outcome.reply })
    case 'complained':
      return {
        ...over(attempted, {
          status: 'complained',
          code: 250,
          enhanced: '2.0.0',
          text: outcome.text,
        }),
        suppression: newSuppression(deps, {
          ...addressOf(delivery),
          type: 'complaint',
          reason: outcome.text,
        }),
        complaintEventId: deps.makeId('evt'),
      }
    case 'unroutable':
      return over(attempted, { status: 'failed', ...outcome.reply })
    case 'refused': {
      const { reply } = outcome
      if (reply.code < 500 || reply.code > 599) return later(deps, attempted, reply)
      const isDead = outcome.stage === 'rcpt' && isDeadAddress(reply)
      const reason = `${reply.code} ${reply.enhanced ?? ''} ${reply.text}`.replace(/\s+/g, ' ')
      return {
        ...over(attempted, { status: 'failed', ...reply }),
        suppression: isDead
          ? newSuppression(deps, { ...addressOf(delivery), type: 'bounce', reason })
          : null,
      }
    }
    case 'expired':
      return over(attempted, { status: 'failed', code: null, enhanced: null, text: EXPIRED })
    case 'unsent':
      return later(
        deps,
        attempted,
        outcome.failure.kind === 'reply'
          ? outcome.failure.reply
          : { code: null, enhanced: null, text: outcome.failure.text },
      )
    case 'no-route':
      return later(deps, attempted, { code: null, enhanced: null, text: outcome.text })
    case 'ambiguous':
      return ambiguous(deps, attempted, textOf(outcome.failure))
  }
}

const EXPIRED = 'Given up: its 48 hours were over before it could be tried again'

type Words = { code: number | null; enhanced: string | null; text: string }

function over(
  { delivery, host, tls }: Attempted,
  words: Words & { status: SettledDelivery['status'] },
): SettledDelivery {
  return {
    id: delivery.id,
    status: words.status,
    nextAttemptAtMs: null,
    isAmbiguous: false,
    host,
    tls,
    responseCode: words.code,
    enhancedCode: words.enhanced,
    response: words.text.slice(0, RESPONSE_LENGTH_MAX),
    suppression: null,
    complaintEventId: null,
  }
}

function later(deps: OutcomeDeps, attempted: Attempted, words: Words): SettledDelivery {
  const { attempts, expires_at } = attempted.delivery
  const nextAttemptAtMs = nextAttemptAt({
    attempts,
    nowMs: deps.queueClock.now(),
    expiresAtMs: expires_at,
  })
  if (nextAttemptAtMs === null) {
    const text = `Given up after 48 hours and ${attempts} attempts: ${words.text}`
    return over(attempted, { ...words, text, status: 'failed' })
  }
  return { ...over(attempted, { ...words, status: 'deferred' }), nextAttemptAtMs }
}

function ambiguous(deps: OutcomeDeps, attempted: Attempted, why: string): SettledDelivery {
  const count = attempted.delivery.ambiguous_attempts + 1
  const words = { code: null, enhanced: null, text: `${NO_ANSWER} (${why})` }
  const again = count < AMBIGUOUS_ATTEMPTS_MAX ? later(deps, attempted, words) : null
  if (again !== null && again.nextAttemptAtMs !== null) return { ...again, isAmbiguous: true }
  return { ...over(attempted, { ...words, status: 'unknown' }), isAmbiguous: true }
}

const NO_ANSWER = 'The server took the message and gave no answer to it'

function textOf(failure: Extract<CarryOutcome, { kind: 'ambiguous' }>['failure']): string {
  if (failure.kind !== 'reply') return failure.text
  return `${failure.reply.code} ${failure.reply.text}`
}

function addressOf({ account_id: accountId, recipient: address }: HeldDelivery) {
  return { accountId, address }
}
