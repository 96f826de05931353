// Steps of a removal that leave the writer to others: what is removed has time, what arrives has none.

import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from './clock.ts'
import { SECOND_MS } from './units.ts'

/** Of a step's time, between two of them: a purge has a quarter of the writer's time. */
const PURGE_PAUSE_FACTOR = 3
/** Where the store stands still, no longer. */
export const PURGE_PAUSE_MS_MAX = SECOND_MS

export type Pace = {
  /** Ends the steps, and the pause after one. */
  readonly signal?: AbortSignal
  readonly stepsMax?: number
  /** Asked before each step. */
  readonly mayGoOn?: (() => Promise<boolean>) | undefined
  /** False where somebody waits: the steps follow each other at once. */
  readonly isPaced?: boolean
}

/** Repeats the step until it is done; true then, false where the pace ended it. */
export async function inSteps(
  { signal, stepsMax = Number.POSITIVE_INFINITY, mayGoOn, isPaced = true }: Pace,
  step: () => Promise<{ isDone: boolean }>,
): Promise<boolean> {
  for (let count = 0; count < stepsMax && signal?.aborted !== true; count++) {
    if (mayGoOn !== undefined && !(await mayGoOn())) return false
    const { isDone } = await (isPaced ? paced(step, signal) : step())
    if (isDone) return true
  }
  return false
}

/**
 * Does a step and, unless it was the last, waits for PURGE_PAUSE_FACTOR times as long as it took, so
 * that most of what others write finds the writer free. An aborted `signal` ends the wait.
 */
export async function paced<Step extends { isDone: boolean }>(
  step: () => Promise<Step>,
  signal?: AbortSignal,
): Promise<Step> {
  const startMs = systemClock.monotonic()
  const done = await step()
  const tookMs = systemClock.monotonic() - startMs
  const waitMs = Math.min(tookMs * PURGE_PAUSE_FACTOR, PURGE_PAUSE_MS_MAX)
  // Timers are of whole milliseconds, and cut off what is beyond.
  if (!done.isDone) await pause(Math.ceil(waitMs), undefined, { signal }).catch(() => {})
  return done
}
