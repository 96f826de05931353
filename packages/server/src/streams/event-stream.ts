// Sends each event of a connection once, in log order. Events come from the hub, or from the log
// while the client is behind, so none wait in memory.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { LOG_POLL_MS } from '#events/events.ts'
import {
  type CheckFilter,
  compareOffsets,
  type EventFilter,
  LOG_START,
  type LoggedEvent,
  type LogOffset,
  makeIsWanted,
} from '#events/model.ts'
import { findNewestEventId, scanLog } from '#events/store/events.ts'
import { type EventText, readEnvelopes } from './envelope.ts'
import { EVENTS_LOADED_AT_ONCE, type Listening, type StreamDeps } from './event-hub.ts'
import { type Cursor, findCursor } from './read-events.ts'

export const EXCLUDED_INBOXES_MAX = 10_000
export const SUBSCRIPTIONS_MAX = 100
/** The limit applies to each account and kind of connection. */
export const SOCKETS_PER_ACCOUNT_MAX = 10
/** A connection with this many unsent bytes pauses. Later events come from the log. */
export const STREAM_BUFFER_BYTES_MAX = 256 * 1024

export type EventSink = {
  /** False means that no more may be written until `resume`. */
  write(text: EventText): boolean
}

export type Accepted = {
  /** Null if the account has no events. */
  readonly lastEventId: string | null
  /** Describes an invalid `afterId`, or null. */
  readonly notice: string | null
}

const NOT_HELD = 'is not an event in the log; events after its time are replayed'
const MALFORMED = 'is not an event id; nothing is replayed'

export type EventStream = {
  /**
   * Skips events that the connection has sent already. `onAccepted` is called before the first
   * event. Rejects if the database cannot be read.
   */
  subscribe(wanted: {
    filter: EventFilter
    /** Null means only new events. */
    afterId: string | null
    onAccepted(accepted: Accepted): void
  }): Promise<'subscribed' | 'too_many'>
  /** Excludes the inboxes even from subscriptions to all inboxes; null ends all subscriptions. */
  unsubscribe(inboxIds: readonly string[] | null): 'unsubscribed' | 'too_many'
  resume(): void
  close(): void
}

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
  /** Events of ended subscriptions are not sent again. The oldest is forgotten first. */
  readonly #ended: Subscription[] = []
  #subscribing: Promise<Listening> | null = null
  #listening: Listening | null = null
  /** Null while events come from the log. */
  #liveFrom: LogOffset | null = null
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
    const { offset: until } = await this.#listen()
    const from = cursor?.offset ?? until
    const accepted: Accepted = {
      lastEventId:
        cursor === null ? await findNewestEventId(this.#deps.db, { accountId, until }) : afterId,
      notice: noticeOf(afterId, cursor),
    }
    // Concurrent calls may have added subscriptions.
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
    if (this.#liveFrom === null || compareOffsets(event.offset, this.#liveFrom) <= 0) {
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

  #settleLive(): void {
    if (this.#liveFrom === null) return
    const offset = latest(this.#liveFrom, this.#listening?.offset ?? LOG_START)
    for (const one of this.#active) one.sentUntil = latest(one.sentUntil, offset)
  }

  #goOn(): void {
    if (this.#retry !== null) clearTimeout(this.#retry)
    this.#retry = null
    if (!this.#isRunning) void this.#run()
  }

  /** Synchronous up to its first `await`. */
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

  #goLive(): boolean {
    if (this.#active.length === 0 || this.#listening === null) return true
    const { after } = this.#furthestBehind()
    if (compareOffsets(after, this.#listening.offset) < 0) return false
    this.#liveFrom = after
    this.#deps.events.changed()
    return true
  }

  /** Serves the subscriptions that are furthest behind, up to the offset of the next ones. */
  async #catchUp(): Promise<void> {
    const { group, after, next } = this.#furthestBehind()
    if (group.length === 0 || this.#listening === null) return
    // Only events up to the hub's offset are settled; a cursor may be past an open transaction.
    const until = earliest(next, this.#listening.offset)
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
    const offsets = this.#active.map(({ sentUntil }) => sentUntil).sort(compareOffsets)
    const after = offsets[0] ?? LOG_START
    const next = offsets.find((offset) => compareOffsets(offset, after) > 0) ?? null
    const group = this.#active.filter((one) => compareOffsets(one.sentUntil, after) === 0)
    return { group, after, next }
  }

  #send(group: readonly Subscription[], event: LoggedEvent, text: EventText | undefined): void {
    // A subscription may have ended since the query.
    const members = group.filter((one) => this.#active.includes(one))
    const isWanted = members.some((one) => one.matches(event))
    const isSent = this.#hasSent(event)
    for (const one of members) one.sentUntil = event.offset
    if (isWanted && !isSent && text !== undefined) this.#write(text)
  }
}

function noticeOf(afterId: string | null, cursor: Cursor | null): string | null {
  if (afterId === null || cursor?.isHeld === true) return null
  return cursor === null ? MALFORMED : NOT_HELD
}

function latest(one: LogOffset, other: LogOffset): LogOffset {
  return compareOffsets(one, other) < 0 ? other : one
}

function earliest(one: LogOffset | null, other: LogOffset): LogOffset {
  return one !== null && compareOffsets(one, other) < 0 ? one : other
}

/** Every matching event after `from` up to `sentUntil` has been sent on the connection. */
class Subscription {
  readonly filter: EventFilter
  readonly from: LogOffset
  sentUntil: LogOffset
  readonly #isWanted: (event: LoggedEvent) => boolean
  /** Excluded inboxes, each with `sentUntil` at its exclusion. */
  #excluded: Map<string, LogOffset> | null = null

  constructor(filter: EventFilter, from: LogOffset) {
    this.filter = filter
    this.from = from
    this.sentUntil = from
    this.#isWanted = makeIsWanted(filter)
  }

  matches(event: LoggedEvent): boolean {
    if (compareOffsets(event.offset, this.from) <= 0 || !this.#isWanted(event)) return false
    const until = event.inboxId === null ? undefined : this.#excluded?.get(event.inboxId)
    return until === undefined || compareOffsets(event.offset, until) <= 0
  }

  hasSent(event: LoggedEvent): boolean {
    return compareOffsets(event.offset, this.sentUntil) <= 0 && this.matches(event)
  }

  countExclusions(inboxIds: ReadonlySet<string>): number {
    const excluded = this.#excluded
    if (excluded === null) return inboxIds.size
    return excluded.size + [...inboxIds].filter((id) => !excluded.has(id)).length
  }

  exclude(inboxId: string): void {
    this.#excluded ??= new Map()
    if (!this.#excluded.has(inboxId)) this.#excluded.set(inboxId, this.sentUntil)
  }

  get isEmpty(): boolean {
    const { inboxIds, podIds } = this.filter
    if (inboxIds.length === 0 || podIds.length > 0) return false
    return inboxIds.every((id) => this.#excluded?.has(id))
  }
}

/** The combined filter may pass more events than the subscriptions do. */
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

export type EventPorts = {
  /** Rejects with `service_unavailable`. */
  readonly checkFilter: CheckFilter
  openEventStream(opened: { readonly accountId: string; readonly sink: EventSink }): EventStream
}
