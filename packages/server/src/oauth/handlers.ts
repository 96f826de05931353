import type { HandlersOf } from '#http/handler.ts'
import { presentTimes } from '#platform/clock.ts'
import { notFound, problem, wrongField } from '#platform/problem.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { FeatureWork } from '#queue/background.ts'
import { connectionSteps, connections } from '#store/nouns.ts'
import type { Store } from '#store/store.ts'
import { readRedirectUris } from './clients.ts'
import { listSteps } from './store/connection-steps.ts'
import { listConnections, purgeConnections, revokeConnection } from './store/connections.ts'
import { insertClient, listClients, type OauthClient, removeClient } from './store/oauth-clients.ts'

export function connectionHandlers(deps: Store): HandlersOf<'connections'> {
  const { db, clock, makeId } = deps
  return {
    'connections.list': async ({ query }, { accountId }) => {
      const found = await listConnections(db, { accountId, ...query, nowMs: clock.now() })
      return { data: found.connections.map(connections.present), total: found.total }
    },
    'connections.delete': async ({ path }, { accountId }) => {
      const asked = { accountId, id: path.id, nowMs: clock.now() }
      if (!(await db.write(revokeConnection, asked))) throw notFound()
    },
    'connections.listSteps': async ({ query }, { accountId }) => {
      const { steps, total } = await listSteps(db, { accountId, ...query, nowMs: clock.now() })
      return { data: steps.map(connectionSteps.present), total }
    },
    'connections.createClient': async ({ body }, { accountId }) => {
      const { redirectUris, fault } = readRedirectUris(body.redirectUris)
      if (fault !== null) throw wrongField('redirectUris', `is not valid: ${fault}`)
      const client = {
        id: makeId('ocl'),
        accountId,
        name: body.name,
        redirectUris,
        createdAtMs: clock.now(),
        expiresAtMs: null,
      }
      if ((await db.write(insertClient, client)) === 'limit_reached') {
        throw problem('connection_client_limit_reached')
      }
      return presentClient(client)
    },
    'connections.listClients': async ({ query }, { accountId }) => {
      const { clients, total } = await listClients(db, { accountId, ...query })
      return { data: clients.map(presentClient), total }
    },
    'connections.deleteClient': async ({ path }, { accountId }) => {
      const asked = { accountId, clientId: path.id, nowMs: clock.now() }
      if (!(await db.write(removeClient, asked))) throw notFound()
    },
  }
}

function presentClient({ id, name, redirectUris, createdAtMs }: OauthClient) {
  return presentTimes({ id, name, redirectUris, createdAtMs })
}

export function connectionWork({ db, clock }: Store): FeatureWork {
  const run = async () => !(await db.write(purgeConnections, { nowMs: clock.now() }))
  return { tasks: [{ name: 'connection purge', everyMs: MINUTE_MS, by: 'leader', run }] }
}
