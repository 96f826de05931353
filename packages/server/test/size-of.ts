// The size of a test run. A quick run (`npm test`) checks a change, a full run (`npm run test:all`) has every test on
// both databases, a long run (`npm run test:long`) has every test at its full size.

/** Set by `npm run test:all`, and when files are named. */
export const FULL_VARIABLE = 'TEST_MAILROOM_ALL'
/** Set by `npm run test:long`. */
const LONG_VARIABLE = 'TEST_MAILROOM_LONG'

/**
 * For tests that run for minutes on a busy machine, instead of the runner's limit; catches hanging, and is no
 * measurement.
 */
export const LONG_LIMIT = { timeout: 10 * 60_000 }

/** A size for usual runs and one for long ones; the variable of this name overrides both. */
export function sizeOf(variable: string, sizes: { usual: number; long: number }): number {
  const given = process.env[variable]
  if (given !== undefined && given !== '') return Number(given)
  return isLongRun() ? sizes.long : sizes.usual
}

export function isFullRun(): boolean {
  return isSet(FULL_VARIABLE) || isLongRun()
}

export function isLongRun(): boolean {
  return isSet(LONG_VARIABLE)
}

function isSet(variable: string): boolean {
  return (process.env[variable] ?? '') !== ''
}
