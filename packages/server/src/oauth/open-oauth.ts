import type { Budgets } from '#limits/limits.ts'
import type { Chance } from '#platform/chance.ts'
import type { HttpGetter } from '#platform/egress/http-get.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Store } from '#store/store.ts'
import { type FindClient, openClients } from './clients.ts'
import { openStepRecord, type RecordStep } from './record-step.ts'
import { type Connections, openConnections } from './use-connection.ts'

export type OauthDeps = Store & {
  readonly chance: Chance
  readonly sealer: Sealer
  readonly budgets: Budgets
  readonly publicUrl: () => string
  readonly findClient: FindClient
  readonly recordStep: RecordStep
  readonly connections: Connections
}

export function openOauth(
  deps: Omit<OauthDeps, 'findClient' | 'recordStep' | 'connections'> & {
    readonly documents: Pick<HttpGetter, 'get'>
  },
): OauthDeps {
  const recordStep = openStepRecord(deps)
  return {
    ...deps,
    recordStep,
    findClient: openClients(deps),
    connections: openConnections({ ...deps, recordStep }),
  }
}
