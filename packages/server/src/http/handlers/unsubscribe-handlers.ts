// Handlers of the link by which the recipient of a message ends further ones. Whoever has it is let in.

import type { Deps } from '#actions/deps.ts'
import { findUnsubscription, unsubscribe } from '#actions/suppression/unsubscribe.ts'
import { clientGroup } from '#base/client-address.ts'
import { MINUTE_MS, UNSUBSCRIBES_PER_MINUTE_MAX } from '#base/limits.ts'
import type { BinaryResponse, Context, Handlers } from '#http/handler.ts'
import { rateLimited } from '#http/problems.ts'
import { askPage, donePage, unknownPage } from '#http/unsubscribe-page.ts'
import { notFound } from '#model/problem.ts'

/** They share one bound on the uses of links from one address. */
export function unsubscribeHandlers(
  deps: Pick<Deps, 'db' | 'clock' | 'makeId' | 'sealer' | 'budgets'>,
): Pick<Handlers, Extract<keyof Handlers, `unsubscribe.${string}`>> {
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
