// An account: the tenant that keys, pods and inboxes belong to, and what its plan allows.

export const PLANS = ['free', 'developer', 'launch'] as const
export type Plan = (typeof PLANS)[number]

export type Account = { id: string; name: string; plan: Plan; createdAtMs: number }

const INBOXES_MAX: Record<Plan, number> = { free: 3, developer: 10, launch: 200 }

/** How many inboxes a plan allows, over all pods of the account. */
export function inboxesAllowed(plan: Plan): number {
  return INBOXES_MAX[plan]
}

/** Whether `text` names a plan. */
export function isPlan(text: string): text is Plan {
  return (PLANS as readonly string[]).includes(text)
}
