// Places that are not tried for a while, because trying them costs minutes or does harm: else every
// message for a host that is gone would wait for it as long as the first.

import type { Clock } from '#base/clock.ts'
import { SILENT_HOST_MS, SILENT_HOSTS_MAX } from '#base/limits.ts'
import type { Trouble } from './trouble.ts'

export class PassedOver {
  readonly #clock: Clock
  readonly #entries = new Map<string, { untilMs: number; trouble: Trouble }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Why the place is passed over, or null when it may be tried. */
  why(key: string): Trouble | null {
    const entry = this.#entries.get(key)
    if (entry === undefined) return null
    if (this.#clock.monotonic() < entry.untilMs) return entry.trouble
    this.#entries.delete(key)
    return null
  }

  /** For SILENT_HOST_MS from now; the oldest of too many is forgotten. */
  add(key: string, trouble: Trouble): void {
    this.#entries.delete(key)
    const [oldest] = this.#entries.size < SILENT_HOSTS_MAX ? [] : this.#entries.keys()
    if (oldest !== undefined) this.#entries.delete(oldest)
    this.#entries.set(key, { untilMs: this.#clock.monotonic() + SILENT_HOST_MS, trouble })
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}
