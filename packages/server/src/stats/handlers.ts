import type { StatsRange } from '@mailroom/contract/vocabulary.ts'
import type { Handlers } from '#http/handler.ts'
import type { StorageQuota } from '#mailbox/messages/store/storage-quota.ts'
import { readFileBytes, readStored } from '#mailbox/messages/store/stored-bytes.ts'
import { type Clock, presentTime } from '#platform/clock.ts'
import { addLatencies, type Latencies, latencyAt } from '#platform/telemetry/latency.ts'
import { DAY_MS, HOUR_MS } from '#platform/units.ts'
import { countUnread, findUncounted, listMailHours, type MailHour } from '#stats/store/stats.ts'
import type { Db } from '#store/tables.ts'

export function statsHandlers(deps: {
  db: Db
  clock: Clock
  storageQuota: StorageQuota
}): Pick<Handlers, 'stats.get'> {
  return {
    'stats.get': async ({ query: { range = '24h' } }, { accountId }) => {
      const stats = await readStats(deps, { accountId, range })
      const { bucketMs, buckets, asOfMs, ...counts } = stats
      const sumOf = (field: 'received' | 'sent' | 'failed') =>
        buckets.reduce((sum, bucket) => sum + bucket[field], 0)
      return {
        range,
        bucketSeconds: bucketMs / 1000,
        buckets: buckets.map(({ atMs, ...figures }) => ({ at: presentTime(atMs), ...figures })),
        totals: { received: sumOf('received'), sent: sumOf('sent'), failed: sumOf('failed') },
        ...counts,
        storedBytesLimit: deps.storageQuota.limitBytes,
        asOf: presentTime(asOfMs),
      }
    },
  }
}

const RANGES: Readonly<Record<StatsRange, { bucketMs: number; count: number }>> = {
  '24h': { bucketMs: HOUR_MS, count: 24 },
  '7d': { bucketMs: 3 * HOUR_MS, count: 56 },
  '30d': { bucketMs: DAY_MS, count: 30 },
}

/** Buckets begin at hours and days of UTC. They are in order, and the last contains this moment. */
export async function readStats(
  deps: { db: Db; clock: Clock },
  { accountId, range }: { accountId: string; range: StatsRange },
) {
  const { bucketMs, count } = RANGES[range]
  const nowMs = deps.clock.now()
  const lastMs = Math.floor(nowMs / bucketMs) * bucketMs
  const sinceMs = lastMs - (count - 1) * bucketMs
  const [{ sinceMs: uncountedMs }, hours, unread, { storedBytes }, fileBytes] = await Promise.all([
    findUncounted(deps.db, 'figures'),
    listMailHours(deps.db, { accountId, sinceMs }),
    countUnread(deps.db, accountId),
    readStored(deps.db, accountId),
    readFileBytes(deps.db, accountId),
  ])
  const byBucket = Map.groupBy(hours, ({ hourAtMs }) => Math.floor(hourAtMs / bucketMs) * bucketMs)
  const buckets = Array.from({ length: count }, (_, index) => {
    const atMs = sinceMs + index * bucketMs
    return { atMs, ...sumOfHours(byBucket.get(atMs) ?? []) }
  })
  return {
    bucketMs,
    buckets,
    ...unread,
    storedBytes: storedBytes + fileBytes,
    asOfMs: Math.min(nowMs, uncountedMs ?? nowMs),
  }
}

function sumOfHours(hours: readonly MailHour[]) {
  let latencies: Latencies = {}
  const counts = { received: 0, sent: 0, failed: 0 }
  for (const hour of hours) {
    counts.received += hour.received
    counts.sent += hour.sent
    counts.failed += hour.failed
    latencies = addLatencies(latencies, hour.latencies)
  }
  return {
    ...counts,
    latencyMsP50: latencyAt(latencies, 0.5),
    latencyMsP95: latencyAt(latencies, 0.95),
  }
}
