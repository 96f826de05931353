// A budget that processes share: so many tokens, of which each process holds some. A token that was
// used is nobody's until the window is over. Pure: what one exchange with the record of it changes.

import { SECOND_MS } from '#platform/units.ts'

/** How long after a shortage everybody is given what is wanted at once and nothing in advance. */
export const BUDGET_SHORT_MS = SECOND_MS
/** In advance a process is given one of so many parts of what is free for each that holds some. */
const BUDGET_SLICE_PART = 2
/** Used tokens that change hands rest this much longer: clocks of processes are not quite one. */
export const BUDGET_HANDOVER_MS = 250
/** To how many milliseconds their times are rounded up, so that a thousand are a few hundred times. */
export const BUDGET_COOLING_STEP_MS = 100

/** What one process holds, used within the window or not. */
export type BudgetShare = {
  holder: string
  held: number
  /** The exchange since which it has held all of it, and when that was. */
  sinceTurn: number
  sinceMs: number
  /** Whether it was ever given more of it than was wanted at once. */
  isAhead: boolean
}

export type BudgetState = {
  /** Exchanges so far: their order, which no clock decides. */
  turn: number
  shares: BudgetShare[]
  /** When how many tokens that nobody holds may be used again, the soonest first. */
  cooling: [atMs: number, count: number][]
  /** When there was last too little for somebody; null for long ago. */
  shortAtMs: number | null
}

export type BudgetAsk = {
  /** How many tokens there are. */
  limit: number
  /** How long a token is of no use after it was used; 0 for one that is held while it is used. */
  windowMs: number
  /** Tokens that the holder keeps, used or not. */
  kept: number
  /** Tokens that it gives back unused, and used ones with the time until they may be used again. */
  unused: number
  used: readonly (readonly [inMs: number, count: number])[]
  /** Tokens that are wanted now. */
  need: number
  /** One of these is not used at once. */
  isAhead?: boolean
  /** Gives as many as are wanted, past the limit: they are in use already. */
  isInUse?: boolean
}

export type BudgetAnswer = {
  turn: number
  /** Of the holder, after the exchange; more than it kept by what it was given. */
  held: number
  /** Tokens that nobody holds and that may be used now. */
  room: number
  /** Until the first token that is known of may be used again; null when none is. */
  nextInMs: number | null
  /**
   * Since which exchange the other that has held longest has held; 0 when one has some in advance, null
   * when there is no other. Who asked at an earlier exchange may be given what is not used there.
   */
  othersSince: number | null
}

export const UNUSED_BUDGET: BudgetState = { turn: 0, shares: [], cooling: [], shortAtMs: null }

/**
 * One exchange. `goneAt` says when a holder ended that is no more: what it held counts as used at that
 * moment, for nobody knows. What a holder does not account for counts as used now. Who is not on record
 * holds nothing: its tokens were given to others.
 */
export function settleBudget(
  state: BudgetState,
  ask: BudgetAsk & { holder: string },
  { nowMs, goneAt }: { nowMs: number; goneAt(holder: string): number | null },
): { state: BudgetState; answer: BudgetAnswer } {
  const { limit, windowMs, holder, need } = ask
  const turn = state.turn + 1
  const cooling = new Map<number, number>()
  const cool = (atMs: number, count: number) => {
    if (atMs > nowMs && count > 0) cooling.set(atMs, (cooling.get(atMs) ?? 0) + count)
  }
  for (const [atMs, count] of state.cooling) cool(atMs, count)
  const others: BudgetShare[] = []
  for (const share of state.shares) {
    if (share.holder === holder) continue
    const goneAtMs = goneAt(share.holder)
    if (goneAtMs === null) others.push(share)
    else cool(goneAtMs + windowMs, share.held)
  }
  const known = state.shares.find((share) => share.holder === holder)
  const kept = known === undefined ? 0 : Math.min(ask.kept, known.held)
  if (known !== undefined) giveBack(known.held - kept, ask, { nowMs, cool })

  const heldByOthers = others.reduce((sum, { held }) => sum + held, 0)
  const coolingCount = [...cooling.values()].reduce((sum, count) => sum + count, 0)
  const free = Math.max(0, limit - heldByOthers - kept - coolingCount)
  const isShort = state.shortAtMs !== null && Math.abs(nowMs - state.shortAtMs) < BUDGET_SHORT_MS
  const slice = windowMs === 0 || isShort ? need : sliceOf(free, others.length + 1)
  const given = ask.isInUse === true ? need : need === 0 ? 0 : Math.min(free, Math.max(need, slice))
  const held = kept + given
  const isSame = known !== undefined && kept > 0
  const own: BudgetShare = {
    holder,
    held,
    sinceTurn: isSame ? known.sinceTurn : turn,
    sinceMs: isSame ? known.sinceMs : nowMs,
    isAhead: given > need || (given > 0 && ask.isAhead === true) || (isSame && known.isAhead),
  }
  const next: BudgetState = {
    turn,
    shares: held === 0 ? others : [...others, own],
    cooling: [...cooling].sort(([a], [b]) => a - b),
    shortAtMs: given < need ? nowMs : isShort ? state.shortAtMs : null,
  }
  return {
    state: next,
    answer: {
      turn,
      held,
      room: Math.max(0, free - given),
      nextInMs: nextOf(next, { holder, windowMs, nowMs }),
      othersSince: least(others.map(({ isAhead, sinceTurn }) => (isAhead ? 0 : sinceTurn))),
    },
  }
}

/** Until when a record says something; holders are asked again before that. */
export function budgetEndMs({ shares, cooling }: BudgetState, laterMs: number): number {
  if (shares.length > 0) return laterMs
  return cooling.at(-1)?.[0] ?? 0
}

type GivenBack = Pick<BudgetAsk, 'unused' | 'used' | 'windowMs'>

function giveBack(
  count: number,
  { unused, used, windowMs }: GivenBack,
  { nowMs, cool }: { nowMs: number; cool(atMs: number, count: number): void },
): void {
  let left = count
  for (const [inMs, many] of used) {
    const cooled = Math.min(left, many)
    left -= cooled
    // The clocks of two processes are not quite one, and few times take less room than many.
    const atMs = nowMs + Math.min(inMs, windowMs) + BUDGET_HANDOVER_MS
    cool(Math.ceil(atMs / BUDGET_COOLING_STEP_MS) * BUDGET_COOLING_STEP_MS, cooled)
  }
  const unknown = left - unused
  if (unknown > 0) cool(nowMs + windowMs, unknown)
}

/** Large while there is much, and one by one towards the end. */
function sliceOf(free: number, holders: number): number {
  return Math.ceil(free / (BUDGET_SLICE_PART * holders))
}

/** What others hold may come free a window after they were given it, when they used it at once. */
function nextOf(
  { shares, cooling }: BudgetState,
  { holder, windowMs, nowMs }: { holder: string; windowMs: number; nowMs: number },
): number | null {
  const held = shares
    .filter((share) => share.holder !== holder)
    .map(({ sinceMs }) => Math.max(nowMs, sinceMs + windowMs))
  const atMs = least([...held, ...cooling.slice(0, 1).map(([first]) => first)])
  return atMs === null ? null : atMs - nowMs
}

function least(numbers: readonly number[]): number | null {
  return numbers.length === 0 ? null : Math.min(...numbers)
}
