// One connection of a reader of events: its subscriptions, told exactly once each event and in the
// order of the log. Live from the hub while the connection takes it, from the log where it has fallen
// behind; so nothing waits in memory. Knows nothing of the wire.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CheckedFilter } from '#events/event.ts'
import {
  comparePositions,
  type EventFilter,
  LOG_START,
  type LoggedEvent,
  type LogPosition,
  makeIsWanted,
} from '#events/event.ts'
import { findNewestEventId, lookInLog } from '#events/event-rows.ts'
import { LOG_POLL_MS } from '#events/follow-log.ts'
import type { Log } from '#platform/log.ts'
import { type EnvelopeDeps, type EventText, readEnvelopes } from './envelope.ts'
import type { EventHub, Listening } from './event-hub.ts'
import { EVENTS_LOADED_AT_ONCE } from './event-hub.ts'
import { type Cursor, findCursor } from './read-events.ts'

/** Inboxes that a stream has taken out of its subscriptions. */
export const EXCLUDED_INBOXES_MAX = 10_000
export const SUBSCRIPTIONS_MAX = 100
/** WebSockets of an account at once, and event streams. */
export const SOCKETS_PER_ACCOUNT_MAX = 10
/** Octets on their way to a slow reader of events; it gets the rest from the log when it has read. */
export const STREAM_BUFFER_BYTES_MAX = 256 * 1024

export type EventSink = {
  /** Takes it. False: it has enough for now; `resume` says when it goes on. */
  write(text: EventText): boolean
}

export type Accepted = {
  /** What comes is what happened after this event, the account's newest; null: after none. */
  readonly lastEventId: string | null
  /** One sentence without a full stop: why `afterId` is not the event to go on from; or null. */
  readonly notice: string | null
}

const NOT_HELD = 'is not an event in the log; events after its time are replayed'
const MALFORMED = 'is not an event id; nothing is replayed'

export type EventStream = {
  /**
   * What earlier subscriptions of this connection have told is not told again. `onAccepted` is called
   * before the first event. Rejects as a read of the store does.
   */
  subscribe(wanted: {
    filter: EventFilter
    /** Null: what happens from now on. */
    afterId: string | null
    onAccepted(accepted: Accepted): void
  }): Promise<'subscribed' | 'too_many'>
  /** Takes inboxes out of all subscriptions, also of those that name none; null ends all of them. */
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
  /** Those that ended: what they told is not told again. The oldest is forgotten first. */
  readonly #ended: Subscription[] = []
  #hub: Promise<Listening> | null = null
  #listening: Listening | null = null
  /** Null: told from the log. Otherwise told by the hub, what lies behind this position. */
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
    // Others may have been made meanwhile.
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
    this.#hub ??= this.#deps.events.listen(this.#accountId, {
      wants: (event) => this.#wantsLive(event),
      take: (text) => {
        if (this.#wantsLive(text.event)) this.#write(text)
      },
    })
    try {
      this.#listening = await this.#hub
    } catch (error) {
      this.#hub = null
      throw error
    }
    if (this.#isClosed) this.#listening.stop()
    return this.#listening
  }

  #wantsLive(event: LoggedEvent): boolean {
    if (this.#liveFrom === null || comparePositions(event.position, this.#liveFrom) <= 0) {
      return false
    }
    return this.#active.some((one) => one.matches(event)) && !this.#hasTold(event)
  }

  #hasTold(event: LoggedEvent): boolean {
    return [...this.#active, ...this.#ended].some((one) => one.hasTold(event))
  }

  #write(text: EventText): void {
    if (this.#sink.write(text)) return
    this.#isPaused = true
    this.#settleLive()
    this.#liveFrom = null
  }

  /** Where it is live, all subscriptions have been told what the hub has. */
  #settleLive(): void {
    if (this.#liveFrom === null) return
    const position = latest(this.#liveFrom, this.#listening?.position ?? LOG_START)
    for (const one of this.#active) one.toldUntil = latest(one.toldUntil, position)
  }

  #goOn(): void {
    if (this.#retry !== null) clearTimeout(this.#retry)
    this.#retry = null
    if (!this.#isRunning) void this.#run()
  }

  /** Tells from the log until there is nothing behind; up to its first `await` it runs at once. */
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

  /** True where there is nothing to catch up with: all have been told what the hub has. */
  #goLive(): boolean {
    if (this.#active.length === 0 || this.#listening === null) return true
    const { after } = this.#furthestBehind()
    if (comparePositions(after, this.#listening.position) < 0) return false
    this.#liveFrom = after
    this.#deps.events.changed()
    return true
  }

  /** One look for those that are furthest behind, at most to where the next ones are. */
  async #catchUp(): Promise<void> {
    const { group, after, next } = this.#furthestBehind()
    if (group.length === 0 || this.#listening === null) return
    // All up to there can be read; a cursor may stand where an older transaction is under way.
    const until = earliest(next, this.#listening.position)
    const range = { accountId: this.#accountId, after, until, filter: filterOfAll(group) }
    const look = await lookInLog(this.#deps.db, { ...range, limit: EVENTS_LOADED_AT_ONCE })
    const wanted = look.events.filter((event) => group.some((one) => one.matches(event)))
    const texts = await readEnvelopes(this.#deps, wanted)
    const found = new Map(texts.map((text) => [text.event, text]))
    for (const event of look.events) {
      if (this.#isPaused || this.#isClosed) return
      this.#tell(group, event, found.get(event))
    }
    if (this.#isPaused) return
    for (const one of this.#active) {
      if (group.includes(one)) one.toldUntil = latest(one.toldUntil, look.reached)
    }
  }

  #furthestBehind() {
    const positions = this.#active.map(({ toldUntil }) => toldUntil).sort(comparePositions)
    const after = positions[0] ?? LOG_START
    const next = positions.find((position) => comparePositions(position, after) > 0) ?? null
    const group = this.#active.filter((one) => comparePositions(one.toldUntil, after) === 0)
    return { group, after, next }
  }

  #tell(group: readonly Subscription[], event: LoggedEvent, text: EventText | undefined): void {
    // Some may have ended since the log was read.
    const members = group.filter((one) => this.#active.includes(one))
    const isWanted = members.some((one) => one.matches(event))
    const isTold = this.#hasTold(event)
    for (const one of members) one.toldUntil = event.position
    if (isWanted && !isTold && text !== undefined) this.#write(text)
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
 * Everything that it matches behind `from` and up to `toldUntil` has been told on the connection: by
 * itself or by another one.
 */
export class Subscription {
  readonly filter: EventFilter
  readonly from: LogPosition
  toldUntil: LogPosition
  readonly #isWanted: (event: LoggedEvent) => boolean
  /** Inboxes that were taken out of it, and how far it had been told then; null before the first. */
  #excluded: Map<string, LogPosition> | null = null

  constructor(filter: EventFilter, from: LogPosition) {
    this.filter = filter
    this.from = from
    this.toldUntil = from
    this.#isWanted = makeIsWanted(filter)
  }

  /** Whether the event is one that it is told, sooner or later. */
  matches(event: LoggedEvent): boolean {
    if (comparePositions(event.position, this.from) <= 0 || !this.#isWanted(event)) return false
    const until = event.inboxId === null ? undefined : this.#excluded?.get(event.inboxId)
    return until === undefined || comparePositions(event.position, until) <= 0
  }

  hasTold(event: LoggedEvent): boolean {
    return comparePositions(event.position, this.toldUntil) <= 0 && this.matches(event)
  }

  /** How many inboxes were out of it with these. */
  countExclusions(inboxIds: ReadonlySet<string>): number {
    const excluded = this.#excluded
    if (excluded === null) return inboxIds.size
    return excluded.size + [...inboxIds].filter((id) => !excluded.has(id)).length
  }

  /** Takes the inbox out from now on. */
  exclude(inboxId: string): void {
    this.#excluded ??= new Map()
    if (!this.#excluded.has(inboxId)) this.#excluded.set(inboxId, this.toldUntil)
  }

  /** Whether it named inboxes, no pod, and all of them were taken out. */
  get isEmpty(): boolean {
    const { inboxIds, podIds } = this.filter
    if (inboxIds.length === 0 || podIds.length > 0) return false
    return inboxIds.every((id) => this.#excluded?.has(id))
  }
}

/** What any of them may want: at least that. */
export function filterOfAll(subscriptions: readonly Subscription[]): EventFilter {
  const filters = subscriptions.map(({ filter }) => filter)
  const isAnyKind = filters.some(({ kinds }) => kinds.length === 0)
  const isAnywhere = filters.some(
    ({ podIds, inboxIds }) => podIds.length === 0 && inboxIds.length === 0,
  )
  return {
    kinds: isAnyKind ? [] : [...new Set(filters.flatMap(({ kinds }) => kinds))],
    podIds: isAnywhere ? [] : [...new Set(filters.flatMap(({ podIds }) => podIds))],
    inboxIds: isAnywhere ? [] : [...new Set(filters.flatMap(({ inboxIds }) => inboxIds))],
  }
}

/** What a reader of events asks for. */
export type EventPorts = {
  /** Whose ids and which kinds these are. Rejects with `service_unavailable` for a store in trouble. */
  checkFilter(asked: {
    readonly accountId: string
    readonly kinds: readonly string[]
    readonly podIds: readonly string[]
    readonly inboxIds: readonly string[]
  }): Promise<CheckedFilter>
  openEventStream(opened: { readonly accountId: string; readonly sink: EventSink }): EventStream
}
