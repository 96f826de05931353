// What is under way, and whether there is room for one more: so many attempts and so many octets, of
// which destinations that do not answer, or not for long, have a part. Newcomers may have a part of
// their own, which is no part of that of the others.

import type {
  ByteBounds,
  DispatcherBounds,
  OwnerBounds,
  ReserveBounds,
  ShareBounds,
} from './dispatched-queue.ts'
import type { Standing } from './lane.ts'

export type UnderWay = {
  /** It takes so many octets, not what was said before. */
  resize(sizeBytes: number): void
  /** It goes on for long, and counts as unproven from now on. */
  turnLong(): void
  /** Once. */
  end(): void
}

type Part = { readonly attempts: Share; readonly bytes: Share }

export class Traffic {
  readonly #known: Part
  readonly #newcomers: Part | null
  readonly #smallLaneAttempts: number
  readonly #byteBounds: ByteBounds
  readonly #ownerBounds: OwnerBounds

  constructor({ attempts, bytes, smallLaneAttempts, newcomers, owners }: DispatcherBounds) {
    this.#known = { attempts: new Share(attempts), bytes: new Share(bytes) }
    this.#newcomers = newcomers && {
      attempts: new Share(reserve(newcomers.attempts)),
      bytes: new Share(reserve(newcomers.bytes)),
    }
    this.#smallLaneAttempts = smallLaneAttempts
    this.#byteBounds = bytes
    this.#ownerBounds = owners
  }

  get active(): number {
    return this.#known.attempts.all + (this.#newcomers?.attempts.all ?? 0)
  }

  /** Attempts of lanes that do not answer, or not for long. */
  get unproven(): number {
    return this.#known.attempts.unproven
  }

  /** Attempts that newcomers may begin now. */
  get newcomersFree(): number {
    return this.#newcomers?.attempts.free ?? 0
  }

  /**
   * Lanes with few attempts under way always find some room that those with many leave to them, and
   * accounts with few find some past all that others have.
   */
  hasRoomFor(
    { standing, isSmall }: { standing: Standing; isSmall: boolean },
    isSmallOwner = false,
  ): boolean {
    const { part, isUnproven } = this.#partOf(standing)
    if (part === this.#newcomers) return part.attempts.free > 0
    const reserved = isSmall ? 0 : this.#smallLaneAttempts
    const beyond = isSmallOwner ? this.#ownerBounds.smallAttempts : 0
    return part.attempts.hasRoom(!isUnproven, reserved, -beyond)
  }

  /** One item may be larger than all that is allowed together. */
  hasBytesFor(standing: Standing, sizeBytes: number, isSmallOwner = false): boolean {
    const { keptForSmall, smallMax } = this.#byteBounds
    const { part, isUnproven } = this.#partOf(standing)
    const kept = sizeBytes <= smallMax ? 0 : keptForSmall
    const isKnown = part === this.#known
    const beyond = isSmallOwner && isKnown ? this.#ownerBounds.smallBytes : 0
    return this.#counted(sizeBytes) === 0 || part.bytes.hasRoom(!isUnproven, 0, kept - beyond)
  }

  begin(standing: Standing, sizeBytes: number): UnderWay {
    const { part, ...was } = this.#partOf(standing)
    let { isUnproven } = was
    let bytes = this.#counted(sizeBytes)
    const count = (attempts: number, octets: number) => {
      part.attempts.add(attempts, isUnproven)
      part.bytes.add(octets, isUnproven)
    }
    count(1, bytes)
    return {
      resize: (newBytes) => {
        count(0, this.#counted(newBytes) - bytes)
        bytes = this.#counted(newBytes)
      },
      turnLong() {
        count(-1, -bytes)
        isUnproven = true
        count(1, bytes)
      },
      end: () => count(-1, -bytes),
    }
  }

  #partOf(standing: Standing): { part: Part; isUnproven: boolean } {
    if (standing === 'newcomer' && this.#newcomers !== null) {
      return { part: this.#newcomers, isUnproven: false }
    }
    return { part: this.#known, isUnproven: standing !== 'proven' }
  }

  /** Small ones may be bounded by the attempts. */
  #counted(sizeBytes: number): number {
    return sizeBytes > this.#byteBounds.uncountedMax ? sizeBytes : 0
  }
}

/** What goes on for long is not counted, but in `hardMax`. */
function reserve({ max, hardMax }: ReserveBounds): ShareBounds {
  return { max, unprovenMax: 0, hardMax }
}

class Share {
  readonly #bounds: ShareBounds
  all = 0
  unproven = 0

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds
  }

  /** Room for what is not unproven. */
  get free(): number {
    const { max, hardMax } = this.#bounds
    return Math.max(0, Math.min(max - this.#counted, hardMax - this.all))
  }

  /** `reserved` is left of what there is for all, `kept` of the parts as well; below 0 it is added. */
  hasRoom(isProven: boolean, reserved: number, kept = 0): boolean {
    const { max, unprovenMax, hardMax } = this.#bounds
    if (this.#counted >= max - reserved - kept || this.all >= hardMax - kept) return false
    return isProven || this.unproven < unprovenMax - kept
  }

  /** What turned out to be unproven beyond its part takes nothing of that of the others. */
  get #counted(): number {
    return this.all - Math.max(0, this.unproven - this.#bounds.unprovenMax)
  }

  add(amount: number, isUnproven: boolean): void {
    this.all += amount
    if (isUnproven) this.unproven += amount
  }
}
