// What limits are counted with, of one process or of all that share a database. Knows names and keys, not
// what is being limited.

/** What came of taking one from a limit. */
export type Allowance = {
  readonly isAllowed: boolean
  readonly limit: number
  /**
   * How many more would be let through now. Of several processes each counts as gone what others hold in
   * advance, and what it saw to be left when it last asked.
   */
  readonly remaining: number
  /** Whole seconds until the oldest entry leaves the window; 0 when the window is empty. */
  readonly resetSeconds: number
}

/** Of any stretch of time as long as the window no more than the limit is let through, for each key. */
export type RateWindow = {
  /**
   * Counts one for `key` if it fits; what does not fit is not counted. Rejects with
   * `service_unavailable` where the count is not here and the store cannot be asked.
   */
  take(key: string): Allowance | Promise<Allowance>
  /**
   * What `take` would answer as far as this process knows, without counting; waits for a look at the
   * record that is under way. Never rejects.
   */
  peek(key: string): Allowance | Promise<Allowance>
}

/** One of what a key may have so many of at once. */
export type Place = {
  /** Again does nothing. */
  release(): void
}

/** So many at once for each key. */
export type Places = {
  /** Null when all are taken. Rejects with `service_unavailable` as `RateWindow` does. */
  take(key: string): Place | null | Promise<Place | null>
}

export type WindowOptions = {
  /** Names it among all budgets: one for each that is opened. */
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  /**
   * Of several processes each looks for one more as soon as it has none left, and tells all when there
   * is none: for a window that is peeked at before it is known whether one is taken.
   */
  readonly tellsEnd?: boolean
}

export type Budgets = {
  openWindow(options: WindowOptions): RateWindow
  openPlaces(options: { readonly name: string; readonly limit: number }): Places
  /**
   * Keeps what this process holds, and gives back what nobody here asks for; runs by itself every few
   * seconds. Never fails.
   */
  tend(): Promise<void>
  /** Gives back what this process holds, as far as the store can be told. */
  close(): Promise<void>
}
