import { RESPONSE_LENGTH_MAX } from '@mailroom/mail-reading/report/report.ts'
import type { Handlers } from '#http/handler.ts'
import * as store from '#outbound/suppressions/store/suppressions.ts'
import { addressKey } from '#platform/email-address.ts'
import { notFound, problem } from '#platform/problem.ts'
import { suppressions } from '#store/nouns.ts'
import type { Store } from '#store/store.ts'

export function suppressionHandlers(
  deps: Store,
): Pick<Handlers, Extract<keyof Handlers, `suppressions.${string}`>> {
  return {
    'suppressions.list': async ({ query }, { accountId }) => {
      const { address = null, ...page } = query
      const key = address === null ? null : addressKey(address)
      const found = await store.listSuppressions(deps.db, { ...page, accountId, addressKey: key })
      return { data: found.suppressions.map(suppressions.present), total: found.total }
    },
    'suppressions.create': async ({ body: { address } }, { accountId }) => {
      const why = { accountId, address, type: 'manual', reason: null } as const
      const added = await deps.db.write(store.insertSuppression, newSuppression(deps, why))
      if (added === null) throw problem('suppression_limit_reached')
      return suppressions.present(added)
    },
    'suppressions.delete': async ({ path }, { accountId }) => {
      const change = { accountId, addressKey: addressKey(path.address) }
      if (!(await deps.db.write(store.deleteSuppression, change))) throw notFound()
    },
  }
}

/** `reason` may come from another server, and is cut to RESPONSE_LENGTH_MAX. */
export function newSuppression(
  deps: Pick<Store, 'clock' | 'makeId'>,
  why: { accountId: string; address: string; type: store.SuppressionType; reason: string | null },
): store.NewSuppression {
  return {
    id: deps.makeId('sup'),
    account_id: why.accountId,
    address: why.address,
    address_key: addressKey(why.address),
    type: why.type,
    reason: why.reason?.slice(0, RESPONSE_LENGTH_MAX) ?? null,
    created_at: deps.clock.now(),
  }
}
