// Failures of background work: their record, their message to the owner and the backoff.

import { AppError, withStorageProblem } from '#platform/problem.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '#platform/units.ts'

export type Trouble = {
  readonly attempts: number
  /** Number of failures that were not temporary problems of the database or the service. */
  readonly faults: number
  readonly sinceMs: number
  /** The message is shown to the owner of the work. */
  readonly message: string
}

export type Failure = { readonly isPassing: boolean; readonly message: string }

/** Hides internal details; the error itself is only in the log. */
export function failureOf(error: unknown): Failure {
  const problem = withStorageProblem(error)
  if (!(problem instanceof AppError)) return { isPassing: false, message: FAULT }
  return { isPassing: problem.code === 'service_unavailable', message: problem.message }
}

const FAULT = "An internal error occurred; the service's log has the details."

export function addFailure(
  before: Trouble | null,
  { isPassing, message }: Failure,
  nowMs: number,
): Trouble {
  return {
    attempts: (before?.attempts ?? 0) + 1,
    faults: (before?.faults ?? 0) + (isPassing ? 0 : 1),
    sinceMs: before?.sinceMs ?? nowMs,
    message,
  }
}

const WAIT_MS = 10 * SECOND_MS
const WAIT_MS_MAX = HOUR_MS
/** Temporary problems are short, or an operator is already working on them. */
const PASSING_WAIT_MS_MAX = 5 * MINUTE_MS

export function waitAfter({ attempts }: Trouble, { isPassing }: Failure): number {
  const waitMs = WAIT_MS * 2 ** Math.min(attempts - 1, 20)
  return Math.min(waitMs, isPassing ? PASSING_WAIT_MS_MAX : WAIT_MS_MAX)
}
