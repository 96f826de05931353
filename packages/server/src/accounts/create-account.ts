import type { Plan } from '@mailroom/contract/vocabulary.ts'
import { newKey } from '#accounts/keys/issue-key.ts'
import {
  type Account,
  changeAccount,
  findAccount,
  type Key,
  listAccounts,
} from '#accounts/store/accounts.ts'
import { insertAccount } from '#accounts/store/insert-account.ts'
import type { Chance } from '#platform/chance.ts'
import { notFound } from '#platform/problem.ts'
import type { EditsOf } from '#store/columns.ts'
import type { accounts } from '#store/nouns.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'

export type NewAccount = { account: Account; key: Key; token: string }

type CreateDeps = Store & { chance: Chance }

/** Only this result contains the token of the first key. */
export async function createAccount(
  deps: CreateDeps,
  input: { name: string; plan: Plan },
): Promise<NewAccount> {
  const made = makeAccount(deps, { ...input, token: null })
  await made.insert({ isFirst: false })
  return made.account
}

/**
 * Returns null if an account exists. Calls `announce` before the write, so that a crash may leave a
 * token without an account, but never a key that was not announced.
 */
export async function createFirstAccount(
  deps: CreateDeps,
  input: { plan: Plan; token: string | null; announce?(account: NewAccount): void },
): Promise<NewAccount | null> {
  // Reads first, because a service on a full disk must be able to start.
  const { total } = await listAccounts(deps.db, { limit: 1, offset: 0 })
  if (total > 0) return null
  const { plan, token, announce } = input
  const made = makeAccount(deps, { name: 'first account', plan, token })
  announce?.(made.account)
  return (await made.insert({ isFirst: true })) ? made.account : null
}

function makeAccount(
  deps: CreateDeps,
  { name, plan, token: wanted }: { name: string; plan: Plan; token: string | null },
) {
  const { stored, key, token } = newKey(deps, { name: 'first key', token: wanted })
  const id = deps.makeId('acc')
  const nowMs = key.createdAtMs
  const account: Account = {
    id,
    name,
    plan,
    filterMode: 'none',
    retentionDays: null,
    undoSeconds: 0,
    createdAtMs: nowMs,
  }
  return {
    account: { account, key, token },
    insert: ({ isFirst }: { isFirst: boolean }) =>
      deps.db.write(insertAccount, {
        id,
        name,
        plan,
        podId: deps.makeId('pod'),
        key: stored,
        nowMs,
        isFirst,
      }),
  }
}

/** A smaller plan keeps the existing inboxes but allows no new ones. */
export async function updateAccount(
  deps: { db: Db },
  input: { id: string } & EditsOf<typeof accounts>,
): Promise<Account> {
  const account = await deps.db.write(changeAccount, input)
  if (account === null) throw notFound()
  return account
}

export async function getAccount(
  deps: { db: Db },
  { accountId }: { accountId: string },
): Promise<Account> {
  const account = await findAccount(deps.db, accountId)
  if (account === null) throw notFound()
  return account
}
