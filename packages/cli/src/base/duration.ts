// Lengths of time as people write them: 90s, 5m, 2h, 1d; a bare number means seconds.

import { Failure } from './failure.ts'

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const LONGEST_MS = 30 * 86_400_000

export function readDurationMs(text: string): number {
  const match = /^(\d{1,9})(ms|s|m|h|d)?$/.exec(text.trim())
  const ms = Number(match?.[1]) * (UNIT_MS[match?.[2] ?? 's'] ?? 0)
  if (match === null || ms <= 0 || ms > LONGEST_MS) {
    throw new Failure(
      'usage',
      `${JSON.stringify(text)} is not a duration.`,
      'Write it as 90s, 5m, 2h or 1d, up to 30 days.',
    )
  }
  return ms
}
