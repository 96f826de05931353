// Handlers of accounts, keys and pods.

import type { EventReaders } from '#http/event-readers.ts'
import type { HandlersOf } from '#http/handler.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import { problem } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'
import { createPod, deletePod, updatePod } from './change-pods.ts'
import { createAccount } from './create-account.ts'
import { createKey } from './create-key.ts'
import { listKeys } from './list-keys.ts'
import { presentAccount, presentKey, presentPod } from './present-account.ts'
import { getPod, listPods } from './read-pods.ts'
import { revokeKey } from './revoke-key.ts'
import { listAccounts, updateAccount } from './update-account.ts'

/** What the functions below work with. */
type Needs = {
  db: Db
  clock: Clock
  chance: Chance
  makeId: MakeId
}

type AccountHandlers = HandlersOf<'apiKeys' | 'pods' | 'admin.accounts'>

/** One handler for each operation on what an account owns, and on accounts themselves. */
export function accountHandlers(deps: Needs, readers: EventReaders): AccountHandlers {
  return {
    'apiKeys.create': async ({ body }, { accountId }) => {
      const { key, token } = await createKey(deps, { accountId, name: body.name ?? null })
      return { ...presentKey(key), token }
    },
    'apiKeys.list': async ({ query }, { accountId }) => {
      const { keys, total } = await listKeys(deps, { accountId, ...query })
      return { data: keys.map(presentKey), total }
    },
    'apiKeys.delete': async ({ path }, { accountId }) => {
      await revokeKey(deps, { accountId, keyId: path.id })
      readers.endOfKey(path.id)
    },

    'pods.list': async ({ query }, { accountId }) => {
      const { pods, total } = await listPods(deps, { accountId, ...query })
      return { data: pods.map(presentPod), total }
    },
    'pods.create': async ({ body }, { accountId }) => {
      const { clientId = null, name = null } = body
      return presentPod(await createPod(deps, { accountId, clientId, name }))
    },
    'pods.get': async ({ path }, { accountId }) =>
      presentPod(await getPod(deps, { accountId, pod: path.idOrClientId })),
    'pods.update': async ({ path, body }, { accountId }) =>
      presentPod(await updatePod(deps, { accountId, pod: path.idOrClientId, ...body })),
    'pods.delete': async ({ path }, { accountId }) => {
      await deletePod(deps, { accountId, pod: path.idOrClientId })
    },

    'pods.createApiKey': async ({ path }, { accountId }) => {
      await getPod(deps, { accountId, pod: path.idOrClientId })
      throw problem('scoped_keys_not_supported')
    },

    'admin.accounts.create': async ({ body }) => {
      const { account, key, token } = await createAccount(deps, body)
      return { account: presentAccount(account), apiKey: { ...presentKey(key), token } }
    },
    'admin.accounts.list': async ({ query }) => {
      const { accounts, total } = await listAccounts(deps, query)
      return { data: accounts.map(presentAccount), total }
    },
    'admin.accounts.update': async ({ path, body }) =>
      presentAccount(await updateAccount(deps, { id: path.id, ...body })),
  }
}
