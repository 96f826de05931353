export type { Allowance, Budgets, HeldSlot, KeyedSlots, RateWindow } from './budgets.ts'
export { openBudgets } from './shared-limits.ts'
