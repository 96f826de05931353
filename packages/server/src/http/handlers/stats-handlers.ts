// Handlers of figures.

import type { Deps } from '#actions/deps.ts'
import { readStats } from '#actions/stats/read-stats.ts'
import type { Handlers } from '#http/handler.ts'
import { presentTime } from '#http/present/time.ts'

/** One handler for each operation on figures. */
export function statsHandlers(deps: Deps): Pick<Handlers, 'stats.get'> {
  return {
    'stats.get': async ({ query: { range = '24h' } }, { accountId }) => {
      const stats = await readStats(deps, { accountId, range })
      const { bucketMs, buckets, inboxes, unreadThreads, storedBytes, asOfMs } = stats
      const sumOf = (field: 'received' | 'sent' | 'failed') =>
        buckets.reduce((sum, bucket) => sum + bucket[field], 0)
      return {
        range,
        bucketSeconds: bucketMs / 1000,
        buckets: buckets.map(({ atMs, ...figures }) => ({ at: presentTime(atMs), ...figures })),
        totals: { received: sumOf('received'), sent: sumOf('sent'), failed: sumOf('failed') },
        inboxes,
        unreadThreads,
        storedBytes,
        storedBytesLimit: deps.storageQuota.limitBytes,
        asOf: presentTime(asOfMs),
      }
    },
  }
}
