// What is recorded about work that fails, what its owner sees of it, and when it is retried.

import { AppError, withStorageProblem } from '#platform/problem.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '#platform/units.ts'

/** Failed attempts in a row. */
export type Trouble = {
  readonly attempts: number
  /** Attempts that failed for another reason than a passing problem of the store or the service. */
  readonly faults: number
  /** When the first of them failed. */
  readonly sinceMs: number
  /** A sentence about the last one, for the owner of the work. */
  readonly message: string
}

export type Failure = { readonly isPassing: boolean; readonly message: string }

/** What the owner of the work may see of the error; the log has the error itself. */
export function failureOf(error: unknown): Failure {
  const problem = withStorageProblem(error)
  if (!(problem instanceof AppError)) return { isPassing: false, message: FAULT }
  return { isPassing: problem.code === 'service_unavailable', message: problem.message }
}

const FAULT = 'The service made a mistake, which its log describes.'

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
/** Passing problems are short, or an operator is working on them. */
const PASSING_WAIT_MS_MAX = 5 * MINUTE_MS

/** The wait before the next attempt, doubled with each one. */
export function waitAfter({ attempts }: Trouble, { isPassing }: Failure): number {
  const waitMs = WAIT_MS * 2 ** Math.min(attempts - 1, 20)
  return Math.min(waitMs, isPassing ? PASSING_WAIT_MS_MAX : WAIT_MS_MAX)
}
