// One message on its way in, with its share of the memory that all connections have for messages.
// Says what the message is refused for, once its real end has been read.

import { DataDecoder } from '#mail/smtp/data-decoder.ts'
import type { Reply } from '#mail/smtp/reply.ts'
import * as replies from './replies.ts'
import type { ReceivedContent } from './session.ts'
import type { SmtpLimits } from './smtp-limits.ts'

/** Octets of messages held by all connections together. */
export type IntakeBudget = { heldBytes: number }

export class MessageIntake {
  readonly #limits: SmtpLimits
  readonly #budget: IntakeBudget
  readonly #data = new DataDecoder()
  #heldBytes = 0
  #hadNoMemory = false

  constructor(limits: SmtpLimits, budget: IntakeBudget) {
    this.#limits = limits
    this.#budget = budget
  }

  get isComplete(): boolean {
    return this.#data.isComplete
  }

  /** Takes octets of `chunk` from `offset`; returns the offset after what belongs to the message. */
  read(chunk: Buffer, offset: number): number {
    const end = this.#data.decode(chunk, offset)
    if (this.#data.sizeBytes > this.#limits.messageBytesMax) this.#data.discard()
    const growthBytes = this.#data.heldBytes - this.#heldBytes
    if (this.#budget.heldBytes + growthBytes > this.#limits.intakeBytesMax && growthBytes > 0) {
      this.#hadNoMemory = true
      this.#data.discard()
    }
    this.#hold(this.#data.heldBytes)
    return end
  }

  /** Why the complete message cannot be handed over, or null when it can. */
  get refusal(): Reply | null {
    if (this.#data.hasBareCarriageReturn) return replies.BARE_CR
    if (this.#data.sizeBytes > this.#limits.messageBytesMax) return replies.TOO_BIG
    return this.#hadNoMemory ? replies.NO_MEMORY : null
  }

  get content(): ReceivedContent {
    const { chunks, sizeBytes, bareLineFeeds } = this.#data
    return { chunks, sizeBytes, bareLineFeeds }
  }

  /** Gives the memory back to the others; the second time does nothing. */
  release(): void {
    this.#hold(0)
  }

  #hold(heldBytes: number): void {
    this.#budget.heldBytes += heldBytes - this.#heldBytes
    this.#heldBytes = heldBytes
  }
}
