// What is remembered for a time and within bounds: the oldest goes first where there are too many.
// Knows nothing of what it keeps.

export type KeptOptions = {
  readonly entriesMax: number
  /** Over all entries: of their keys, and what `set` is told of their values. */
  readonly charactersMax: number
  /** Milliseconds of a clock that only goes on. */
  now(): number
}

type Entry<Value> = { readonly value: Value; readonly untilMs: number; readonly size: number }

export class KeptAnswers<Value> {
  readonly #entries = new Map<string, Entry<Value>>()
  readonly #options: KeptOptions
  #characters = 0

  constructor(options: KeptOptions) {
    this.#options = options
  }

  /** With how long it is good for still. */
  get(key: string): { readonly value: Value; readonly ttlMs: number } | null {
    const entry = this.#entries.get(key)
    if (entry === undefined) return null
    const ttlMs = entry.untilMs - this.#options.now()
    if (ttlMs > 0) return { value: entry.value, ttlMs }
    this.#delete(key, entry)
    return null
  }

  /** Keeps nothing for a `ttlMs` of 0. */
  set(
    key: string,
    value: Value,
    { ttlMs, characters = 0 }: { ttlMs: number; characters?: number },
  ) {
    const { entriesMax, charactersMax, now } = this.#options
    const before = this.#entries.get(key)
    if (before !== undefined) this.#delete(key, before)
    const size = characters + key.length
    if (ttlMs <= 0 || size > charactersMax) return
    this.#entries.set(key, { value, untilMs: now() + ttlMs, size })
    this.#characters += size
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= entriesMax && this.#characters <= charactersMax) return
      this.#delete(oldest, entry)
    }
  }

  #delete(key: string, entry: Entry<Value>): void {
    this.#entries.delete(key)
    this.#characters -= entry.size
  }
}
