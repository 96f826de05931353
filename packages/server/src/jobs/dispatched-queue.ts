// What a dispatcher works on: a queue of items in lanes, leased before they are worked on, and how much
// of it at once.

/** Something to be delivered; items of one lane share a destination. */
export type Item = { readonly id: string; readonly lane: string; readonly size_bytes: number }

/** Items that are delivered in one attempt, all of one lane. */
export type Group<Held extends Item> = readonly [Held, ...Held[]]

/**
 * What an attempt says about its lane: `reached` that its servers answer, `unreached` that they do
 * not, `crowded` that there are enough connections to them, `returned` nothing.
 */
export type GroupOutcome = 'reached' | 'unreached' | 'crowded' | 'returned'

export type DispatchedQueue<Held extends Item> = {
  /** Up to `limit` lanes with items that nobody holds, by name, after `after`. */
  listReadyLanes(after: string, limit: number): Promise<string[]>
  claim(lanes: { lane: string; limit: number }[]): Promise<Held[]>
  /** Items of one claim that go together. */
  group(held: readonly Held[]): Group<Held>[]
  /** Makes due items ready, and those of a process that is gone; tells whenever some may be. */
  readyDue(onReady?: () => void, signal?: AbortSignal): Promise<void>
  /** Lengthens the leases of all that was claimed here and is neither delivered nor given back. */
  renew(): Promise<void>
  /** Gives back what was not attempted. */
  giveBack(held: readonly Held[]): Promise<void>
  /** On return nothing of the group is held any more. Aborted, it ends as soon as it can. */
  deliver(group: Group<Held>, signal: AbortSignal): Promise<GroupOutcome>
}

/** Of some amount: all together, the unproven's part of it, and the bound with what goes on for long. */
export type ShareBounds = {
  readonly max: number
  readonly unprovenMax: number
  readonly hardMax: number
}

export type DispatcherBounds = {
  readonly attempts: ShareBounds
  /** Of `attempts.max`, for lanes that have no more under way than they started with. */
  readonly smallLaneAttempts: number
  /** Of large items under way. */
  readonly bytes: ShareBounds
  /** Items leased ahead, and the part of it of lanes that did not answer lately. */
  readonly heldMax: number
  readonly unprovenHeldMax: number
  /** An attempt under way for longer counts as unproven. */
  readonly longAttemptMs: number
  /** Leases are renewed three times as often. */
  readonly leaseMs: number
}
