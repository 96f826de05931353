// Account and key commands. The user of the machine acts as the operator.

import type { Plan } from '@mailroom/contract/vocabulary.ts'
import { createAccount, createApprover, deleteApprover, updateAccount } from '#accounts/accounts.ts'
import { createKey, revokeKey } from '#accounts/keys/keys.ts'
import { listAccounts } from '#accounts/store/accounts.ts'
import { findApproverAccount, listApprovers } from '#accounts/store/approvers.ts'
import { findKeyAccount } from '#accounts/store/keys.ts'
import { isDomainHere } from '#domains/store/domains.ts'
import { createInbox } from '#inboxes/inboxes.ts'
import { bareAddress, checkEmailAddress } from '#platform/email-address.ts'
import { findApproverWebhooks } from '#webhooks/store/webhooks.ts'
import { CommandFailure, OPERATOR, orFailure, plainText } from './command.ts'
import { withKeys, withStore } from './with-store.ts'

/** The key is shown only this once and cannot be retrieved later. */
export async function createAccountCommand(options: { name: string; plan: Plan }): Promise<void> {
  checkName(options.name)
  const made = await withStore((store) => createAccount(store, options))
  print(`account ${made.account.id}`, `plan    ${made.account.plan}`, `key     ${made.token}`)
}

export async function listAccountsCommand(): Promise<void> {
  const everything = { limit: 100_000, offset: 0 }
  const { accounts } = await withStore((store) => listAccounts(store.db, everything))
  print(
    ...accounts.map(({ id, plan, createdAtMs, name }) =>
      [id, plan.padEnd(9), new Date(createdAtMs).toISOString(), plainText(name)].join('  '),
    ),
  )
}

/** A running service applies the limits of the new plan to the next request. */
export async function setPlanCommand(options: { account: string; plan: Plan }): Promise<void> {
  const { account: id, plan } = options
  const changed = await orFailure(withStore((store) => updateAccount(store, { id, plan })))
  print(`account ${changed.id}`, `plan    ${changed.plan}`)
}

/** The operator may use a reserved name, which API clients may not. */
export async function createInboxCommand(options: {
  account: string
  name: string
  pod?: string
}): Promise<void> {
  const { inbox } = await orFailure(
    withStore(async (store) => {
      const { limits, allowPrivateEgress } = store.settings
      const { inboxesPerDay } = limits
      const deps = { ...(await withKeys(store)), inboxesPerDay, allowPrivateEgress }
      return createInbox(deps, {
        accountId: options.account,
        mailboxName: options.name,
        podId: options.pod,
        displayName: null,
        webhookUrl: null,
        isByOperator: true,
      })
    }),
  )
  print(`inbox    ${inbox.id}`, `address  ${inbox.address}`)
}

/** The token is shown only this once and cannot be retrieved later. */
export async function createKeyCommand(options: { account: string; name?: string }): Promise<void> {
  if (options.name !== undefined) checkName(options.name)
  const input = { accountId: options.account, name: options.name ?? null }
  const { key, token } = await orFailure(withStore((store) => createKey(store, input)))
  print(`id   ${key.id}`, `key  ${token}`)
}

export async function revokeKeyCommand(keyId: string): Promise<void> {
  await orFailure(
    withStore(async (store) => {
      const accountId = await findKeyAccount(store.db, keyId)
      if (accountId === null) throw new CommandFailure(`there is no active key ${keyId}.`)
      await revokeKey(store, { accountId, keyId })
    }),
  )
  print(`revoked ${keyId}`)
}

/** The token is shown only this once and cannot be retrieved later. */
export async function createApproverCommand(options: {
  account: string
  name: string
  email?: string
  webhookUrl?: string
}): Promise<void> {
  checkName(options.name)
  const email = options.email === undefined ? null : bareAddress(options.email)
  const defect = email === null ? null : checkEmailAddress(email)
  if (defect !== null) throw new CommandFailure(`the address ${defect}.`)
  const { approver, token, webhookSecret } = await orFailure(
    withStore(async (store) => {
      const { inboxDomain, allowPrivateEgress } = store.settings
      const deps = {
        ...(await withKeys(store)),
        allowPrivateEgress,
        firstApprover: 'machine' as const,
        isDomainHere: (domain: string) => isDomainHere({ db: store.db, inboxDomain }, domain),
      }
      const { account: accountId, name, webhookUrl = null } = options
      return createApprover(deps, { accountId, name, email, webhookUrl, actor: OPERATOR })
    }),
  )
  print(`id     ${approver.id}`, `token  ${token}`)
  if (webhookSecret !== null) print(`webhook secret  ${webhookSecret}`)
}

export async function listApproversCommand(options: { account: string }): Promise<void> {
  const all = { accountId: options.account, limit: 1_000, offset: 0 }
  await withStore(async ({ db }) => {
    const { approvers } = await listApprovers(db, all)
    const webhooks = await findApproverWebhooks(db, options.account)
    for (const { id, createdAtMs, name, email } of approvers) {
      const fields = [id, new Date(createdAtMs).toISOString(), plainText(name)]
      print([...fields, email ?? [], webhooks.get(id)?.url ?? []].flat().join('  '))
    }
  })
}

/** The operator may delete the last approver, which API clients may not. */
export async function deleteApproverCommand(approverId: string): Promise<void> {
  await orFailure(
    withStore(async (store) => {
      const accountId = await findApproverAccount(store.db, approverId)
      if (accountId === null) throw new CommandFailure(`there is no approver ${approverId}.`)
      await deleteApprover(store, { accountId, approverId, actor: OPERATOR })
    }),
  )
  print(`deleted ${approverId}`)
}

const NAME_LENGTH_MAX = 200

/** Applies the API's rule for names. */
function checkName(name: string): void {
  const length = [...name].length
  if (length < 1 || length > NAME_LENGTH_MAX || /[\x00-\x1f\x7f-\x9f]/.test(name)) {
    throw new CommandFailure(
      `a name has 1 to ${NAME_LENGTH_MAX} characters and no control characters.`,
    )
  }
}

function print(...lines: string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`)
}
