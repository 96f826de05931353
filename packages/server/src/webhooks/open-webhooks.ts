// Webhooks joined to what they stand on: the way out for all processes, and for those that have the
// role the loop that reads the log and the dispatcher that delivers.

import { setTimeout as pause } from 'node:timers/promises'
import { ownNamesOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { LOG_POLL_MS, openStall } from '#events/stall.ts'
import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { HttpPost } from '#platform/egress/http-post.ts'
import { type HttpPoster, openHttpPoster } from '#platform/egress/http-post.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Tracing } from '#platform/telemetry/tracing.ts'
import { traceQueue } from '#queue/dispatched-queue.ts'
import { openDispatcher } from '#queue/dispatcher.ts'
import { WEBHOOK_BOUNDS } from '#queue/dispatcher-bounds.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import { openWorkerLoop } from '#queue/worker-loop.ts'
import type { Db } from '#schema/tables.ts'
import type { ReadEventTexts } from './event-texts.ts'
import { openFanOut } from './fan-out.ts'
import { openWebhookQueue } from './webhook-queue.ts'

/** What the functions below work with. */
type Needs = {
  db: Db
  clock: Clock
  makeId: MakeId
  log: Log
  tracing: Tracing
  readEventTexts: ReadEventTexts
  sealer: Sealer
  allowPrivateEgress: boolean
  queueClock: QueueClock
  wakeEvents: () => void
  postWebhook: HttpPost
  countWebhookDelivery: (status: 'succeeded' | 'deferred' | 'failed') => void
  wakeWebhooks: () => void
}

/** Between two looks at the log where much arrives: what comes meanwhile shares one. */
const FAN_OUT_GAP_MS_MAX = 10
/** Where reading the log is slow it rests for twice as long as it took, and no longer than this. */
const FAN_OUT_REST_MS_MAX = 50

const USER_AGENT = 'Mailroom-Webhooks/1'

/** The way to receivers; nothing is connected to yet. */
export function openWebhookPoster(settings: Settings, resolver: Resolver): HttpPoster {
  const allowPrivate = settings.allowPrivateEgress
  const ownNames = ownNamesOf(settings)
  return openHttpPoster({ resolver, allowPrivate, ownNames, userAgent: USER_AGENT })
}

export type Webhooks = {
  /** There may be new events; losing it costs only time. */
  wake(): void
  /** Attempts under way. */
  active(): number
  /** Lets attempts end for up to `drainMs` milliseconds, then cuts them and gives them back. */
  close(drainMs: number): Promise<void>
}

/** Starts telling webhooks. */
export function openWebhooks(deps: Needs, instance: string): Webhooks {
  const worker = `${instance} ${deps.makeId('job')}`
  const queue = traceQueue(openWebhookQueue(deps, worker), { ...deps, name: 'webhook attempt' })
  const dispatcher = openDispatcher(queue, deps.log, {
    name: 'webhook deliveries',
    bounds: WEBHOOK_BOUNDS,
  })
  deps.wakeWebhooks = dispatcher.wake
  const fanOut = openFanOut(deps, dispatcher.wake)
  const stall = openStall(deps, 'webhooks')
  let timer: NodeJS.Timeout | undefined
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let tookMs = 0
  const reading = openWorkerLoop({
    name: 'events for webhooks',
    everyMs: LOG_POLL_MS,
    async step() {
      // A millisecond for each event: single ones go at once, many share a step and its commit.
      const shareMs = Math.min(fanOut.found, FAN_OUT_GAP_MS_MAX)
      // A database that is busy is not asked all the time by all processes.
      const restMs = tookMs + Math.min(2 * tookMs, FAN_OUT_REST_MS_MAX)
      const gapMs = lookedAtMs + Math.max(shareMs, restMs) - deps.clock.monotonic()
      if (gapMs > 0) await pause(gapMs)
      lookedAtMs = deps.clock.monotonic()
      const mayBeMore = await fanOut.step()
      tookMs = deps.clock.monotonic() - lookedAtMs
      if (mayBeMore) return true
      clearTimeout(timer)
      const { position } = fanOut
      if (position === null || !(await fanOut.isBehind())) stall.end()
      else timer = setTimeout(reading.wake, stall.delayMs(position)).unref()
      return false
    },
    log: deps.log,
  })
  return {
    wake: reading.wake,
    active: dispatcher.active,
    async close(drainMs) {
      clearTimeout(timer)
      await reading.close()
      await dispatcher.close(drainMs)
    },
  }
}
