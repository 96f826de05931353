// The background work of webhooks: creating deliveries from the event log and posting them.

import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import {
  LOG_POLL_MS,
  LOG_STEP_EVENTS,
  type LogReader,
  openLogReader,
  openStall,
} from '#events/events.ts'
import {
  compareOffsets,
  isWanted,
  LOG_START,
  type LoggedEvent,
  type LogOffset,
} from '#events/model.ts'
import { readLog } from '#events/store/log.ts'
import type { Tracing } from '#platform/telemetry/tracing.ts'
import { traceQueue } from '#queue/dispatched-queue.ts'
import { openDispatcher } from '#queue/dispatcher.ts'
import { WEBHOOK_BOUNDS } from '#queue/dispatcher-bounds.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import { openWorkerLoop } from '#queue/worker-loop.ts'
import type { Store } from '#store/store.ts'
import { addWebhookDeliveries, type NewWebhookDelivery } from '#webhooks/store/queue.ts'
import { findEnabledWebhooks } from '#webhooks/store/webhooks.ts'
import { type DeliverWebhookDeps, openWebhookQueue } from './deliver-webhooks.ts'
import { enabledAfter, type Webhook } from './model.ts'

/** Maximum delay between log queries, so that events that arrive together share a query. */
const FAN_OUT_GAP_MS_MAX = 10
/** After a slow query the delay is twice its duration, up to this maximum. */
const FAN_OUT_REST_MS_MAX = 50

export type Webhooks = {
  /** A lost call only delays deliveries. */
  wake(): void
  wakeDeliveries(): void
  active(): number
  /** Aborted deliveries return to the queue. */
  close(drainMs: number): Promise<void>
}

export function openWebhooks(deps: DeliverWebhookDeps & FanOutDeps, instance: string): Webhooks {
  const worker = `${instance} ${deps.makeId('job')}`
  const queue = traceQueue(openWebhookQueue(deps, worker), { ...deps, name: 'webhook attempt' })
  const dispatcher = openDispatcher(queue, deps, {
    name: 'webhook deliveries',
    bounds: WEBHOOK_BOUNDS,
  })
  const fanOut = openFanOut(deps, dispatcher.wake)
  const stall = openStall(deps, 'webhooks')
  let timer: NodeJS.Timeout | undefined
  let readAtMs = Number.NEGATIVE_INFINITY
  let tookMs = 0
  const reading = openWorkerLoop({
    name: 'events for webhooks',
    everyMs: LOG_POLL_MS,
    async step() {
      // The delay is a millisecond per event: single events are immediate, and many share a query.
      const shareMs = Math.min(fanOut.found, FAN_OUT_GAP_MS_MAX)
      // The rest prevents several processes from loading a busy database all the time.
      const restMs = tookMs + Math.min(2 * tookMs, FAN_OUT_REST_MS_MAX)
      const gapMs = readAtMs + Math.max(shareMs, restMs) - deps.clock.monotonic()
      if (gapMs > 0) await pause(gapMs)
      readAtMs = deps.clock.monotonic()
      const mayBeMore = await fanOut.step()
      tookMs = deps.clock.monotonic() - readAtMs
      if (mayBeMore) return true
      clearTimeout(timer)
      const { offset } = fanOut
      if (offset === null || !(await fanOut.isBehind())) stall.end()
      else timer = setTimeout(reading.wake, stall.delayMs(offset)).unref()
      return false
    },
    log: deps.log,
    clock: deps.clock,
  })
  return {
    wake: reading.wake,
    wakeDeliveries: dispatcher.wake,
    active: dispatcher.active,
    async close(drainMs) {
      clearTimeout(timer)
      await reading.close()
      await dispatcher.close(drainMs)
    },
  }
}

const FAN_OUT_ROWS_MAX = 1_000

type FanOutDeps = Store & { queueClock: QueueClock; tracing: Tracing }

export function openFanOut(deps: FanOutDeps, onAdded: () => void): LogReader {
  const { db, clock, queueClock } = deps
  return openLogReader<LoggedEvent, NewWebhookDelivery>(deps, {
    name: 'webhooks',
    limit: LOG_STEP_EVENTS,
    read: (after) => readLog(db, { after, limit: LOG_STEP_EVENTS }),
    match: (events) => match(deps, events),
    async write({ work, ...move }) {
      const times = { nowMs: clock.now(), queueMs: queueClock.now() }
      const isKept = await db.write(addWebhookDeliveries, {
        ...move,
        ...times,
        deliveries: [...work],
      })
      if (isKept && work.length > 0) onAdded()
      return isKept
    },
  })
}

async function match(
  deps: FanOutDeps,
  events: readonly LoggedEvent[],
): Promise<{ work: NewWebhookDelivery[]; to: LogOffset }> {
  const webhooks = await findOfAccounts(deps, events)
  const work: NewWebhookDelivery[] = []
  let to = LOG_START
  for (const event of events) {
    if (work.length >= FAN_OUT_ROWS_MAX) break
    to = event.offset
    const wanting = (webhooks.get(event.accountId) ?? []).filter((one) => isFor(event, one))
    if (wanting.length === 0) continue
    const { id: eventId, kind: eventKind } = event
    const traceParent = noteEvent(deps, event, wanting.length)
    for (const { id: webhookId, accountId } of wanting) {
      const id = deps.makeId('dlv')
      work.push({ id, accountId, webhookId, eventId, eventKind, traceParent })
    }
    await nextTurn()
  }
  return { work, to }
}

function noteEvent(
  { tracing }: Pick<FanOutDeps, 'tracing'>,
  { kind, traceParent, occurredAtMs }: LoggedEvent,
  webhooks: number,
): string | null {
  const attributes = { 'mailroom.event.kind': kind, 'mailroom.webhooks': webhooks }
  return tracing.note('event', { parent: traceParent, attributes, startMs: occurredAtMs })
}

async function findOfAccounts(
  { db }: FanOutDeps,
  events: readonly LoggedEvent[],
): Promise<Map<string, Webhook[]>> {
  const accountIds = [...new Set(events.map((event) => event.accountId))]
  const inboxIds = [...new Set(events.flatMap((event) => event.inboxId ?? []))]
  const all = await findEnabledWebhooks(db, { accountIds, inboxIds })
  return Map.groupBy(all, (webhook) => webhook.accountId)
}

/** A test event already has its delivery. */
function isFor(event: LoggedEvent, webhook: Webhook): boolean {
  if (event.kind === 'webhook.test') return false
  if (compareOffsets(event.offset, enabledAfter(webhook)) <= 0) return false
  return isWanted(event, webhook)
}
