// Background work that fails: what its owner is told, what is kept of it, and when it is tried again.

import { AppError, withStorageProblem } from '#platform/problem.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '#platform/units.ts'

/** Attempts that failed one after the other. */
export type Trouble = {
  readonly attempts: number
  /** Those that failed for another reason than passing trouble of the store or a busy service. */
  readonly faults: number
  /** When the first of them failed. */
  readonly sinceMs: number
  /** A sentence about the last one. */
  readonly message: string
}

export type Failure = { readonly isPassing: boolean; readonly message: string }

/** What the owner of the job is told; the error itself is for the log. */
export function failureOf(error: unknown): Failure {
  const told = withStorageProblem(error)
  if (!(told instanceof AppError)) return { isPassing: false, message: FAULT }
  return { isPassing: told.code === 'service_unavailable', message: told.message }
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
/** Passing trouble is short, or somebody works on it. */
const PASSING_WAIT_MS_MAX = 5 * MINUTE_MS

/** The wait before the next attempt, doubled with each one. */
export function waitAfter({ attempts }: Trouble, { isPassing }: Failure): number {
  const waitMs = WAIT_MS * 2 ** Math.min(attempts - 1, 20)
  return Math.min(waitMs, isPassing ? PASSING_WAIT_MS_MAX : WAIT_MS_MAX)
}
