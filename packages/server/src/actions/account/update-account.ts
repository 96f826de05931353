// Reading and changing accounts: name and plan for operators, the filter mode for the account itself.

import type { FilterMode } from '@mailroom/contract/vocabulary.ts'
import type { Deps } from '#actions/deps.ts'
import type { Page } from '#actions/page.ts'
import type { Account, Plan } from '#model/account.ts'
import { notFound } from '#model/problem.ts'
import * as store from '#store/account.ts'
import { changeAccount } from '#store/account.ts'

/** Changes what is given. A smaller plan keeps the inboxes there are and refuses new ones. */
export async function updateAccount(
  deps: Pick<Deps, 'db'>,
  input: { id: string; name?: string; plan?: Plan; filterMode?: FilterMode },
): Promise<Account> {
  const account = await deps.db.write(changeAccount, input)
  if (account === null) throw notFound()
  return account
}

/** Newest first. */
export async function listAccounts(
  deps: Pick<Deps, 'db'>,
  input: Page,
): Promise<{ accounts: Account[]; total: number }> {
  return store.listAccounts(deps.db, input)
}

/** `not_found` when there is none any more. */
export async function getAccount(
  deps: Pick<Deps, 'db'>,
  { accountId }: { accountId: string },
): Promise<Account> {
  const account = await store.findAccount(deps.db, accountId)
  if (account === null) throw notFound()
  return account
}
