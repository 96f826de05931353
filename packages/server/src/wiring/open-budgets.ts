// Where limits are counted: in the memory of a process that is alone with its database, and on record
// there where processes share it.

import type { LedgerDeps } from '#rate-limits/budget-ledger.ts'
import type { Budgets } from '#rate-limits/budgets.ts'
import { openLeasedBudgets } from '#rate-limits/leased-budgets.ts'
import { openOwnBudgets } from '#rate-limits/own-budgets.ts'

/** One for a process; close it before the database. */
export function openBudgets(deps: LedgerDeps): Budgets {
  return deps.db.engine === 'sqlite' ? openOwnBudgets(deps.clock) : openLeasedBudgets(deps)
}
