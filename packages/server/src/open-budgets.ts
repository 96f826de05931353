// Where limits are counted: in the memory of a process that is alone with its database, and on record
// there where processes share it.

import type { LedgerDeps } from '#actions/budget/budget-ledger.ts'
import type { Budgets } from '#actions/budget/budgets.ts'
import { openLeasedBudgets } from '#actions/budget/leased-budgets.ts'
import { openOwnBudgets } from '#actions/budget/own-budgets.ts'

/** One for a process; close it before the database. */
export function openBudgets(deps: LedgerDeps): Budgets {
  return deps.db.engine === 'sqlite' ? openOwnBudgets(deps.clock) : openLeasedBudgets(deps)
}
