// What a worker of a queue holds and has not attempted goes back to it, also while the store is away.

import type { Log } from '#platform/log.ts'
import { storageTrouble } from '#platform/storage-trouble.ts'
import type { LeaseKeeper } from './lease-keeper.ts'
import { outlastStore } from './outlast-store.ts'

/**
 * Tried until the store is back, or `signal` is aborted: then the leases end by themselves. `fields` are
 * for the log.
 */
export async function giveBack(
  deps: { log: Log },
  held: readonly { readonly id: string }[],
  {
    leases,
    fields,
    signal,
  }: { leases: Pick<LeaseKeeper, 'giveBack'>; fields: object; signal: AbortSignal },
): Promise<void> {
  try {
    await leases.giveBack(held, (run) => outlastStore(deps, { fields, signal }, run))
  } catch (error) {
    if (storageTrouble(error) === null) throw error
    deps.log.warn(
      { error, ...fields },
      'deliveries could not be released; their leases will expire',
    )
  }
}
