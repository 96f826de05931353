import { systemClock } from './clock.ts'

type CacheOptions = {
  readonly entriesMax?: number
  readonly sizeMax?: number
  /** Monotonic time in milliseconds; the system's by default. */
  now?(): number
}

type Entry<Value> = { readonly value: Value; readonly untilMs: number; readonly size: number }

/** A custom cache, because ages follow the clock seam and sizes are limited. */
export class Cache<Value> {
  readonly #entries = new Map<string, Entry<Value>>()
  readonly #options: Required<CacheOptions>
  #size = 0

  constructor({
    entriesMax = Number.POSITIVE_INFINITY,
    sizeMax = Number.POSITIVE_INFINITY,
    now = systemClock.monotonic,
  }: CacheOptions) {
    this.#options = { entriesMax, sizeMax, now }
  }

  get(key: string): Value | null {
    return this.find(key)?.value ?? null
  }

  find(key: string): { readonly value: Value; readonly leftMs: number } | null {
    const entry = this.#entries.get(key)
    if (entry === undefined) return null
    const leftMs = entry.untilMs - this.#options.now()
    this.#entries.delete(key)
    if (leftMs > 0) {
      this.#entries.set(key, entry)
      return { value: entry.value, leftMs }
    }
    this.#size -= entry.size
    return null
  }

  /** Stores nothing if `ttlMs` is 0 or `size` exceeds `sizeMax`. */
  set(
    key: string,
    value: Value,
    { ttlMs = Number.POSITIVE_INFINITY, size = key.length }: { ttlMs?: number; size?: number } = {},
  ): void {
    const { entriesMax, sizeMax, now } = this.#options
    this.delete(key)
    if (ttlMs <= 0 || size > sizeMax) return
    this.#entries.set(key, { value, untilMs: now() + ttlMs, size })
    this.#size += size
    for (const [oldest, { untilMs }] of this.#entries) {
      const isFull = this.#entries.size > entriesMax || this.#size > sizeMax
      if (!isFull && untilMs > now()) return
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    this.#size -= this.#entries.get(key)?.size ?? 0
    this.#entries.delete(key)
  }
}
