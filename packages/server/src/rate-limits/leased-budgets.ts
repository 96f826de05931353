// The budgets of processes that share a database: what each may use it holds of the record there, and what
// one is short of the others give back.

import { BudgetLedger, type LedgerDeps } from './budget-ledger.ts'
import type { Budgets } from './budgets.ts'
import { LeasedPlaces } from './leased-places.ts'
import { BUDGET_WAIT_MS_MAX, LeasedWindow } from './leased-window.ts'

/** One for a process; holds nothing, and asks nothing of the store, until something is taken. */
export function openLeasedBudgets(deps: LedgerDeps): Budgets {
  const { clock, log } = deps
  const ledger = new BudgetLedger(deps)
  const windows = new Map<string, LeasedWindow>()
  const places: LeasedPlaces[] = []
  const tell = (run: (window: LeasedWindow, key: string) => void) => (text: string) => {
    const end = text.indexOf(':')
    const window = windows.get(text.slice(0, end))
    if (window !== undefined) run(window, text.slice(end + 1))
  }
  ledger.hear(
    'budget wanted',
    tell((window, key) => window.want(key)),
  )
  ledger.hear(
    'budget given',
    tell((window, key) => window.hear(key)),
  )
  ledger.hear(
    'budget ended',
    tell((window, text) => {
      const end = text.indexOf(':')
      window.hearEnd(text.slice(end + 1), Number(text.slice(0, end)))
    }),
  )
  return {
    openWindow(options) {
      // Two would each take for its own what the record says of both.
      if (windows.has(options.name)) throw new Error(`There is a limit named ${options.name}`)
      const window = new LeasedWindow(options, ledger, clock)
      windows.set(options.name, window)
      ledger.add(window)
      return window
    },
    openPlaces(options) {
      const opened = new LeasedPlaces(options, ledger, clock)
      places.push(opened)
      ledger.add(opened)
      return opened
    },
    tend: () => ledger.tend(),
    async close() {
      const closing = [...windows.values(), ...places].map((one) => one.close())
      const late = new Promise<boolean[]>((resolve) => {
        setTimeout(() => resolve([false]), BUDGET_WAIT_MS_MAX).unref()
      })
      try {
        const settled = await Promise.race([Promise.all(closing), late])
        await ledger.close(settled.every(Boolean))
      } catch (error) {
        log.debug({ error }, 'shared limits could not be given back')
      }
    },
  }
}
