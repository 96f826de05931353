// The records of limits that processes share: a row for each limit and key, and one for each process that
// leases tokens.

import { transaction } from '#platform/db/db.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { PURGE_STEP_ROWS, removeOldest } from '#schema/purge-steps.ts'
import type { Tx } from '#schema/tables.ts'

/** Used tokens expire this much later when several processes count, because their clocks differ a little. */
const CLOCKS_APART_MS = 250
/** Past this number, times of use are rounded up to whole steps, so that a record stays small. */
const EXACT_TIMES_MAX = 200
const TIME_STEP_MS = 100
/**
 * Time from the last exchange until a record may be removed: by then every lease was renewed and every window
 * is over.
 */
export const BUDGET_RECORD_MS = 10 * MINUTE_MS

export type BudgetState = {
  /** Tokens leased by each process. `sinceMs` is for programs of the previous version. */
  shares: { holder: string; held: number; sinceMs: number }[]
  /** When used tokens leave the window, and how many; the soonest first. */
  cooling: [atMs: number, count: number][]
  /** The only process that used and leases tokens; null when there are several. */
  user: string | null
}

/** A token of a window counts as used when it is granted; a slot is held until it is returned. */
export type BudgetAsk = {
  limit: number
  /** 0 for slots. */
  windowMs: number
  /** Leased tokens that the process keeps, or slots in use there, which it has in any case. */
  kept: number
  /** Leased tokens that it returns unused. */
  unused: number
  /** How long ago it used each of its other tokens. */
  usedAgoMs: readonly number[]
  need: number
  /** Further tokens to lease, if there are enough. */
  ahead: number
}

export type BudgetAnswer = {
  granted: number
  /** Tokens that the process leases from now on. */
  held: number
  /** Tokens left for any process. */
  room: number
  /** Time until the next used token leaves the window; null for none. */
  nextInMs: number | null
  /** Other processes lease tokens, which they may return at any time. */
  isShared: boolean
}

export const UNUSED_BUDGET: BudgetState = { shares: [], cooling: [], user: null }

/**
 * One exchange of a process with a record. Leased tokens that the process does not account for count as used
 * now, and so do those of dead processes.
 */
export function settleBudget(
  state: BudgetState,
  ask: BudgetAsk & { holder: string },
  { nowMs, living }: { nowMs: number; living: ReadonlySet<string> },
): { state: BudgetState; answer: BudgetAnswer } {
  const { limit, windowMs, holder, need } = ask
  const isWindow = windowMs > 0
  const others = state.shares.filter((share) => share.holder !== holder)
  const shares = others.filter((share) => living.has(share.holder))
  const own = sum(state.shares, ({ held }) => held) - sum(others, ({ held }) => held)
  const ofOthers = sum(shares, ({ held }) => held)
  // A process without a share was counted as dead; its tokens count as used already.
  const kept = isWindow ? Math.min(ask.kept, own) : ask.kept
  const accounted = kept + ask.unused + ask.usedAgoMs.length
  const unknown = sum(others, ({ held }) => held) - ofOthers + Math.max(0, own - accounted)

  const recent = state.cooling.filter(([atMs]) => atMs + CLOCKS_APART_MS > nowMs)
  const isAlone = others.length === 0 && (state.user === holder || recent.length === 0)
  const restMs = isAlone ? 0 : CLOCKS_APART_MS
  const leaving = (agoMs: number, count: number): BudgetState['cooling'] =>
    isWindow && count > 0 ? [[Math.ceil(nowMs - agoMs + windowMs), count]] : []
  const used = ask.usedAgoMs.flatMap((agoMs) => leaving(agoMs, 1))
  const cooling = [...recent, ...used, ...leaving(0, unknown)].filter(
    ([atMs]) => atMs + restMs > nowMs,
  )

  const free = Math.max(0, limit - ofOthers - kept - sum(cooling, ([, count]) => count))
  const granted = Math.min(free, need)
  const ahead = Math.min(free - granted, ask.ahead)
  const held = kept + (isWindow ? ahead : granted)
  const next = inOrder([...cooling, ...leaving(0, granted)])
  if (held > 0) shares.push({ holder, held, sinceMs: nowMs })
  const [firstMs] = next[0] ?? []
  const nextInMs = firstMs === undefined ? null : Math.min(firstMs - nowMs, windowMs) + restMs
  return {
    state: { shares, cooling: next, user: isAlone ? holder : null },
    answer: { granted, held, room: free - granted - ahead, nextInMs, isShared: ofOthers > 0 },
  }
}

/** Sorts times, the soonest first, and combines many into fewer. */
function inOrder(times: BudgetState['cooling']): BudgetState['cooling'] {
  const stepMs = times.length > EXACT_TIMES_MAX ? TIME_STEP_MS : 1
  const counts = new Map<number, number>()
  for (const [atMs, count] of times) {
    const stepAtMs = Math.ceil(atMs / stepMs) * stepMs
    counts.set(stepAtMs, (counts.get(stepAtMs) ?? 0) + count)
  }
  return [...counts].sort(([a], [b]) => a - b)
}

function sum<Each>(all: readonly Each[], numberOf: (each: Each) => number): number {
  return all.reduce((total, each) => total + numberOf(each), 0)
}

/**
 * Records that a process lives until `untilMs`, under a unique name; false when others have counted it as dead.
 */
export const renewBudgetHolder = transaction({
  name: 'renewBudgetHolder',
  accountOf: () => null,
  async run(tx: Tx, { holder, untilMs }: { holder: string; untilMs: number }): Promise<boolean> {
    const renewed = await tx.query
      .insertInto('budget_holders')
      .values({ id: holder, alive_until: untilMs })
      .onConflict((conflict) =>
        conflict
          .column('id')
          .doUpdateSet({ alive_until: untilMs })
          .where('budget_holders.is_gone', '=', 0),
      )
      .returning('id')
      .execute()
    return renewed.length === 1
  },
})

type Exchanges = { holder: string; nowMs: number; asks: readonly (BudgetAsk & { name: string })[] }

/** One exchange with each record; names must differ. Answers are in the order of `asks`. */
export const exchangeBudgets = transaction({
  name: 'exchangeBudgets',
  accountOf: () => null,
  async run(tx: Tx, { holder, nowMs, asks }: Exchanges): Promise<BudgetAnswer[]> {
    const states = await lockBudgets(tx, asks)
    const holders = [...states.values()].flatMap(({ shares }) =>
      shares.map((share) => share.holder),
    )
    const living = await findLiving(tx, new Set(holders.filter((other) => other !== holder)), nowMs)
    const settled = asks.map((ask) => {
      const state = states.get(ask.name) ?? UNUSED_BUDGET
      return { name: ask.name, ...settleBudget(state, { ...ask, holder }, { nowMs, living }) }
    })
    const ends = { ends_at: nowMs + BUDGET_RECORD_MS }
    await tx.query
      .insertInto('budgets')
      .values(settled.map(({ name, state }) => ({ name, state: JSON.stringify(state), ...ends })))
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet((row) => ({ state: row.ref('excluded.state'), ...ends })),
      )
      .execute()
    return settled.map(({ answer }) => answer)
  },
})

/** Locks the records, and creates absent ones. */
async function lockBudgets(tx: Tx, asks: Exchanges['asks']): Promise<Map<string, BudgetState>> {
  const state = JSON.stringify(UNUSED_BUDGET)
  // All transactions that lock several records use one order, so that no two wait for each other.
  const names = asks.map(({ name }) => name).sort()
  const rows = await tx.query
    .insertInto('budgets')
    .values(names.map((name) => ({ name, state, ends_at: 0 })))
    // A conflict locks the existing row.
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((row) => ({ ends_at: row.ref('budgets.ends_at') })),
    )
    .returning(['name', 'state'])
    .execute()
  return new Map(rows.map((row) => [row.name, JSON.parse(row.state) as BudgetState]))
}

/**
 * The processes that live. One that has not renewed in time is marked first: from then on it cannot renew or
 * use its leases.
 */
async function findLiving(tx: Tx, holders: Set<string>, nowMs: number): Promise<Set<string>> {
  if (holders.size === 0) return holders
  const isAsked = ['id', 'in', [...holders].sort()] as const
  await tx.query
    .updateTable('budget_holders')
    .set({ is_gone: 1 })
    .where(...isAsked)
    .where('alive_until', '<=', nowMs)
    .where('is_gone', '=', 0)
    .execute()
  const rows = await tx.query
    .selectFrom('budget_holders')
    .select('id')
    .where(...isAsked)
    .where('is_gone', '=', 0)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** Removes some unused records and processes; true when there may be more. */
export const sweepBudgets = transaction({
  name: 'sweepBudgets',
  accountOf: () => null,
  async run(tx: Tx, { nowMs }: { nowMs: number }): Promise<boolean> {
    // Later than `ends_at`, because a program of the previous version renews its leases after it.
    const until = nowMs - BUDGET_RECORD_MS
    const holders = { key: ['id'], time: 'alive_until', until, returning: 'id' } as const
    const records = { key: ['name'], time: 'ends_at', until, returning: 'name' } as const
    await removeOldest(tx, 'budget_holders', { ...holders, isRenewed: true })
    const removed = await removeOldest(tx, 'budgets', { ...records, isRenewed: true })
    return removed.length === PURGE_STEP_ROWS
  },
})
