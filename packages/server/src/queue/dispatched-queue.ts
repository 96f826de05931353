// What a dispatcher works on: a queue of items in lanes, leased before they are worked on, and how much
// of it at once.

/** Something to be delivered, of an account; items of one lane share a destination. */
export type Item = {
  readonly id: string
  readonly account_id: string
  readonly lane: string
  readonly size_bytes: number
}

/** Up to so many items of a lane, or of those that one account has in it. */
export type LaneShare = { readonly lane: string; readonly limit: number; readonly owner?: string }

/** Items that are delivered in one attempt, all of one lane and one account. */
export type Group<Held extends Item> = readonly [Held, ...Held[]]

/**
 * What an attempt says about its lane: `reached` that its servers answer, `unreached` that they do
 * not, `crowded` that there are enough connections to them, `returned` nothing.
 */
export type GroupOutcome = 'reached' | 'unreached' | 'crowded' | 'returned'

export type DispatchedQueue<Held extends Item> = {
  /** Up to `limit` lanes with items that nobody holds, by name, after `after`. */
  listReadyLanes(after: string, limit: number): Promise<string[]>
  /** Whose these lanes are, where what nobody knows yet is bounded by owner. */
  findOwners?(lanes: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Up to `limit` accounts with items that nobody holds, by id, after `after`. */
  listReadyOwners(after: string, limit: number): Promise<string[]>
  /** Up to `limit` lanes in which this account has such, by name, after `after`. */
  listOwnerLanes(owner: string, after: string, limit: number): Promise<string[]>
  claim(lanes: readonly LaneShare[]): Promise<Held[]>
  /** Items of one claim that go together. */
  group(held: readonly Held[]): Group<Held>[]
  /** Makes due items ready, and those of a process that is gone; tells whenever some may be. */
  readyDue(onReady?: () => void, signal?: AbortSignal): Promise<void>
  /** Lengthens the leases of all that was claimed here and is neither delivered nor given back. */
  renew(): Promise<void>
  /** Gives back what was not attempted. */
  giveBack(held: readonly Held[]): Promise<void>
  /**
   * On return nothing of the group is held any more. Aborted, it ends as soon as it can.
   */
  deliver(
    group: Group<Held>,
    signal: AbortSignal,
    observer?: AttemptObserver,
  ): Promise<GroupOutcome>
}

/** What is known of an attempt before its outcome. */
export type AttemptObserver = {
  /** How many octets it really takes, where `size_bytes` was a guess. */
  onSize(sizeBytes: number): void
  /** A server of its destination speaks: it is not one that is gone. Where nobody says so it may be. */
  onAnswer(): void
}

/** Of some amount: all together, the unproven's part of it, and the bound with what goes on for long. */
export type ShareBounds = {
  readonly max: number
  readonly unprovenMax: number
  readonly hardMax: number
}

/** Of some amount: what began a moment ago, and all with what goes on for long. */
export type ReserveBounds = Pick<ShareBounds, 'max' | 'hardMax'>

/** Of octets: items up to `uncountedMax` are bounded by the attempts. */
export type ByteBounds = ShareBounds & {
  readonly uncountedMax: number
  /** Of every bound, for items that take no more than `smallMax` each. */
  readonly keptForSmall: number
  readonly smallMax: number
}

/**
 * A part for lanes that nothing is known of, which neither those that answer nor those that do not can
 * use up. One that has not answered after `longAttemptMs` is a newcomer no more.
 */
export type NewcomerBounds = {
  readonly attempts: ReserveBounds
  readonly bytes: ReserveBounds
  readonly longAttemptMs: number
  /**
   * Items in the hands of one owner's lanes that never answered, or not lately, past which no other
   * newcomer of this owner gets any, and past which none of these lanes does.
   */
  readonly ownerHeldMax: number
  readonly ownerSilentHeldMax: number
}

/** What is kept for accounts that have little, past what others fill. */
export type OwnerBounds = {
  /** Attempts, and octets, beyond every bound, for accounts that have few attempts under way. */
  readonly smallAttempts: number
  readonly smallBytes: number
  /** Items leased ahead, beyond `heldMax`, for accounts that have few in hand. */
  readonly held: number
}

export type DispatcherBounds = {
  readonly attempts: ShareBounds
  /** Of a lane that nothing is known of. */
  readonly laneStart: number
  /** Of a lane whose servers answer, that may hang without a place in it. */
  readonly laneAsideMax: number
  /** The same of another lane, once a server has greeted, while such lanes have fewer attempts than this. */
  readonly unprovenAsideBelow: number
  /** Lanes count as answering from the first, and whatever becomes of them. */
  readonly trustsLanes: boolean
  /** Of `attempts.max`, for lanes that have few under way. */
  readonly smallLaneAttempts: number
  /** Under way. */
  readonly bytes: ByteBounds
  /** Null: lanes that nothing is known of are as those that did not answer. */
  readonly newcomers: NewcomerBounds | null
  readonly owners: OwnerBounds
  /** Lanes that something is remembered of. */
  readonly lanesKeptMax: number
  /** Items leased ahead, and the part of it of lanes that did not answer lately. */
  readonly heldMax: number
  readonly unprovenHeldMax: number
  /** An attempt under way for longer counts as unproven. */
  readonly longAttemptMs: number
  /** Leases are renewed three times as often. */
  readonly leaseMs: number
}
