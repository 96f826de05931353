import { createKey, refuseScopedKey, revokeKey } from '#accounts/keys/issue-key.ts'
import { listAccounts } from '#accounts/store/accounts.ts'
import { listApprovers } from '#accounts/store/approvers.ts'
import { listKeys } from '#accounts/store/keys.ts'
import {
  changePod,
  findPod,
  insertPod,
  listPods,
  type Pod,
  type PodRefusal,
  removePod,
} from '#accounts/store/pods.ts'
import type { EventReaders } from '#http/event-readers.ts'
import type { HandlersOf } from '#http/handler.ts'
import { presentTimes } from '#platform/clock.ts'
import { notFound, problem } from '#platform/problem.ts'
import { accounts } from '#store/nouns.ts'
import type { Db } from '#store/tables.ts'
import { findApproverWebhooks } from '#webhooks/store/webhooks.ts'
import { type ApproverDeps, createApprover, deleteApprover } from './approver.ts'
import { createAccount, updateAccount } from './create-account.ts'

export function accountHandlers(
  deps: ApproverDeps,
  readers: EventReaders,
): HandlersOf<'apiKeys' | 'approvers' | 'pods' | 'admin.accounts'> {
  return {
    'apiKeys.create': async ({ body }, { accountId }) => {
      const { key, token } = await createKey(deps, { accountId, name: body.name ?? null })
      return { ...presentTimes(key), token }
    },
    'apiKeys.list': async ({ query }, { accountId }) => {
      const { keys, total } = await listKeys(deps.db, { accountId, ...query })
      return { data: keys.map(presentTimes), total }
    },
    'apiKeys.delete': async ({ path }, { accountId }) => {
      await revokeKey(deps, { accountId, keyId: path.id })
      readers.endReadersOfKey(path.id)
    },

    'approvers.create': async ({ body }, { accountId, actor }) => {
      const { name, email = null, webhookUrl = null } = body
      const asked = { accountId, name, email, webhookUrl, actor }
      const { approver, token, webhookSecret } = await createApprover(deps, asked)
      deps.wakeEvents()
      return {
        ...presentTimes({ ...approver, webhookUrl, webhookDisabledAtMs: null }),
        token,
        ...(webhookSecret !== null && { webhookSecret }),
      }
    },
    'approvers.list': async ({ query }, { accountId, actor }) => {
      const { approvers, total } = await listApprovers(deps.db, { accountId, ...query })
      // A URL may contain a secret, with which an agent could write to the approver.
      const isShown = actor.kind !== 'key'
      const webhooks = isShown ? await findApproverWebhooks(deps.db, accountId) : null
      const data = approvers.map((approver) => {
        const { url = null, disabledAtMs = null } = webhooks?.get(approver.id) ?? {}
        return presentTimes({ ...approver, webhookUrl: url, webhookDisabledAtMs: disabledAtMs })
      })
      return { data, total }
    },
    'approvers.delete': async ({ path }, { accountId, actor }) => {
      await deleteApprover(deps, { accountId, approverId: path.id, actor })
      deps.wakeEvents()
    },

    ...podHandlers(deps),

    'admin.accounts.create': async ({ body }) => {
      const { account, key, token } = await createAccount(deps, body)
      return { account: accounts.present(account), apiKey: { ...presentTimes(key), token } }
    },
    'admin.accounts.list': async ({ query }) => {
      const { accounts: found, total } = await listAccounts(deps.db, query)
      return { data: found.map(accounts.present), total }
    },
    'admin.accounts.update': async ({ path, body }) =>
      accounts.present(await updateAccount(deps, { id: path.id, ...body })),
  }
}

function podHandlers(deps: ApproverDeps): HandlersOf<'pods'> {
  const refuseKey = refuseScopedKey((accountId, { idOrClientId }: { idOrClientId: string }) =>
    getPod(deps, accountId, idOrClientId),
  )
  return {
    'pods.list': async ({ query }, { accountId }) => {
      const { pods, total } = await listPods(deps.db, { accountId, ...query })
      return { data: pods.map(presentTimes), total }
    },
    'pods.create': async ({ body }, { accountId }) => {
      const made = { podId: deps.makeId('pod'), nowMs: deps.clock.now() }
      return presentPod(await deps.db.write(insertPod, { accountId, ...body, ...made }))
    },
    'pods.get': async ({ path }, { accountId }) =>
      presentTimes(await getPod(deps, accountId, path.idOrClientId)),
    'pods.update': async ({ path, body }, { accountId }) =>
      presentPod(await deps.db.write(changePod, { accountId, pod: path.idOrClientId, ...body })),
    'pods.delete': async ({ path }, { accountId, actor }) => {
      const removed = { accountId, pod: path.idOrClientId, actor, nowMs: deps.clock.now() }
      const outcome = await deps.db.write(removePod, removed)
      if (outcome === 'not_found') throw notFound()
      if (outcome === 'approver_required') throw problem(outcome, POLICY_LEFT)
      if (outcome !== 'deleted') throw problem(outcome)
    },
    'pods.createApiKey': refuseKey,
    'pods.listApiKeys': refuseKey,
    'pods.deleteApiKey': refuseKey,
  }
}

const POLICY_LEFT =
  'The pod has a policy. An approver has to remove the policy first: otherwise the pod could be created again with the same clientId but without the policy.'

async function getPod({ db }: { db: Db }, accountId: string, pod: string): Promise<Pod> {
  const found = await findPod(db, accountId, pod)
  if (found === null) throw notFound()
  return found
}

function presentPod(outcome: Pod | PodRefusal) {
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'client_id_taken') throw problem('client_id_taken')
  if (outcome === 'too_many_pods') throw problem('pod_limit_reached')
  return presentTimes(outcome)
}
