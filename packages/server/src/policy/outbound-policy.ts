// Modes and guards for sends of an account, a pod and an inbox, and how they combine.

import {
  type FilterMode,
  type GuardAction,
  type GuardName,
  guardNames,
  type PolicyMode,
  type PolicyScope,
} from '@mailroom/contract/vocabulary.ts'

type Guards = Record<GuardName, GuardAction> & {
  /** Messages per hour for each inbox. Null inherits; at the account it means no limit. */
  maxPerHour: number | null
}

export type AllowedFinding = { kind: string; sha256: string; note: string | null }

export type OutboundPolicy = {
  mode: PolicyMode
  guards: Guards
  allowedFindings: readonly AllowedFinding[]
}

export type OfScopes<Value> = Readonly<Record<PolicyScope, Value>>

const SCOPES: readonly PolicyScope[] = ['inbox', 'pod', 'account']

const INHERITED: OutboundPolicy = {
  mode: 'inherit',
  guards: {
    newRecipients: 'inherit',
    provenance: 'inherit',
    outsideThread: 'inherit',
    secrets: 'inherit',
    attachments: 'inherit',
    maxPerHour: null,
  },
  allowedFindings: [],
}

const OF_ACCOUNT: OutboundPolicy = {
  mode: 'none',
  guards: {
    newRecipients: 'allow',
    provenance: 'allow',
    outsideThread: 'allow',
    secrets: 'allow',
    attachments: 'allow',
    maxPerHour: null,
  },
  allowedFindings: [],
}

export function defaultOutbound(scope: PolicyScope): OutboundPolicy {
  return scope === 'account' ? OF_ACCOUNT : INHERITED
}

/** Null is the default of the scope. A missing guard has its default. */
export function readOutbound(stored: string | null, scope: PolicyScope): OutboundPolicy {
  const defaults = defaultOutbound(scope)
  if (stored === null) return defaults
  const { guards, ...policy } = JSON.parse(stored) as OutboundPolicy
  return { ...defaults, ...policy, guards: { ...defaults.guards, ...guards } }
}

/** An account inherits nothing. */
export function storeOutbound(policy: OutboundPolicy, scope: PolicyScope): string | null {
  const settled = scope === 'account' ? settleAccount(policy) : policy
  return isDefault(settled, scope) ? null : JSON.stringify(settled)
}

function settleAccount({ mode, guards, ...policy }: OutboundPolicy): OutboundPolicy {
  const named = guardNames.map((name) => [
    name,
    guards[name] === 'inherit' ? 'allow' : guards[name],
  ])
  return {
    ...policy,
    mode: mode === 'inherit' ? 'none' : mode,
    guards: { ...Object.fromEntries(named), maxPerHour: guards.maxPerHour },
  }
}

function isDefault({ mode, guards, allowedFindings }: OutboundPolicy, scope: PolicyScope): boolean {
  const defaults = defaultOutbound(scope)
  return (
    mode === defaults.mode &&
    guards.maxPerHour === null &&
    allowedFindings.length === 0 &&
    guardNames.every((name) => guards[name] === defaults.guards[name])
  )
}

export function mayHold({ guards }: OutboundPolicy): boolean {
  return guards.maxPerHour !== null || guardNames.some((name) => guards[name] === 'hold')
}

export type EffectiveOutbound = {
  mode: FilterMode
  modeFrom: PolicyScope
  guards: Record<GuardName, Exclude<GuardAction, 'inherit'>> & { maxPerHour: number | null }
  guardsFrom: Record<GuardName | 'maxPerHour', PolicyScope>
  allowedFindings: readonly (AllowedFinding & { from: PolicyScope })[]
}

export function isOpen({ mode, guards }: EffectiveOutbound): boolean {
  const isGuarded = guardNames.some((name) => guards[name] !== 'allow')
  return mode === 'none' && !isGuarded && guards.maxPerHour === null
}

export function effectiveOutbound(policies: Partial<OfScopes<OutboundPolicy>>): EffectiveOutbound {
  const mode = narrowest(policies, ({ mode }) => (mode === 'inherit' ? null : mode), 'none')
  const found = guardNames.map((name) => {
    const action = narrowest(
      policies,
      ({ guards }) => (guards[name] === 'inherit' ? null : guards[name]),
      'allow',
    )
    return [name, action] as const
  })
  const perHour = narrowest(policies, ({ guards }) => guards.maxPerHour, null)
  const [guards, guardsFrom] = [{}, {}] as [
    EffectiveOutbound['guards'],
    EffectiveOutbound['guardsFrom'],
  ]
  for (const [name, { value, from }] of found) {
    guards[name] = value
    guardsFrom[name] = from
  }
  return {
    mode: mode.value,
    modeFrom: mode.from,
    guards: { ...guards, maxPerHour: perHour.value },
    guardsFrom: { ...guardsFrom, maxPerHour: perHour.from },
    allowedFindings: allowedBy(policies),
  }
}

/** A value that several policies allow is listed once, for the narrowest of them. */
function allowedBy(
  policies: Partial<OfScopes<OutboundPolicy>>,
): EffectiveOutbound['allowedFindings'] {
  const found = new Map<string, AllowedFinding & { from: PolicyScope }>()
  for (const from of SCOPES.toReversed()) {
    for (const allowed of policies[from]?.allowedFindings ?? []) {
      found.set(findingKey(allowed), { ...allowed, from })
    }
  }
  return [...found.values()]
}

export function findingKey({ kind, sha256 }: Pick<AllowedFinding, 'kind' | 'sha256'>): string {
  return `${kind} ${sha256}`
}

export function narrowest<Of, Value>(
  policies: Partial<OfScopes<Of>>,
  read: (policy: Of) => Value | null,
  otherwise: Value,
): { value: Value; from: PolicyScope } {
  for (const from of SCOPES) {
    const policy = policies[from]
    const value = policy === undefined ? null : read(policy)
    if (value !== null) return { value, from }
  }
  return { value: otherwise, from: 'account' }
}
