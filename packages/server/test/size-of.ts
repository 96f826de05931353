// How much a run of the tests does. A quick run (`npm test`) is what a change is tried with, a full run
// (`npm run test:all`) every test on both databases, a long run (`npm run test:long`) every test at the size
// that is promised.

/** Set by `npm run test:all`, and by whoever names the files to run. */
export const FULL_VARIABLE = 'TEST_MAILROOM_ALL'
/** Set by `npm run test:long`. */
const LONG_VARIABLE = 'TEST_MAILROOM_LONG'

/**
 * For tests that work for minutes on a busy machine, in place of the runner's limit; a guard against hanging, not a
 * figure.
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
