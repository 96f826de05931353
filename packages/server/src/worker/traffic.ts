// What is under way, and whether there is room for one more: so many attempts and so many octets of
// large messages, of which destinations that do not answer, or not for long, have a part.

import {
  LONG_OUTBOUND_BYTES_MAX,
  LONG_TRANSACTIONS_MAX,
  OUTBOUND_BYTES_MAX,
  ROW_BLOB_BYTES_MAX,
  SMALL_LANE_TRANSACTIONS,
  TRANSACTIONS_MAX,
  UNPROVEN_OUTBOUND_BYTES_MAX,
  UNPROVEN_TRANSACTIONS_MAX,
} from '#base/limits.ts'

export type UnderWay = {
  /** It goes on for long, and counts as unproven from now on. */
  turnLong(): void
  /** Once. */
  end(): void
}

export class Traffic {
  readonly #attempts = new Share({
    max: TRANSACTIONS_MAX,
    unprovenMax: UNPROVEN_TRANSACTIONS_MAX,
    hardMax: LONG_TRANSACTIONS_MAX,
  })
  readonly #bytes = new Share({
    max: OUTBOUND_BYTES_MAX,
    unprovenMax: UNPROVEN_OUTBOUND_BYTES_MAX,
    hardMax: LONG_OUTBOUND_BYTES_MAX,
  })

  get active(): number {
    return this.#attempts.all
  }

  /** Lanes with few attempts under way always find some room that those with many leave to them. */
  hasRoomFor({ isProven, isSmall }: { isProven: boolean; isSmall: boolean }): boolean {
    return this.#attempts.hasRoom(isProven, isSmall ? 0 : SMALL_LANE_TRANSACTIONS)
  }

  /** One message may be larger than all that is allowed together. */
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

/** Small messages are bounded by the attempts. */
function countedBytes(sizeBytes: number): number {
  return sizeBytes > ROW_BLOB_BYTES_MAX ? sizeBytes : 0
}

type Bounds = { max: number; unprovenMax: number; hardMax: number }

class Share {
  readonly #bounds: Bounds
  #unproven = 0
  all = 0

  constructor(bounds: Bounds) {
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
