// The times within which a client must have spoken. Only whole commands count, and DATA by its rate,
// so that an octet now and then buys nobody time.

import type { CutReason } from './outcome.ts'
import type { SmtpLimits } from './smtp-limits.ts'

export class Deadlines {
  readonly #limits: SmtpLimits
  readonly #openedMs: number
  /** When the client was last given its turn, or the window of DATA began. */
  #turnMs: number
  #windowBytes = 0

  /** All times are monotonic milliseconds. */
  constructor(limits: SmtpLimits, nowMs: number) {
    this.#limits = limits
    this.#openedMs = nowMs
    this.#turnMs = nowMs
  }

  giveTurn(nowMs: number): void {
    this.#turnMs = nowMs
    this.#windowBytes = 0
  }

  /** How long the other side has been waited for, as far as only whole commands count. */
  waitedMs(nowMs: number): number {
    return nowMs - this.#turnMs
  }

  countData(bytes: number): void {
    this.#windowBytes += bytes
  }

  /** What has passed, if anything; `phase` says whom the other side waits for. */
  findPassed(phase: 'command' | 'data' | 'answer', nowMs: number): CutReason | null {
    const { connectionMsMax, commandMsMax } = this.#limits
    const openMs = nowMs - this.#openedMs
    if (phase === 'answer') {
      // The client waits for us, and a message that is being stored deserves its true answer.
      return openMs >= connectionMsMax + commandMsMax ? 'connection-deadline' : null
    }
    if (openMs >= connectionMsMax) return 'connection-deadline'
    if (phase === 'data') return this.#isDataSlow(nowMs) ? 'slow-data' : null
    return nowMs - this.#turnMs >= commandMsMax ? 'command-deadline' : null
  }

  #isDataSlow(nowMs: number): boolean {
    const windowMs = nowMs - this.#turnMs
    if (windowMs < this.#limits.dataRateWindowMs) return false
    const bytesPerSecond = (this.#windowBytes * 1000) / windowMs
    this.giveTurn(nowMs)
    return bytesPerSecond < this.#limits.dataBytesPerSecondMin
  }
}
