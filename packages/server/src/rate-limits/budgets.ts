// How limits are counted, by one process or by all that share a database. Knows names and keys, not what
// is being limited.

/** The outcome of taking one from a limit. */
export type Allowance = {
  readonly isAllowed: boolean
  readonly limit: number
  /**
   * How many more would be let through now. Of several processes each counts as gone what others lease,
   * and what was gone when it last asked the record.
   */
  readonly remaining: number
  /** Whole seconds until the oldest entry leaves the window; 0 when the window is empty. */
  readonly resetSeconds: number
}

/** For each key, lets no more than the limit through in any stretch of time as long as the window. */
export type RateWindow = {
  /**
   * Counts one for `key` if it fits; a refusal is not counted. Rejects with `service_unavailable` where
   * the record has to be asked and the store cannot answer.
   */
  take(key: string): Allowance | Promise<Allowance>
}

/** One of the places that a key may have at once. */
export type Place = {
  /** The second call does nothing. */
  release(): void
}

/** A number of places for each key. */
export type Places = {
  /** Null when all are taken. Rejects with `service_unavailable` as `RateWindow` does. */
  take(key: string): Place | null | Promise<Place | null>
}

export type WindowOptions = {
  /** Names the limit among all of them. */
  readonly name: string
  readonly limit: number
  /** Much less than BUDGET_RECORD_MS. */
  readonly windowMs: number
}

export type PlacesOptions = Pick<WindowOptions, 'name' | 'limit'>

export type Budgets = {
  openWindow(options: WindowOptions): RateWindow
  openPlaces(options: PlacesOptions): Places
  /**
   * Renews the leases of this process and returns those that it does not use; runs by itself every few
   * seconds. Never fails.
   */
  tend(): Promise<void>
  /** Returns all leases, as far as the store can be told. */
  close(): Promise<void>
}
