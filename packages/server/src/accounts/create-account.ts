// Making an account with its default pod and its first key.

import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Db } from '#schema/tables.ts'
import type { Account, Plan } from './account.ts'
import { insertAccount, listAccounts } from './account-rows.ts'
import { describeToken, type Key, makeToken } from './key.ts'

export type NewAccount = { account: Account; key: Key; token: string }

type CreateDeps = { db: Db; clock: Clock; chance: Chance; makeId: MakeId }

/** Makes an account; its key's token is in the result and nowhere else. */
export async function createAccount(
  deps: CreateDeps,
  input: { name: string; plan: Plan },
): Promise<NewAccount> {
  const made = await make(deps, { ...input, token: null, isFirst: false })
  if (made === null) throw new Error('An account was not made.')
  return made
}

/**
 * Makes the first account of an empty database, with the given key or a new one. Null when there is
 * an account already, so that every start may call it. `tell` is called before the account is made:
 * a crash in between leaves a key that was told and opens nothing, and never one that nobody knows.
 */
export async function createFirstAccount(
  deps: CreateDeps,
  input: { plan: Plan; token: string | null; tell?(account: NewAccount): void },
): Promise<NewAccount | null> {
  // A look first: a service that starts on a full disk cannot write.
  const { total } = await listAccounts(deps.db, { limit: 1, offset: 0 })
  if (total > 0) return null
  const { plan, token, tell } = input
  return make(deps, { name: 'first account', plan, token, tell, isFirst: true })
}

async function make(
  deps: CreateDeps,
  input: {
    name: string
    plan: Plan
    token: string | null
    tell?: ((account: NewAccount) => void) | undefined
    isFirst: boolean
  },
): Promise<NewAccount | null> {
  const token = input.token ?? makeToken(deps.chance)
  const nowMs = deps.clock.now()
  const { tokenHash, tokenPrefix, last4 } = describeToken(token)
  const key: Key = {
    id: deps.makeId('key'),
    name: 'first key',
    tokenPrefix,
    last4,
    createdAtMs: nowMs,
    lastUsedAtMs: null,
  }
  const account: Account = {
    id: deps.makeId('acc'),
    name: input.name,
    plan: input.plan,
    filterMode: 'none',
    createdAtMs: nowMs,
  }
  input.tell?.({ account, key, token })
  const isMade = await deps.db.write(insertAccount, {
    id: account.id,
    name: account.name,
    plan: account.plan,
    podId: deps.makeId('pod'),
    key: { id: key.id, name: key.name, tokenHash, tokenPrefix, last4 },
    nowMs,
    isFirst: input.isFirst,
  })
  return isMade ? { account, key, token } : null
}
