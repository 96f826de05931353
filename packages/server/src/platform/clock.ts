// The clock seam. A test can control the time of timers, SQL and signatures.

import { MINUTE_MS } from './units.ts'

/** Clocks of processes may differ by this much; timestamps further ahead are wrong. */
export const CLOCK_SKEW_MS = 5 * MINUTE_MS

export type Clock = {
  /** Wall-clock time in integer milliseconds since the Unix epoch; it may step back. */
  now(): number
  /** Milliseconds from an arbitrary origin, for durations and deadlines. */
  monotonic(): number
  /** Milliseconds since the epoch, unaffected by changes of the wall clock, for measuring waits. */
  steady(): number
  /** Calls at this interval until the returned function is called. Does not keep the process running. */
  every(ms: number, call: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  steady: () => Math.round(performance.timeOrigin + performance.now()),
  every(ms, call) {
    const timer = setInterval(call, ms).unref()
    return () => clearInterval(timer)
  },
}

/** Formats a time as ISO 8601 in UTC with milliseconds. */
export function presentTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

const INSTANT = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)$/

/** The text of an error after the name of a field that `parseInstant` refuses. */
export const INSTANT_RULE = 'must be a time of ISO 8601 with its zone, such as 2026-11-20T07:19:00Z'

/** Returns null for any text that is not an ISO 8601 time with its zone. */
export function parseInstant(text: string): number | null {
  const timeMs = INSTANT.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(timeMs) ? null : timeMs
}

/** Converts each `…AtMs` to the contract's `…At`; null stays null. */
export function presentTimes<Noun extends object>(noun: Noun): WithTimes<Noun> {
  const shown: Record<string, unknown> = {}
  // Object.entries takes three times as long: 2 µs more for each message of a list.
  for (const name in noun) {
    const value: unknown = noun[name]
    if (!name.endsWith('AtMs')) shown[name] = value
    else shown[name.slice(0, -'Ms'.length)] = value === null ? null : presentTime(value as number)
  }
  return shown as WithTimes<Noun>
}

export type WithTimes<Noun> = {
  [Name in keyof Noun as Name extends `${infer Base}AtMs`
    ? `${Base}At`
    : Name]: Name extends `${string}AtMs` ? Exclude<Noun[Name], number> | string : Noun[Name]
}
