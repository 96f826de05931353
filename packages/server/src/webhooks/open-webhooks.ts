// Webhooks joined to what they stand on: the way out for all processes, and for those that have the
// role the loop that reads the log and the dispatcher that delivers.

import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { ownNamesOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { comparePositions, isWanted, type LoggedEvent, type LogPosition } from '#events/event.ts'
import {
  FAN_OUT_UNKEPT_EVENTS_MAX,
  FAN_OUT_UNKEPT_MS_MAX,
  isUnsettledAfter,
  LOG_STEP_EVENTS,
  readLog,
} from '#events/event-rows.ts'
import { LOG_POLL_MS, openStall } from '#events/follow-log.ts'
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
import { openWebhookQueue, type ReadEventTexts } from './deliver-webhooks.ts'
import type { Webhook } from './webhook.ts'
import {
  addWebhookDeliveries,
  findWebhookPosition,
  type NewWebhookDelivery,
} from './webhook-queue-rows.ts'
import { findWebhooksToTell } from './webhook-rows.ts'

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

/** Deliveries that one step of the log makes, and those of one event beyond it. */
const FAN_OUT_ROWS_MAX = 1_000

type FanOutDeps = { db: Db; clock: Clock; queueClock: QueueClock; makeId: MakeId; tracing: Tracing }

export type FanOut = {
  /** Goes through some of the log; true when there may be more. */
  step(): Promise<boolean>
  /** Events that the last step found. */
  readonly found: number
  /** How far it has come; null before the first step. */
  readonly position: LogPosition | null
  /** Whether an event waits for an older transaction to end, whose end nobody tells of. */
  isBehind(): Promise<boolean>
}

/** `onAdded` is called after each step that added deliveries. */
export function openFanOut(deps: FanOutDeps, onAdded: () => void): FanOut {
  /** As the database has it, and how far this process has read on since without finding anything. */
  let place: { kept: LogPosition; read: LogPosition; unkept: number; keptMs: number } | null = null
  let found = 0

  const keep = async (kept: LogPosition, deliveries: NewWebhookDelivery[], to: LogPosition) => {
    const [nowMs, queueMs] = [deps.clock.now(), deps.queueClock.now()]
    const step = { from: kept, to, deliveries, nowMs, queueMs }
    if (await deps.db.write(addWebhookDeliveries, step)) {
      place = { kept: to, read: to, unkept: 0, keptMs: deps.clock.monotonic() }
      if (deliveries.length > 0) onAdded()
    } else {
      // Another process was there first.
      place = null
    }
  }
  return {
    async step() {
      place ??= await findPlace(deps)
      const { kept, read } = place
      const events = await readLog(deps.db, { after: read, limit: LOG_STEP_EVENTS })
      const last = events.at(-1)
      found = events.length
      if (last === undefined) {
        // Where the log has ended, so that nobody takes for a backlog what none wants.
        const keptForMs = deps.clock.monotonic() - place.keptMs
        if (place.unkept > 0 && keptForMs >= FAN_OUT_UNKEPT_MS_MAX) await keep(kept, [], read)
        return false
      }
      const { deliveries, to } = await match(deps, events)
      const isWhole = comparePositions(to, last.position) === 0
      const unkept = place.unkept + events.length
      const unkeptMs = deps.clock.monotonic() - place.keptMs
      const isLate = unkept >= FAN_OUT_UNKEPT_EVENTS_MAX || unkeptMs >= FAN_OUT_UNKEPT_MS_MAX
      if (deliveries.length > 0 || isLate) await keep(kept, deliveries, to)
      else place = { ...place, read: to, unkept }
      return place === null || !isWhole || events.length === LOG_STEP_EVENTS
    },
    get found() {
      return found
    },
    get position() {
      return place?.read ?? null
    },
    async isBehind() {
      return place !== null && (await isUnsettledAfter(deps.db, place.read))
    },
  }
}

async function findPlace({ db, clock }: FanOutDeps) {
  const kept = await findWebhookPosition(db)
  return { kept, read: kept, unkept: 0, keptMs: clock.monotonic() }
}

/** What these events come to, up to so many deliveries, and the last of the events that it covers. */
async function match(
  deps: FanOutDeps,
  events: readonly LoggedEvent[],
): Promise<{ deliveries: NewWebhookDelivery[]; to: LogPosition }> {
  const webhooks = await findOfAccounts(deps, events)
  const deliveries: NewWebhookDelivery[] = []
  let to = events[0]?.position
  for (const event of events) {
    if (deliveries.length >= FAN_OUT_ROWS_MAX) break
    to = event.position
    const wanting = (webhooks.get(event.accountId) ?? []).filter((one) => isToBeTold(one, event))
    const { id: eventId, kind: eventKind } = event
    const traceParent = wanting.length > 0 ? noteEvent(deps, event, wanting.length) : null
    for (const { id: webhookId, accountId } of wanting) {
      const id = deps.makeId('dlv')
      deliveries.push({ id, accountId, webhookId, eventId, eventKind, traceParent })
    }
    if (wanting.length > 0) await nextTurn()
  }
  if (to === undefined) throw new Error('There is nothing to be matched.')
  return { deliveries, to }
}

/** The event's own part of a trace: from when it happened until it is on its way to webhooks. */
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
  const all = await findWebhooksToTell(db, { accountIds, inboxIds })
  return Map.groupBy(all, (webhook) => webhook.accountId)
}

/** A test is told to the webhook that is tested, by whoever tests it. */
function isToBeTold({ filter, enabledAfter }: Webhook, event: LoggedEvent): boolean {
  if (event.kind === 'webhook.test') return false
  if (comparePositions(event.position, enabledAfter) <= 0) return false
  return isWanted(event, filter)
}
