// Handlers of the link by which the recipient of a message ends further ones. Whoever has it is let in.

import type { BinaryResponse, Context, Handlers } from '#http/handler.ts'
import { rateLimited } from '#http/problems.ts'
import { clientGroup } from '#platform/client-address.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import { notFound } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { Budgets } from '#rate-limits/budgets.ts'
import type { Db } from '#schema/tables.ts'
import { findUnsubscription, unsubscribe } from './unsubscribe.ts'
import { askPage, donePage, unknownPage } from './unsubscribe-page.ts'

/** Uses of such links from one address in a minute: a large provider posts for all its users. */
const UNSUBSCRIBES_PER_MINUTE_MAX = 600

/** They share one bound on the uses of links from one address. */
export function unsubscribeHandlers(deps: {
  db: Db
  clock: Clock
  makeId: MakeId
  sealer: Sealer
  budgets: Budgets
}): Pick<Handlers, Extract<keyof Handlers, `unsubscribe.${string}`>> {
  const uses = deps.budgets.openWindow({
    name: 'unsubscribes',
    limit: UNSUBSCRIBES_PER_MINUTE_MAX,
    windowMs: MINUTE_MS,
  })
  const take = async ({ clientAddress }: Context) => {
    const { isAllowed, resetSeconds } = await uses.take(clientGroup(clientAddress))
    if (!isAllowed) throw rateLimited('Too many uses of links from this address.', resetSeconds)
  }
  return {
    'unsubscribe.show': async ({ path }, context) => {
      await take(context)
      const found = findUnsubscription(deps, path.token)
      return found === null ? unknown(context) : askPage(found.address)
    },
    'unsubscribe.confirm': async ({ path }, context) => {
      await take(context)
      const done = await unsubscribe(deps, path.token)
      return done === null ? unknown(context) : donePage(done.address)
    },
  }
}

/** People get a page, programs the error in the form of all others. */
function unknown({ headers }: Context): BinaryResponse {
  if (headers.accept?.includes('text/html')) return unknownPage()
  throw notFound()
}
