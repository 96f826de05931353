import type { Head, Item, Share } from './dispatched-queue.ts'
import type { DispatcherBounds, LaneState } from './dispatcher-bounds.ts'
import { Lane } from './lane.ts'
import type { Slots } from './slots.ts'

/** Heads that one claim takes from. */
const HEADS_PER_CLAIM = 200
/** An account with fewer items in hand gets some past all that others hold: so many in all. */
const ACCOUNT_HELD_FEW = 20
const EXTRA_HELD_MAX = 1_000

const NONE = { accounts: 0, held: 0 }

export type InHand<Held extends Item> = {
  readonly bounds: DispatcherBounds
  readonly slots: Slots
  /** Those that something is known of, and of these those that are not empty. */
  readonly lanes: ReadonlyMap<string, Lane<Held>>
  readonly busy: Iterable<Lane<Held>>
  /** Of accounts with items in hand. */
  readonly accounts: ReadonlyMap<string, { readonly held: number }>
}

/** How much of each of these heads to claim now: they share evenly what there is room for. */
export function allot<Held extends Item>(heads: Iterable<Head>, inHand: InHand<Held>): Share[] {
  const allotment = new Allotment(inHand)
  const [ofSmall, ofOthers]: [Head[], Head[]] = [[], []]
  for (const head of heads) {
    const chosen = allotment.heldOf(head.account) < ACCOUNT_HELD_FEW ? ofSmall : ofOthers
    if (chosen.length < HEADS_PER_CLAIM && allotment.roomFor(head) > 0) chosen.push(head)
  }
  const chosen = [...ofSmall, ...ofOthers].slice(0, HEADS_PER_CLAIM)
  const shares: Share[] = []
  for (const [state, alike] of Map.groupBy(chosen, ({ lane }) => allotment.laneOf(lane).state)) {
    const each = Math.max(1, Math.floor(allotment.free[state] / alike.length))
    for (const head of alike) {
      const limit = Math.min(each, allotment.roomFor(head))
      if (limit <= 0) continue
      allotment.give(head, limit)
      shares.push({ ...head, limit })
    }
  }
  return shares
}

/** What may be claimed beside what is in hand and what was given before. */
export class Allotment<Held extends Item> {
  readonly #inHand: InHand<Held>
  readonly #unknown: Lane<Held>
  /** Items, by the state of their lanes; below 0 where small accounts hold more than that. */
  readonly free: Record<LaneState, number>
  /** Items in lanes that do not answer, by account. */
  readonly #unanswered = new Map<string, number>()
  readonly #givenIn = new Map<string, { accounts: number; held: number }>()
  readonly #givenTo = new Map<string, number>()

  constructor(inHand: InHand<Held>) {
    const { bounds, slots, busy } = inHand
    this.#inHand = inHand
    this.#unknown = new Lane('', bounds)
    this.free = { ...bounds.heldMax }
    for (const lane of busy) {
      this.free[lane.state] -= lane.held
      if (lane.isAnswering) continue
      for (const [account, count] of lane.heldByAccount()) add(this.#unanswered, account, count)
    }
    for (const state of ['silent', 'new'] as const) {
      this.free[state] = Math.min(this.free[state], slots.free(state))
    }
  }

  laneOf(name: string): Lane<Held> {
    return this.#inHand.lanes.get(name) ?? this.#unknown
  }

  heldOf(account: string): number {
    return (this.#inHand.accounts.get(account)?.held ?? 0) + (this.#givenTo.get(account) ?? 0)
  }

  roomFor({ account, lane: name }: Head): number {
    const { bounds, slots } = this.#inHand
    const lane = this.laneOf(name)
    const extra = { answering: EXTRA_HELD_MAX, silent: slots.reserveFree, new: 0 }[lane.state]
    const few = Math.min(this.free[lane.state] + extra, ACCOUNT_HELD_FEW - this.heldOf(account))
    const unanswered = this.#unanswered.get(account) ?? 0
    return Math.min(
      Math.max(this.free[lane.state], few),
      bounds.accountHeldMax[lane.state] - unanswered,
      lane.roomFor(account, this.#givenIn.get(name) ?? NONE),
    )
  }

  give({ account, lane: name }: Head, limit: number): void {
    const lane = this.laneOf(name)
    this.free[lane.state] -= limit
    const { accounts, held } = this.#givenIn.get(name) ?? NONE
    this.#givenIn.set(name, { accounts: accounts + 1, held: held + limit })
    add(this.#givenTo, account, limit)
    if (!lane.isAnswering) add(this.#unanswered, account, limit)
  }
}

function add(counts: Map<string, number>, key: string, amount: number): void {
  counts.set(key, (counts.get(key) ?? 0) + amount)
}
