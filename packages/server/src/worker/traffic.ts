// What is under way, and whether there is room for one more: so many attempts and so many octets of
// large items, of which destinations that do not answer, or not for long, have a part.

import { ROW_BLOB_BYTES_MAX } from '#base/limits.ts'
import type { DispatcherBounds, ShareBounds } from '#jobs/dispatched-queue.ts'

export type UnderWay = {
  /** It goes on for long, and counts as unproven from now on. */
  turnLong(): void
  /** Once. */
  end(): void
}

export class Traffic {
  readonly #attempts: Share
  readonly #bytes: Share
  readonly #smallLaneAttempts: number

  constructor({ attempts, bytes, smallLaneAttempts }: DispatcherBounds) {
    this.#attempts = new Share(attempts)
    this.#bytes = new Share(bytes)
    this.#smallLaneAttempts = smallLaneAttempts
  }

  get active(): number {
    return this.#attempts.all
  }

  /** Lanes with few attempts under way always find some room that those with many leave to them. */
  hasRoomFor({ isProven, isSmall }: { isProven: boolean; isSmall: boolean }): boolean {
    return this.#attempts.hasRoom(isProven, isSmall ? 0 : this.#smallLaneAttempts)
  }

  /** One item may be larger than all that is allowed together. */
  hasBytesFor(isProven: boolean, sizeBytes: number): boolean {
    return countedBytes(sizeBytes) === 0 || this.#bytes.hasRoom(isProven, 0)
  }

  begin(isProven: boolean, sizeBytes: number): UnderWay {
    const bytes = countedBytes(sizeBytes)
    let isUnproven = !isProven
    const count = (attempts: number, octets: number) => {
      this.#attempts.add(attempts, isUnproven)
      this.#bytes.add(octets, isUnproven)
    }
    count(1, bytes)
    return {
      turnLong() {
        count(-1, -bytes)
        isUnproven = true
        count(1, bytes)
      },
      end: () => count(-1, -bytes),
    }
  }
}

/** Small ones are bounded by the attempts. */
function countedBytes(sizeBytes: number): number {
  return sizeBytes > ROW_BLOB_BYTES_MAX ? sizeBytes : 0
}

class Share {
  readonly #bounds: ShareBounds
  #unproven = 0
  all = 0

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds
  }

  /** What turned out to be unproven beyond its part takes nothing of that of the others. */
  hasRoom(isProven: boolean, reserved: number): boolean {
    const { max, unprovenMax, hardMax } = this.#bounds
    const counted = this.all - Math.max(0, this.#unproven - unprovenMax)
    if (counted >= max - reserved || this.all >= hardMax) return false
    return isProven || this.#unproven < unprovenMax
  }

  add(amount: number, isUnproven: boolean): void {
    this.all += amount
    if (isUnproven) this.#unproven += amount
  }
}
