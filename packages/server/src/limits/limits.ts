export type { Allowance, Budgets, HeldSlot, KeyedSlots, RateWindow } from './budgets.ts'
export { openBudgets } from './recorded-limits.ts'
