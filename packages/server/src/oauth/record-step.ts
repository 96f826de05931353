// Records the steps of sign-ins, so that a person can see where one ended.

import { hash } from 'node:crypto'
import type { ConnectionStepName } from '@mailroom/contract/vocabulary.ts'
import { clientGroup } from '@mailroom/smtp/client-address.ts'
import type { Budgets } from '#limits/limits.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { Store } from '#store/store.ts'
import { insertStep } from './store/connection-steps.ts'
import type { Connection } from './store/connections.ts'

/** Limits for steps that belong to no account, which anyone can cause. */
const ANONYMOUS_PER_ADDRESS_MAX = 20
const ANONYMOUS_MAX = 200
const USER_AGENT_LENGTH_MAX = 120

export type From = { readonly clientAddress: string; readonly userAgent: string | undefined }

type Step = {
  readonly step: ConnectionStepName
  readonly from: From | null
  /** Omitted if the step succeeded. The detail contains nothing that the client chose. */
  readonly failure?: { readonly error: string; readonly detail: string }
  readonly client?: { readonly id: string; readonly name: string } | undefined
  readonly connection?: Pick<Connection, 'id' | 'accountId' | 'clientId' | 'clientName'>
  readonly accountId?: string
}

/** Never fails, because a sign-in must not fail for want of its record. */
export type RecordStep = (step: Step) => Promise<void>

export function openStepRecord(deps: Store & { budgets: Budgets }): RecordStep {
  const { budgets, db, clock, makeId, log } = deps
  const windowMs = MINUTE_MS
  const perAddress = budgets.openWindow({
    name: 'sign-in steps',
    limit: ANONYMOUS_PER_ADDRESS_MAX,
    windowMs,
  })
  const inAll = budgets.openWindow({ name: 'all sign-in steps', limit: ANONYMOUS_MAX, windowMs })
  /** A client reads several documents each time. */
  const discoveries = budgets.openWindow({ name: 'discoveries', limit: 1, windowMs })
  return async ({ step, from, failure, client, connection, accountId }) => {
    try {
      const agent = shownAgent(from?.userAgent)
      const owner = connection?.accountId ?? accountId ?? null
      if (owner === null && from !== null) {
        const group = clientGroup(from.clientAddress)
        const program = `${group} ${hash('sha256', agent ?? '', 'base64url')}`
        if (step === 'discovery' && !(await discoveries.take(program)).isAllowed) return
        if (!(await perAddress.take(group)).isAllowed) return
        if (!(await inAll.take('all')).isAllowed) return
      }
      await db.write(insertStep, {
        id: makeId('stp'),
        accountId: owner,
        step,
        isOk: failure === undefined,
        error: failure?.error ?? null,
        detail: failure?.detail ?? null,
        clientId: connection?.clientId ?? client?.id ?? null,
        clientName: connection?.clientName ?? client?.name ?? null,
        connectionId: connection?.id ?? null,
        userAgent: agent,
        occurredAtMs: clock.now(),
      })
    } catch (error) {
      log.debug({ error }, 'a step of a sign-in was not recorded')
    }
  }
}

function shownAgent(userAgent: string | undefined): string | null {
  const shown = (userAgent ?? '').replaceAll(/[^ -~]+/g, '?').slice(0, USER_AGENT_LENGTH_MAX)
  return shown === '' ? null : shown
}
