// DNS servers that lack EDNS (RFC 6891) are queried without it and give no DNSSEC verdict.

import type { Clock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'

/** A server that has never answered with EDNS is queried without it after this many rounds. */
const EDNS_ROUNDS_MAX = 2
/** How long a server is queried without EDNS once it has answered only without it. */
const EDNS_FORGOTTEN_MS = 600 * SECOND_MS

export class EdnsMemory {
  readonly #clock: Clock
  /** Servers that have answered with EDNS; if they stop answering, EDNS is not the cause. */
  readonly #known = new Set<number>()
  /** When EDNS is tried again, by server. */
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
