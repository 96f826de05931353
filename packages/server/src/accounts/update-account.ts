// Reading and changing accounts: name and plan for operators, the filter mode for the account itself.

import type { FilterMode } from '@mailroom/contract/vocabulary.ts'
import { notFound } from '#platform/problem.ts'
import type { Db, Page } from '#schema/tables.ts'
import type { Account, Plan } from './account.ts'
import * as store from './account-rows.ts'
import { changeAccount } from './account-rows.ts'

/** Changes what is given. A smaller plan keeps the inboxes there are and refuses new ones. */
export async function updateAccount(
  deps: { db: Db },
  input: { id: string; name?: string; plan?: Plan; filterMode?: FilterMode },
): Promise<Account> {
  const account = await deps.db.write(changeAccount, input)
  if (account === null) throw notFound()
  return account
}

/** Newest first. */
export async function listAccounts(
  deps: { db: Db },
  input: Page,
): Promise<{ accounts: Account[]; total: number }> {
  return store.listAccounts(deps.db, input)
}

/** `not_found` when there is none any more. */
export async function getAccount(
  deps: { db: Db },
  { accountId }: { accountId: string },
): Promise<Account> {
  const account = await store.findAccount(deps.db, accountId)
  if (account === null) throw notFound()
  return account
}
