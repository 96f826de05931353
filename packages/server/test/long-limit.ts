// How long tests may take that work for minutes on a busy machine.

/** In place of what the runner gives every test; a guard against hanging, not a figure. */
export const LONG_LIMIT = { timeout: 10 * 60_000 }
