// A message that is being received, and its share of the memory for all messages. If memory is
// short, a slow message is evicted, or one of the address that uses most memory.

import { DataDecoder } from '@mailroom/mail/smtp/data.ts'
import type { Reply } from '@mailroom/mail/smtp/reply.ts'
import { makePortCounts, PortCounts } from './port-counts.ts'
import * as replies from './replies.ts'
import type { ReceivedContent, SmtpLimits } from './session.ts'

/** Memory and messages of all connections together. */
export type IntakeBudget = {
  /** The memory of messages, including those of other servers on the port. */
  readonly counts: PortCounts
  messages: number
  /** Messages that are not yet complete. */
  readonly started: Set<MessageIntake>
}

export function emptyBudget(counts = new PortCounts(makePortCounts(1), 0)): IntakeBudget {
  return { counts, messages: 0, started: new Set() }
}

/**
 * A request for memory: the address, the growth of its message, and whether that message is slow.
 */
type Need = { readonly address: string; readonly growthBytes: number; readonly isSlow: boolean }

/** Whether there is memory for another message from `address`; evicts others if needed. */
export function hasIntakeRoom(budget: IntakeBudget, limits: SmtpLimits, address: string): boolean {
  return makeRoom(budget, limits, { address, growthBytes: 1, isSlow: false })
}

function makeRoom(budget: IntakeBudget, limits: SmtpLimits, need: Need): boolean {
  const wantedBytes = budget.counts.heldBytesOf(need.address) + need.growthBytes
  if (wantedBytes > limits.intakeBytesPerAddressMax) return false
  while (budget.counts.heldBytes + need.growthBytes > limits.intakeBytesMax) {
    const evicted = findEvictable(budget, limits, { ...need, wantedBytes })
    if (evicted === null) return false
    evicted.evict()
  }
  return true
}

/**
 * The message to evict: a slow one, or one of an address that would still use as much memory as the
 * requesting address. Slow messages come first, then those of the address that uses most memory,
 * then the largest, so an address's only message continues while it is not slow. An address may
 * evict slow messages only for one message of full size, and only while its own message is not
 * slow.
 */
function findEvictable(
  budget: IntakeBudget,
  limits: SmtpLimits,
  { address, wantedBytes, isSlow }: Need & { readonly wantedBytes: number },
): MessageIntake | null {
  const mayPassSlow = !isSlow && wantedBytes <= limits.messageBytesMax
  let found: { intake: MessageIntake; rank: readonly number[] } | null = null
  for (const intake of budget.started) {
    if (intake.address === address || intake.heldBytes === 0) continue
    const ofAddress = budget.counts.heldBytesOf(intake.address)
    const isFair = ofAddress - intake.heldBytes >= wantedBytes
    if (!isFair && !(mayPassSlow && intake.isSlow)) continue
    const rank = [intake.isSlow ? 1 : 0, ofAddress, intake.heldBytes]
    if (found === null || isHigher(rank, found.rank)) found = { intake, rank }
  }
  return found?.intake ?? null
}

export class MessageIntake {
  /** Client addresses in one group share memory. */
  readonly address: string
  readonly startedMs: number
  /** Closes the message's connection, which frees its memory. */
  readonly evict: () => void
  /** Whether less than `slowBytesPerSecond` arrived in the last `paceWindowMs`. */
  isSlow = false
  readonly #limits: SmtpLimits
  readonly #budget: IntakeBudget
  readonly #data = new DataDecoder()
  #windowMs: number
  #windowBytes = 0
  #heldBytes = 0
  #hadNoMemory = false
  #isReleased = false

  constructor(
    service: { readonly limits: SmtpLimits; readonly intake: IntakeBudget },
    from: { readonly address: string; readonly nowMs: number; evict(): void },
  ) {
    this.address = from.address
    this.startedMs = from.nowMs
    this.evict = from.evict
    this.#limits = service.limits
    this.#budget = service.intake
    this.#windowMs = from.nowMs
    this.#budget.messages += 1
    this.#budget.started.add(this)
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  get isComplete(): boolean {
    return this.#data.isComplete
  }

  /** Reads octets of `chunk` from `offset` and returns the offset after the message's last one. */
  read(chunk: Buffer, offset: number): number {
    const end = this.#data.decode(chunk, offset)
    this.#windowBytes += end - offset
    if (this.#data.sizeBytes > this.#limits.messageBytesMax) this.#data.discard()
    const growthBytes = this.#data.heldBytes - this.#heldBytes
    if (growthBytes > 0 && !this.#hasRoomFor(growthBytes)) {
      this.#hadNoMemory = true
      this.#data.discard()
    }
    this.#hold(this.#data.heldBytes)
    if (this.#data.isComplete) this.#budget.started.delete(this)
    return end
  }

  /** Measures the rate; called about once a second. */
  sweep(nowMs: number): void {
    const passedMs = nowMs - this.#windowMs
    if (passedMs < this.#limits.paceWindowMs) return
    this.isSlow = (this.#windowBytes * 1000) / passedMs < this.#limits.slowBytesPerSecond
    this.#windowMs = nowMs
    this.#windowBytes = 0
  }

  /** The reply if the complete message cannot be stored; otherwise null. */
  get refusal(): Reply | null {
    if (this.#data.hasBareCarriageReturn) return replies.BARE_CR
    if (this.#data.sizeBytes > this.#limits.messageBytesMax) return replies.TOO_BIG
    return this.#hadNoMemory ? replies.NO_MEMORY : null
  }

  get content(): ReceivedContent {
    const { chunks, sizeBytes, bareLineFeeds } = this.#data
    return { chunks, sizeBytes, bareLineFeeds }
  }

  /** Frees the memory. Further calls do nothing. */
  release(): void {
    this.#hold(0)
    this.#budget.started.delete(this)
    if (!this.#isReleased) this.#budget.messages -= 1
    this.#isReleased = true
  }

  #hasRoomFor(growthBytes: number): boolean {
    const { address, isSlow } = this
    return makeRoom(this.#budget, this.#limits, { address, growthBytes, isSlow })
  }

  #hold(heldBytes: number): void {
    const growthBytes = heldBytes - this.#heldBytes
    this.#heldBytes = heldBytes
    if (growthBytes !== 0) this.#budget.counts.hold(this.address, growthBytes)
  }
}

/** Compares two lists of equal length lexicographically. */
export function isHigher(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((figure, index) => figure !== other[index])
  return at >= 0 && (one[at] ?? 0) > (other[at] ?? 0)
}
