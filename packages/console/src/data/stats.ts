// Figures of mail over time, as the service counts them.

import { ask } from './session.ts'

export const ranges = ['24h', '7d', '30d'] as const
export type Range = (typeof ranges)[number]

export type Bucket = {
  at: string
  received: number
  sent: number
  failed: number
  latencyMsP50: number | null
  latencyMsP95: number | null
}

export type Stats = {
  range: Range
  bucketSeconds: number
  buckets: Bucket[]
  totals: { received: number; sent: number; failed: number }
  inboxes: number
  unreadThreads: number
  asOf: string
}

export function readStats(range: Range): Promise<Stats> {
  return ask<Stats>('GET', `/v1/stats?range=${range}`)
}
