// Handlers of the link by which the recipient of a message ends further ones. Whoever has it is let in.

import type { Deps } from '#actions/deps.ts'
import { findUnsubscription, unsubscribe } from '#actions/suppression/unsubscribe.ts'
import { clientGroup } from '#base/client-address.ts'
import { LIMITER_ENTRIES_MAX, MINUTE_MS, UNSUBSCRIBES_PER_MINUTE_MAX } from '#base/limits.ts'
import type { BinaryResponse, Context, Handlers } from '#http/handler.ts'
import { rateLimited } from '#http/problems.ts'
import { slidingWindow } from '#http/rate-limit.ts'
import { askPage, donePage, unknownPage } from '#http/unsubscribe-page.ts'
import { notFound } from '#model/problem.ts'

/** They share one bound on the uses of links from one address, in the memory of this process. */
export function unsubscribeHandlers(
  deps: Pick<Deps, 'db' | 'clock' | 'makeId' | 'sealer'>,
): Pick<Handlers, Extract<keyof Handlers, `unsubscribe.${string}`>> {
  const uses = slidingWindow({
    limit: UNSUBSCRIBES_PER_MINUTE_MAX,
    windowMs: MINUTE_MS,
    entriesMax: LIMITER_ENTRIES_MAX,
    clock: deps.clock,
  })
  const take = ({ clientAddress }: Context) => {
    const { isAllowed, resetSeconds } = uses.take(clientGroup(clientAddress))
    if (!isAllowed) throw rateLimited('Too many uses of links from this address.', resetSeconds)
  }
  return {
    'unsubscribe.show': ({ path }, context) => {
      take(context)
      const found = findUnsubscription(deps, path.token)
      return found === null ? unknown(context) : askPage(found.address)
    },
    'unsubscribe.confirm': async ({ path }, context) => {
      take(context)
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
