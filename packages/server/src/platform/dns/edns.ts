// Which DNS servers understand EDNS (RFC 6891). Those that do not are asked without it, and give no verdict of DNSSEC.

import type { Clock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'

/** Rounds without an answer, before a server that has never answered with EDNS is asked without it. */
const EDNS_ROUNDS_MAX = 2
/** How long a server is asked without EDNS after it has answered only so. */
const EDNS_FORGOTTEN_MS = 600 * SECOND_MS

export class EdnsMemory {
  readonly #clock: Clock
  /** By the index of the server: has answered with EDNS, so that silence has another reason. */
  readonly #known = new Set<number>()
  /** By the index of the server: the end of the time without EDNS. */
  readonly #withoutUntilMs = new Map<number, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the server is asked with EDNS in this round of a lookup, from 0. */
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
