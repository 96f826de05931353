// How much a test does: enough to fail when the code is wrong in a whole run of minutes, and all that
// was promised in `npm run test:long`.

/** Set by `npm run test:long`: every size is the long one. */
export const LONG_VARIABLE = 'TEST_MAILROOM_LONG'

/** A size for usual runs and one for long ones; the variable of this name overrides both. */
export function sizeOf(variable: string, sizes: { usual: number; long: number }): number {
  const given = process.env[variable]
  if (given !== undefined && given !== '') return Number(given)
  return isLongRun() ? sizes.long : sizes.usual
}

/** Whether the tests run at their full sizes, however long that takes. */
export function isLongRun(): boolean {
  return (process.env[LONG_VARIABLE] ?? '') !== ''
}
