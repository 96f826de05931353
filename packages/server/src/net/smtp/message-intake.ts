// One message on its way in, with its share of the memory that all connections have for messages.
// Says what the message is refused for, once its real end has been read.

import { DataDecoder } from '#mail/smtp/data-decoder.ts'
import type { Reply } from '#mail/smtp/reply.ts'
import * as replies from './replies.ts'
import type { ReceivedContent } from './session.ts'
import type { SmtpLimits } from './smtp-limits.ts'

/** What all connections together hold of messages. */
export type IntakeBudget = {
  heldBytes: number
  /** Messages that come in or are being stored. */
  messages: number
  /** Octets, by whom they are from. */
  readonly byAddress: Map<string, number>
}

/** Nothing yet. */
export function emptyBudget(): IntakeBudget {
  return { heldBytes: 0, messages: 0, byAddress: new Map() }
}

/** Whether there is room for the first octet of another message from there. */
export function hasIntakeRoom(budget: IntakeBudget, limits: SmtpLimits, address: string): boolean {
  const ofAddress = budget.byAddress.get(address) ?? 0
  return budget.heldBytes < limits.intakeBytesMax && ofAddress < limits.intakeBytesPerAddressMax
}

export class MessageIntake {
  readonly #limits: SmtpLimits
  readonly #budget: IntakeBudget
  readonly #address: string
  readonly #data = new DataDecoder()
  #heldBytes = 0
  #hadNoMemory = false
  #isReleased = false

  /** `address` is whom it is from, as far as they share the memory. */
  constructor(limits: SmtpLimits, budget: IntakeBudget, address: string) {
    this.#limits = limits
    this.#budget = budget
    this.#address = address
    budget.messages += 1
  }

  get isComplete(): boolean {
    return this.#data.isComplete
  }

  /** Takes octets of `chunk` from `offset`; returns the offset after what belongs to the message. */
  read(chunk: Buffer, offset: number): number {
    const end = this.#data.decode(chunk, offset)
    if (this.#data.sizeBytes > this.#limits.messageBytesMax) this.#data.discard()
    const growthBytes = this.#data.heldBytes - this.#heldBytes
    if (growthBytes > 0 && !this.#hasRoomFor(growthBytes)) {
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
    if (!this.#isReleased) this.#budget.messages -= 1
    this.#isReleased = true
  }

  #hasRoomFor(growthBytes: number): boolean {
    const { intakeBytesMax, intakeBytesPerAddressMax } = this.#limits
    const ofAddress = this.#budget.byAddress.get(this.#address) ?? 0
    return (
      this.#budget.heldBytes + growthBytes <= intakeBytesMax &&
      ofAddress + growthBytes <= intakeBytesPerAddressMax
    )
  }

  #hold(heldBytes: number): void {
    const { byAddress } = this.#budget
    const growthBytes = heldBytes - this.#heldBytes
    this.#heldBytes = heldBytes
    if (growthBytes === 0) return
    this.#budget.heldBytes += growthBytes
    const ofAddress = (byAddress.get(this.#address) ?? 0) + growthBytes
    if (ofAddress === 0) byAddress.delete(this.#address)
    else byAddress.set(this.#address, ofAddress)
  }
}
