export type Clock = {
  /** Monotonic time in milliseconds from an arbitrary origin; for durations and deadlines. */
  monotonic(): number
}
