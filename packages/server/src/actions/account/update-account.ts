// Changing the name or the plan of an account, and listing accounts; both for operators.

import type { Deps } from '#actions/deps.ts'
import type { Page } from '#actions/page.ts'
import type { Account, Plan } from '#model/account.ts'
import { notFound } from '#model/problem.ts'
import * as store from '#store/account.ts'

/** Changes what is given. A smaller plan keeps the inboxes there are and refuses new ones. */
export async function updateAccount(
  deps: Pick<Deps, 'db'>,
  input: { id: string; name?: string; plan?: Plan },
): Promise<Account> {
  const account = await deps.db.write('updateAccount', input)
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
