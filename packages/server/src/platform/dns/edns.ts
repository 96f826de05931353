// DNS servers without EDNS (RFC 6891) are asked without it, and give no DNSSEC verdict.

import type { Clock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'

/** A server that has never answered with EDNS is asked without it after this many rounds. */
const EDNS_ROUNDS_MAX = 2
/** How long a server is asked without EDNS once it has answered only so. */
const EDNS_FORGOTTEN_MS = 600 * SECOND_MS

export class EdnsMemory {
  readonly #clock: Clock
  /** Servers that have answered with EDNS; a later silence has another cause. */
  readonly #known = new Set<number>()
  /** The end of the time without EDNS, by server. */
  readonly #withoutUntilMs = new Map<number, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `round` counts the rounds of a lookup from 0. */
  mayAsk(server: number, round: number): boolean {
    if (this.#known.has(server)) return true
    const untilMs = this.#withoutUntilMs.get(server) ?? 0
    return round < EDNS_ROUNDS_MAX && this.#clock.monotonic() >= untilMs
  }

  noteAnswer(server: number, hasEdns: boolean): void {
    if (hasEdns) {
      this.#known.add(server)
      this.#withoutUntilMs.delete(server)
    } else {
      this.#known.delete(server)
      this.#withoutUntilMs.set(server, this.#clock.monotonic() + EDNS_FORGOTTEN_MS)
    }
  }
}
