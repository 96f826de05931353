// Whether DNS answers at all. One name's servers may be silent while all others answer, and whoever
// sends mail chooses names; so silence is told from a question of our own, and while it lasts nobody
// waits for an answer.

import type { Clock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Answer } from './answer.ts'

/** A question unanswered for this long has it asked whether DNS answers at all. */
const DNS_SILENCE_MS = SECOND_MS

export type SilentFault = Extract<Answer<never>, { kind: 'fault' }>

/** Tells nothing of the name: it was not asked for, or is still. */
export const SILENT: SilentFault = { kind: 'fault', text: 'DNS does not answer', isSilent: true }

export class Silence {
  readonly #ask: () => Promise<Answer<unknown>>
  readonly #clock: Clock
  #isSilent = false
  readonly #waiting = new Set<(fault: SilentFault) => void>()
  #isProbing = false
  /** Answers so far. */
  #heard = 0
  #probedAtMs = Number.NEGATIVE_INFINITY

  /** `ask` is a question that every working server answers at once. */
  constructor(ask: () => Promise<Answer<unknown>>, clock: Clock) {
    this.#ask = ask
    this.#clock = clock
  }

  /**
   * The answer, or SILENT as soon as it is known that none is to be had. Asks nothing meanwhile.
   * The time until `ask` calls back that its question is asked is no silence of DNS.
   */
  wait<Value>(ask: (onAsked: () => void) => Promise<Answer<Value>>): Promise<Answer<Value>> {
    if (this.#isSilent) {
      this.#probe()
      return Promise.resolve(SILENT)
    }
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined
      const onAsked = () => {
        timer = setTimeout(() => this.#probe(), DNS_SILENCE_MS)
      }
      const finish = (answer: Answer<Value>) => {
        clearTimeout(timer)
        this.#waiting.delete(finish)
        resolve(answer)
      }
      this.#waiting.add(finish)
      void ask(onAsked).then((answer) => {
        // One that comes late tells as much of DNS.
        this.#note(answer)
        finish(answer)
      })
    })
  }

  #note(answer: Answer<unknown>): void {
    if (answer.kind === 'fault' && answer.isSilent === true) return
    this.#heard += 1
    this.#isSilent = false
  }

  /** An answer to anybody is one as well: the packets of this question may be lost. */
  #probe(): void {
    const nowMs = this.#clock.monotonic()
    if (this.#isProbing || nowMs - this.#probedAtMs < DNS_SILENCE_MS) return
    this.#isProbing = true
    this.#probedAtMs = nowMs
    const heardBefore = this.#heard
    const judge = () => {
      if (this.#heard === heardBefore) this.#begin()
    }
    const timer = setTimeout(judge, DNS_SILENCE_MS)
    void this.#ask().then((answer) => {
      clearTimeout(timer)
      this.#isProbing = false
      this.#note(answer)
      judge()
    })
  }

  #begin(): void {
    if (this.#isSilent) return
    this.#isSilent = true
    for (const finish of this.#waiting) finish(SILENT)
  }
}
