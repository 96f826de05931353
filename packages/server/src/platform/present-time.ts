/** ISO 8601 UTC with milliseconds. */
export function presentTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}
