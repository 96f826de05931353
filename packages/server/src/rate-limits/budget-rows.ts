// The record of budgets that processes share, and of the processes that hold something of them. One row
// a budget, locked for as long as an exchange takes; what an exchange means is the model's.

import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { Tx } from '#schema/tables.ts'
import {
  type BudgetAnswer,
  type BudgetAsk,
  type BudgetState,
  budgetEndMs,
  settleBudget,
  UNUSED_BUDGET,
} from './budget.ts'

/** Rows removed in one step of a purge, so that a large deletion never holds up mail. */
export const PURGE_STEP_ROWS = 500
/** How long after its last change a record is looked at to be removed; more than any window. */
const BUDGET_RECORD_MS = 10 * MINUTE_MS

/** A process that may hold tokens until then, unless it renews that. */
export const addBudgetHolder = transaction({
  name: 'addBudgetHolder',
  accountOf: () => null,
  async run(tx: Tx, { holder, untilMs }: { holder: string; untilMs: number }): Promise<void> {
    await tx.query
      .insertInto('budget_holders')
      .values({ id: holder, alive_until: untilMs })
      .execute()
  },
})

/** False when others have given it up: what it held is not its own any more. */
export const renewBudgetHolder = transaction({
  name: 'renewBudgetHolder',
  accountOf: () => null,
  async run(tx: Tx, { holder, untilMs }: { holder: string; untilMs: number }): Promise<boolean> {
    const renewed = await tx.query
      .updateTable('budget_holders')
      .set({ alive_until: untilMs })
      .where('id', '=', holder)
      .where('is_gone', '=', 0)
      .returning('id')
      .execute()
    return renewed.length === 1
  },
})

/** After it gave everything back. Again changes nothing. */
export const endBudgetHolder = transaction({
  name: 'endBudgetHolder',
  accountOf: () => null,
  async run(tx: Tx, { holder }: { holder: string }): Promise<void> {
    await tx.query
      .deleteFrom('budget_holders')
      .where('id', '=', holder)
      .where('is_gone', '=', 0)
      .execute()
  },
})

export type NamedAsk = BudgetAsk & { name: string }

/** One exchange with each of the budgets, whose names differ; answers in the order of the asks. */
export const exchangeBudgets = transaction({
  name: 'exchangeBudgets',
  accountOf: () => null,
  async run(
    tx: Tx,
    { holder, nowMs, asks }: { holder: string; nowMs: number; asks: readonly NamedAsk[] },
  ): Promise<BudgetAnswer[]> {
    const states = await lockBudgets(
      tx,
      asks.map(({ name }) => name),
    )
    const goneAt = await findGone(tx, [...states.values()], { holder, nowMs })
    const answers: BudgetAnswer[] = []
    const rows = []
    for (const ask of asks) {
      const before = states.get(ask.name) ?? UNUSED_BUDGET
      const { state, answer } = settleBudget(before, { ...ask, holder }, { nowMs, goneAt })
      answers.push(answer)
      rows.push({
        name: ask.name,
        state: JSON.stringify(state),
        ends_at: budgetEndMs(state, nowMs + BUDGET_RECORD_MS),
      })
    }
    await tx.query
      .insertInto('budgets')
      .values(inOrder(rows))
      .onConflict((conflict) =>
        conflict.column('name').doUpdateSet((row) => ({
          state: row.ref('excluded.state'),
          ends_at: row.ref('excluded.ends_at'),
        })),
      )
      .execute()
    return answers
  },
})

/**
 * Removes records that say nothing any more, and those of processes that ended long ago; up to
 * PURGE_STEP_ROWS of each. Whether there may be more of them.
 */
export const sweepBudgets = transaction({
  name: 'sweepBudgets',
  accountOf: () => null,
  async run(tx: Tx, { nowMs }: { nowMs: number }): Promise<boolean> {
    const due = tx.query
      .selectFrom('budgets')
      .select(['name', 'state'])
      .where('ends_at', '<=', nowMs)
      .orderBy('name')
      .limit(PURGE_STEP_ROWS)
    const rows = await lockRows(tx, due, { skipLocked: true }).execute()
    const states = rows.map(({ name, state }) => ({ name, state: read(state) }))
    const goneAt = await findGone(
      tx,
      states.map(({ state }) => state),
      { holder: null, nowMs },
    )
    const over: string[] = []
    const held: string[] = []
    for (const { name, state } of states) {
      const isOver = state.shares.every(
        ({ holder }) => (goneAt(holder) ?? nowMs) + BUDGET_RECORD_MS <= nowMs,
      )
      if (isOver) over.push(name)
      else held.push(name)
    }
    if (over.length > 0) await tx.query.deleteFrom('budgets').where('name', 'in', over).execute()
    if (held.length > 0) {
      await tx.query
        .updateTable('budgets')
        .set({ ends_at: nowMs + BUDGET_RECORD_MS })
        .where('name', 'in', held)
        .execute()
    }
    await removeGone(tx, nowMs)
    return rows.length === PURGE_STEP_ROWS
  },
})

/** The records, locked, also those that this made. */
async function lockBudgets(tx: Tx, names: readonly string[]): Promise<Map<string, BudgetState>> {
  const empty = JSON.stringify(UNUSED_BUDGET)
  const rows = await tx.query
    .insertInto('budgets')
    .values(inOrder(names.map((name) => ({ name, state: empty, ends_at: 0 }))))
    // A conflict is what locks a row that is there.
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((row) => ({ ends_at: row.ref('budgets.ends_at') })),
    )
    .returning(['name', 'state'])
    .execute()
  return new Map(rows.map(({ name, state }) => [name, read(state)]))
}

/** In one order with all who lock several, so that no two wait for each other. */
function inOrder<Named extends { name: string }>(rows: readonly Named[]): Named[] {
  return [...rows].sort((a, b) => (a.name < b.name ? -1 : 1))
}

/**
 * When holders ended, or null for those that have not. Who has not renewed in time is marked first: from
 * then on it cannot renew, and whatever of its shares is given away, it will not take for its own.
 */
async function findGone(
  tx: Tx,
  states: readonly BudgetState[],
  { holder: own, nowMs }: { holder: string | null; nowMs: number },
): Promise<(holder: string) => number | null> {
  const all = new Set(states.flatMap(({ shares }) => shares.map(({ holder }) => holder)))
  if (own !== null) all.delete(own)
  if (all.size === 0) return () => null
  const ids = [...all].sort()
  const known = new Map(
    (await tx.query.selectFrom('budget_holders').selectAll().where('id', 'in', ids).execute()).map(
      (row) => [row.id, row],
    ),
  )
  const late = ids.filter((id) => {
    const row = known.get(id)
    return row !== undefined && row.is_gone === 0 && row.alive_until <= nowMs
  })
  const marked = late.length === 0 ? [] : await markGone(tx, late, nowMs)
  const gone = new Set(marked.map(({ id }) => id))
  return (holder) => {
    const row = known.get(holder)
    // Removed when nothing that it held could matter any more.
    if (row === undefined) return all.has(holder) ? 0 : null
    return row.is_gone === 1 || gone.has(holder) ? Math.min(row.alive_until, nowMs) : null
  }
}

function markGone(tx: Tx, ids: readonly string[], nowMs: number): Promise<{ id: string }[]> {
  return tx.query
    .updateTable('budget_holders')
    .set({ is_gone: 1 })
    .where('id', 'in', [...ids])
    .where('alive_until', '<=', nowMs)
    .where('is_gone', '=', 0)
    .returning('id')
    .execute()
}

/** Nothing that they held can matter by then. */
async function removeGone(tx: Tx, nowMs: number): Promise<void> {
  await tx.query
    .deleteFrom('budget_holders')
    .where('id', 'in', (holder) =>
      holder
        .selectFrom('budget_holders')
        .select('id')
        .where('alive_until', '<=', nowMs - BUDGET_RECORD_MS)
        .limit(PURGE_STEP_ROWS),
    )
    .execute()
}

function read(state: string): BudgetState {
  return JSON.parse(state) as BudgetState
}
