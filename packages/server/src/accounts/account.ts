// An account: the tenant that keys, pods and inboxes belong to, and what its plan allows.

import { type FilterMode, type Plan, plans } from '@mailroom/contract/vocabulary.ts'

export type { FilterMode, Plan }
export const PLANS: readonly Plan[] = plans

export type Account = {
  id: string
  name: string
  plan: Plan
  /** Whose mail reaches its inboxes. */
  filterMode: FilterMode
  createdAtMs: number
}

const INBOXES_MAX: Record<Plan, number> = { free: 3, developer: 10, launch: 200 }

/** How many inboxes a plan allows, over all pods of the account. */
export function inboxesAllowed(plan: Plan): number {
  return INBOXES_MAX[plan]
}
