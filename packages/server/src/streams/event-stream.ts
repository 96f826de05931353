// The events of one connection: each event that its subscriptions match, once and in the order of the log.
// They come from the hub while the connection keeps up, and from the log where it has fallen behind; so no
// events wait in memory. A WebSocket and an HTTP response are both such connections.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { LOG_POLL_MS } from '#events/events.ts'
import {
  type CheckFilter,
  comparePositions,
  type EventFilter,
  LOG_START,
  type LoggedEvent,
  type LogPosition,
  makeIsWanted,
} from '#events/model.ts'
import { findNewestEventId, scanLog } from '#events/store/events.ts'
import type { Log } from '#platform/log.ts'
import { type EnvelopeDeps, type EventText, readEnvelopes } from './envelope.ts'
import type { EventHub, Listening } from './event-hub.ts'
import { EVENTS_LOADED_AT_ONCE } from './event-hub.ts'
import { type Cursor, findCursor } from './read-events.ts'

/** Inboxes that a connection has excluded from its subscriptions. */
export const EXCLUDED_INBOXES_MAX = 10_000
export const SUBSCRIPTIONS_MAX = 100
/** WebSockets of an account at the same time, and as many event streams. */
export const SOCKETS_PER_ACCOUNT_MAX = 10
/** Unsent octets of a connection, after which it is paused; the rest is read from the log later. */
export const STREAM_BUFFER_BYTES_MAX = 256 * 1024

export type EventSink = {
  /** Writes the event. False: no more until `resume` is called. */
  write(text: EventText): boolean
}

export type Accepted = {
  /** The account's newest event, after which events follow; null if the account has none. */
  readonly lastEventId: string | null
  /** The mistake in `afterId`, to follow it in a sentence; null for none. */
  readonly notice: string | null
}

const NOT_HELD = 'is not an event in the log; events after its time are replayed'
const MALFORMED = 'is not an event id; nothing is replayed'

export type EventStream = {
  /**
   * Events that earlier subscriptions of this connection have sent are not sent again. `onAccepted` is
   * called before the first event. Rejects as a read of the store does.
   */
  subscribe(wanted: {
    filter: EventFilter
    /** Null: events from now on. */
    afterId: string | null
    onAccepted(accepted: Accepted): void
  }): Promise<'subscribed' | 'too_many'>
  /** Excludes inboxes from all subscriptions, even from those that name none; null ends all of them. */
  unsubscribe(inboxIds: readonly string[] | null): 'unsubscribed' | 'too_many'
  resume(): void
  close(): void
}

export type StreamDeps = EnvelopeDeps & { events: EventHub; log: Log }

/** Reads nothing before the first subscription. */
export function openEventStream(
  deps: StreamDeps,
  { accountId, sink }: { accountId: string; sink: EventSink },
): EventStream {
  return new Stream(deps, accountId, sink)
}

class Stream implements EventStream {
  readonly #deps: StreamDeps
  readonly #accountId: string
  readonly #sink: EventSink
  #active: Subscription[] = []
  /** Ended subscriptions, whose events are not sent again. The oldest is forgotten first. */
  readonly #ended: Subscription[] = []
  #subscribing: Promise<Listening> | null = null
  #listening: Listening | null = null
  /** Null while events come from the log. Otherwise the hub notifies of events after this position. */
  #liveFrom: LogPosition | null = null
  #isPaused = false
  #isRunning = false
  #isClosed = false
  #retry: NodeJS.Timeout | null = null

  constructor(deps: StreamDeps, accountId: string, sink: EventSink) {
    this.#deps = deps
    this.#accountId = accountId
    this.#sink = sink
  }

  async subscribe({
    filter,
    afterId,
    onAccepted,
  }: Parameters<EventStream['subscribe']>[0]): ReturnType<EventStream['subscribe']> {
    if (this.#active.length >= SUBSCRIPTIONS_MAX) return 'too_many'
    const accountId = this.#accountId
    const cursor =
      afterId === null ? null : await findCursor(this.#deps, { accountId, after: afterId })
    const { position: until } = await this.#listen()
    const from = cursor?.position ?? until
    const accepted: Accepted = {
      lastEventId:
        cursor === null ? await findNewestEventId(this.#deps.db, { accountId, until }) : afterId,
      notice: noticeOf(afterId, cursor),
    }
    // Other calls may have added some meanwhile.
    if (this.#active.length >= SUBSCRIPTIONS_MAX) return 'too_many'
    this.#settleLive()
    this.#liveFrom = null
    this.#active.push(new Subscription(filter, from))
    if (!this.#isClosed) onAccepted(accepted)
    this.#goOn()
    return 'subscribed'
  }

  unsubscribe(inboxIds: readonly string[] | null): 'unsubscribed' | 'too_many' {
    this.#settleLive()
    if (inboxIds === null) this.#end(() => true)
    else {
      const ids = new Set(inboxIds)
      const excluded = this.#active.reduce((sum, one) => sum + one.countExclusions(ids), 0)
      if (excluded > EXCLUDED_INBOXES_MAX) return 'too_many'
      for (const one of this.#active) for (const id of ids) one.exclude(id)
      this.#end((one) => one.isEmpty)
    }
    return 'unsubscribed'
  }

  resume(): void {
    this.#isPaused = false
    this.#goOn()
  }

  close(): void {
    this.#isClosed = true
    this.#active = []
    this.#ended.length = 0
    this.#liveFrom = null
    if (this.#retry !== null) clearTimeout(this.#retry)
    this.#listening?.stop()
  }

  #end(isOver: (one: Subscription) => boolean): void {
    this.#ended.push(...this.#active.filter(isOver))
    this.#ended.splice(0, this.#ended.length - SUBSCRIPTIONS_MAX)
    this.#active = this.#active.filter((one) => !isOver(one))
  }

  async #listen(): Promise<Listening> {
    this.#subscribing ??= this.#deps.events.listen(this.#accountId, {
      wants: (event) => this.#wantsLive(event),
      notify: (text) => {
        if (this.#wantsLive(text.event)) this.#write(text)
      },
    })
    try {
      this.#listening = await this.#subscribing
    } catch (error) {
      this.#subscribing = null
      throw error
    }
    if (this.#isClosed) this.#listening.stop()
    return this.#listening
  }

  #wantsLive(event: LoggedEvent): boolean {
    if (this.#liveFrom === null || comparePositions(event.position, this.#liveFrom) <= 0) {
      return false
    }
    return this.#active.some((one) => one.matches(event)) && !this.#hasSent(event)
  }

  #hasSent(event: LoggedEvent): boolean {
    return [...this.#active, ...this.#ended].some((one) => one.hasSent(event))
  }

  #write(text: EventText): void {
    if (this.#sink.write(text)) return
    this.#isPaused = true
    this.#settleLive()
    this.#liveFrom = null
  }

  /** While it is live, all subscriptions have sent the events up to the hub's position. */
  #settleLive(): void {
    if (this.#liveFrom === null) return
    const position = latest(this.#liveFrom, this.#listening?.position ?? LOG_START)
    for (const one of this.#active) one.sentUntil = latest(one.sentUntil, position)
  }

  #goOn(): void {
    if (this.#retry !== null) clearTimeout(this.#retry)
    this.#retry = null
    if (!this.#isRunning) void this.#run()
  }

  /** Sends from the log until the hub can take over; runs synchronously up to its first `await`. */
  async #run(): Promise<void> {
    this.#isRunning = true
    try {
      while (!this.#isClosed && !this.#isPaused && this.#liveFrom === null && !this.#goLive()) {
        await this.#deps.events.catchUp(this.#accountId, () => this.#catchUp())
        await nextTurn()
      }
    } catch (error) {
      this.#deps.log.warn({ error }, 'an event stream is waiting for the database')
      if (!this.#isClosed) this.#retry = setTimeout(() => this.#goOn(), LOG_POLL_MS).unref()
    } finally {
      this.#isRunning = false
    }
  }

  /** True if all subscriptions have sent the events up to the hub's position. */
  #goLive(): boolean {
    if (this.#active.length === 0 || this.#listening === null) return true
    const { after } = this.#furthestBehind()
    if (comparePositions(after, this.#listening.position) < 0) return false
    this.#liveFrom = after
    this.#deps.events.changed()
    return true
  }

  /** One query for the subscriptions that are furthest behind, at most up to where the next ones are. */
  async #catchUp(): Promise<void> {
    const { group, after, next } = this.#furthestBehind()
    if (group.length === 0 || this.#listening === null) return
    // Everything up to the hub is settled; a cursor may be after a transaction that is under way.
    const until = earliest(next, this.#listening.position)
    const range = { accountId: this.#accountId, after, until, filter: filterOfAll(group) }
    const scan = await scanLog(this.#deps.db, { ...range, limit: EVENTS_LOADED_AT_ONCE })
    const wanted = scan.events.filter((event) => group.some((one) => one.matches(event)))
    const texts = await readEnvelopes(this.#deps, wanted)
    const found = new Map(texts.map((text) => [text.event, text]))
    for (const event of scan.events) {
      if (this.#isPaused || this.#isClosed) return
      this.#send(group, event, found.get(event))
    }
    if (this.#isPaused) return
    for (const one of this.#active) {
      if (group.includes(one)) one.sentUntil = latest(one.sentUntil, scan.reached)
    }
  }

  #furthestBehind() {
    const positions = this.#active.map(({ sentUntil }) => sentUntil).sort(comparePositions)
    const after = positions[0] ?? LOG_START
    const next = positions.find((position) => comparePositions(position, after) > 0) ?? null
    const group = this.#active.filter((one) => comparePositions(one.sentUntil, after) === 0)
    return { group, after, next }
  }

  #send(group: readonly Subscription[], event: LoggedEvent, text: EventText | undefined): void {
    // A subscription may have ended since the log was read.
    const members = group.filter((one) => this.#active.includes(one))
    const isWanted = members.some((one) => one.matches(event))
    const isSent = this.#hasSent(event)
    for (const one of members) one.sentUntil = event.position
    if (isWanted && !isSent && text !== undefined) this.#write(text)
  }
}

function noticeOf(afterId: string | null, cursor: Cursor | null): string | null {
  if (afterId === null || cursor?.isHeld === true) return null
  return cursor === null ? MALFORMED : NOT_HELD
}

function latest(one: LogPosition, other: LogPosition): LogPosition {
  return comparePositions(one, other) < 0 ? other : one
}

function earliest(one: LogPosition | null, other: LogPosition): LogPosition {
  return one !== null && comparePositions(one, other) < 0 ? one : other
}

/**
 * A filter of a connection. Every event that it matches after `from` and up to `sentUntil` has been sent
 * on the connection, for this subscription or for another one.
 */
class Subscription {
  readonly filter: EventFilter
  readonly from: LogPosition
  sentUntil: LogPosition
  readonly #isWanted: (event: LoggedEvent) => boolean
  /** Excluded inboxes, and `sentUntil` when each was excluded; null before the first. */
  #excluded: Map<string, LogPosition> | null = null

  constructor(filter: EventFilter, from: LogPosition) {
    this.filter = filter
    this.from = from
    this.sentUntil = from
    this.#isWanted = makeIsWanted(filter)
  }

  /** Whether the subscription sends the event, now or later. */
  matches(event: LoggedEvent): boolean {
    if (comparePositions(event.position, this.from) <= 0 || !this.#isWanted(event)) return false
    const until = event.inboxId === null ? undefined : this.#excluded?.get(event.inboxId)
    return until === undefined || comparePositions(event.position, until) <= 0
  }

  hasSent(event: LoggedEvent): boolean {
    return comparePositions(event.position, this.sentUntil) <= 0 && this.matches(event)
  }

  /** The number of excluded inboxes after these are added. */
  countExclusions(inboxIds: ReadonlySet<string>): number {
    const excluded = this.#excluded
    if (excluded === null) return inboxIds.size
    return excluded.size + [...inboxIds].filter((id) => !excluded.has(id)).length
  }

  exclude(inboxId: string): void {
    this.#excluded ??= new Map()
    if (!this.#excluded.has(inboxId)) this.#excluded.set(inboxId, this.sentUntil)
  }

  /** Whether it names inboxes and no pod, and all of the inboxes are excluded. */
  get isEmpty(): boolean {
    const { inboxIds, podIds } = this.filter
    if (inboxIds.length === 0 || podIds.length > 0) return false
    return inboxIds.every((id) => this.#excluded?.has(id))
  }
}

/** A filter that passes at least every event that one of the subscriptions passes. */
function filterOfAll(subscriptions: readonly Subscription[]): EventFilter {
  const filters = subscriptions.map(({ filter }) => filter)
  const isAnyKind = filters.some(({ kinds }) => kinds.length === 0)
  const isAnyCategory = filters.some(({ categories }) => categories.length === 0)
  const isAnywhere = filters.some(
    ({ podIds, inboxIds }) => podIds.length === 0 && inboxIds.length === 0,
  )
  return {
    kinds: isAnyKind ? [] : [...new Set(filters.flatMap(({ kinds }) => kinds))],
    podIds: isAnywhere ? [] : [...new Set(filters.flatMap(({ podIds }) => podIds))],
    inboxIds: isAnywhere ? [] : [...new Set(filters.flatMap(({ inboxIds }) => inboxIds))],
    categories: isAnyCategory ? [] : [...new Set(filters.flatMap(({ categories }) => categories))],
  }
}

/** The parts of the service that connections for events use. */
export type EventPorts = {
  /** Rejects with `service_unavailable` when the store fails. */
  readonly checkFilter: CheckFilter
  openEventStream(opened: { readonly accountId: string; readonly sink: EventSink }): EventStream
}
