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

/**
 * The size for this run: `quick` in a quick one (`usual` unless given), `usual` in a full one, and `long` in a long one
 * (also `usual` unless given). The variable of this name overrides them.
 */
export function sizeOf(
  variable: string,
  sizes: { quick?: number; usual: number; long?: number },
): number {
  const given = process.env[variable]
  if (given !== undefined && given !== '') return Number(given)
  const { usual, quick = usual, long = usual } = sizes
  if (isLongRun()) return long
  return isFullRun() ? usual : quick
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
