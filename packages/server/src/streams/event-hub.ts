// Follows the log of events once for all listeners of this process, and notifies each of the events that
// it wants, in the order of the log. Reads nothing while there are no listeners.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { LOG_POLL_MS, LOG_STEP_EVENTS, openStall, type Stall } from '#events/events.ts'
import { LOG_START, type LoggedEvent, type LogPosition } from '#events/model.ts'
import { isUnsettledAfter, isUntold, readLog, readLogHead } from '#events/store/events.ts'
import type { Log } from '#platform/log.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { type EnvelopeDeps, type EventText, readEnvelopes } from './envelope.ts'

/** Events whose messages are in memory at the same time: each has up to three bodies. */
export const EVENTS_LOADED_AT_ONCE = 10
/** Streams that catch up from the log at the same time, each with EVENTS_LOADED_AT_ONCE. */
export const CATCH_UPS_AT_ONCE = 2

export type Listening = {
  /** The hub's current position: it has notified of all events up to it. */
  readonly position: LogPosition
  stop(): void
}

export type EventHub = {
  /** Call it when there may be new events; a lost call costs only time. */
  wake(): void
  /**
   * Notifies the listener, in order and once, of every event of the account after the returned position that it wants.
   * Rejects as a read of the store does.
   */
  listen(accountId: string, listener: EventListener): Promise<Listening>
  /** Call when a listener begins to want events that it did not want before. */
  changed(): void
  /** Notifies the listeners of this inbox alone that it was deleted. */
  inboxDeleted(accountId: string, inboxId: string): void
  /**
   * Runs reads of the log for listeners that have fallen behind: CATCH_UPS_AT_ONCE at the same time, round robin by
   * account. Each should be one query.
   */
  catchUp<Value>(accountId: string, read: () => Promise<Value>): Promise<Value>
  /** Reads that wait for a slot. */
  readonly waiting: number
  /** Ends all listeners, and waits for the read under way. */
  close(): Promise<void>
}

export type HubDeps = EnvelopeDeps & { log: Log }

export function openEventHub(deps: HubDeps): EventHub {
  return new Hub(deps)
}

/** Events whose messages are read together, and the listeners that wanted them. */
type Load = {
  readonly events: readonly LoggedEvent[]
  readonly listeners: ReadonlyMap<LoggedEvent, readonly EventListener[]>
  readonly version: number
}

class Hub implements EventHub {
  readonly #deps: HubDeps
  readonly #listeners = new Listeners()
  readonly #catchUps = new Semaphore({ limit: CATCH_UPS_AT_ONCE })
  readonly #stall: Stall
  /** Null while there are no listeners. */
  #start: Promise<void> | null = null
  #position: LogPosition = LOG_START
  /** Counts starts: the work of an earlier one ends without effect. */
  #generation = 0
  #isAwake = false
  #isFailing = false
  #isClosed = false
  #running: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  /** Counts changes in which events listeners want. */
  #version = 0

  constructor(deps: HubDeps) {
    this.#deps = deps
    this.#stall = openStall(deps, 'connections')
  }

  wake(): void {
    this.#isAwake = true
    if (this.#isClosed || this.#start === null) return
    this.#running ??= this.#run()
  }

  async listen(accountId: string, listener: EventListener): Promise<Listening> {
    const hub = this
    const stop = () => this.#remove(accountId, listener)
    if (this.#isClosed) listener.onShutdown?.()
    else {
      this.#listeners.add(accountId, listener)
      this.#version += 1
      this.#start ??= this.#findStart()
      try {
        await this.#start
      } catch (error) {
        stop()
        throw error
      }
    }
    return {
      get position() {
        return hub.#position
      },
      stop,
    }
  }

  changed(): void {
    this.#version += 1
  }

  inboxDeleted(accountId: string, inboxId: string): void {
    for (const one of this.#listeners.ofInbox(accountId, inboxId))
      this.#guard(() => one.onInboxDeleted?.())
  }

  catchUp<Value>(accountId: string, read: () => Promise<Value>): Promise<Value> {
    return this.#catchUps.run({ key: accountId }, async () => {
      await nextTurn()
      return read()
    })
  }

  get waiting(): number {
    return this.#catchUps.waiting
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const listener of this.#listeners.clear()) this.#guard(() => listener.onShutdown?.())
    await this.#start?.catch(() => {})
    await this.#running
  }

  #remove(accountId: string, listener: EventListener): void {
    this.#listeners.delete(accountId, listener)
    this.#version += 1
    if (!this.#listeners.isEmpty) return
    this.#start = null
    this.#generation += 1
    this.#scheduleRead(null)
  }

  async #findStart(): Promise<void> {
    const generation = ++this.#generation
    const head = await readLogHead(this.#deps.db)
    if (generation !== this.#generation) return
    this.#position = head
    // Events that were not settled at the head may be so now.
    this.wake()
  }

  async #run(): Promise<void> {
    const generation = this.#generation
    const isCurrent = () => !this.#isClosed && generation === this.#generation
    let readAgainMs = LOG_POLL_MS
    try {
      await this.#start
      this.#isAwake = false
      while (isCurrent() && (await this.#step(isCurrent))) await nextTurn()
      const isWaiting = isCurrent() && (await isUnsettledAfter(this.#deps.db, this.#position))
      if (isWaiting) readAgainMs = this.#stall.delayMs(this.#position)
      else this.#stall.end()
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) this.#deps.log.warn({ error }, 'the event log could not be read')
      this.#isFailing = true
    }
    this.#running = null
    if (this.#isClosed || this.#start === null) return
    if (this.#isAwake) this.#running = this.#run()
    else this.#scheduleRead(readAgainMs)
  }

  #scheduleRead(delayMs: number | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = delayMs === null ? null : setTimeout(() => this.wake(), delayMs)
    this.#timer?.unref()
  }

  /** Reads some of the log and notifies; true when there may be more. */
  async #step(isCurrent: () => boolean): Promise<boolean> {
    const { db } = this.#deps
    const events = await readLog(db, {
      after: this.#position,
      limit: LOG_STEP_EVENTS,
      hasUntold: true,
    })
    for (let start = 0; start < events.length; ) {
      const load = this.#makeLoad(events, start)
      const wanted = [...load.listeners.keys()]
      const texts = wanted.length === 0 ? [] : await readEnvelopes(this.#deps, wanted)
      if (!isCurrent()) return false
      if (!this.#notifyAll(load, texts)) return true
      if (wanted.length > 0) await nextTurn()
      if (!isCurrent()) return false
      start += load.events.length
    }
    return events.length === LOG_STEP_EVENTS
  }

  /** As many events as have up to EVENTS_LOADED_AT_ONCE wanted ones among them. */
  #makeLoad(events: readonly LoggedEvent[], start: number): Load {
    const listeners = new Map<LoggedEvent, EventListener[]>()
    const load = { events: events.slice(start), listeners, version: this.#version }
    for (const [index, event] of load.events.entries()) {
      const interested = this.#findListeners(event)
      if (interested.length === 0) continue
      if (listeners.size === EVENTS_LOADED_AT_ONCE) {
        return { ...load, events: load.events.slice(0, index) }
      }
      listeners.set(event, interested)
    }
    return load
  }

  /** False at an event that a listener has begun to want since the texts were read. */
  #notifyAll({ events, listeners, version }: Load, texts: readonly EventText[]): boolean {
    const found = new Map(texts.map((text) => [text.event, text]))
    for (const event of events) {
      const known = listeners.get(event)
      const interested = this.#version === version ? known : this.#findListeners(event)
      if (known === undefined && interested !== undefined && interested.length > 0) return false
      this.#position = event.position
      const text = found.get(event)
      if (text !== undefined) this.#notify(text, interested ?? [])
    }
    return true
  }

  #notify(text: EventText, interested: readonly EventListener[]): void {
    const version = this.#version
    for (const listener of interested) {
      // One listener may have ended another.
      const isSame = this.#version === version
      if (!isSame && !this.#listeners.has(text.event.accountId, listener)) continue
      try {
        listener.notify(text)
      } catch (error) {
        this.#logFault(error)
      }
    }
  }

  #findListeners(event: LoggedEvent): EventListener[] {
    if (isUntold(event)) {
      for (const one of this.#listeners.ofInbox(event.accountId, event.inboxId ?? ''))
        this.#guard(() => one.onUntoldThreads?.())
      return []
    }
    const interested: EventListener[] = []
    this.#listeners.forEvent(event, (listener) => {
      try {
        if (listener.wants(event)) interested.push(listener)
      } catch (error) {
        this.#logFault(error)
      }
    })
    return interested
  }

  /** A listener that throws must not disturb the others. */
  #guard(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#logFault(error)
    }
  }

  #logFault(error: unknown): void {
    this.#deps.log.error({ error }, 'a reader of events failed')
  }
}

// The listeners of this process, by the events that they may want: those of an account, or of one inbox.

export type EventListener = {
  /** Set for a listener that wants only events of this inbox. */
  readonly inboxId?: string
  /**
   * Called for each event when it is read, and again after `changed`. A listener that needs no text of the event may act
   * here, and want none.
   */
  wants(event: LoggedEvent): boolean
  /** Called with an event that it wants, after the event's message was read. */
  notify(text: EventText): void
  onInboxDeleted?(): void
  /** Threads have come into the inbox of which no event tells. */
  onUntoldThreads?(): void
  /** No further events follow. */
  onShutdown?(): void
}

type OfAccount = {
  readonly all: Set<EventListener>
  readonly byInbox: Map<string, Set<EventListener>>
}

const NONE: ReadonlySet<EventListener> = new Set()

class Listeners {
  readonly #accounts = new Map<string, OfAccount>()

  get isEmpty(): boolean {
    return this.#accounts.size === 0
  }

  add(accountId: string, listener: EventListener): void {
    const account = this.#accounts.get(accountId) ?? { all: new Set(), byInbox: new Map() }
    this.#accounts.set(accountId, account)
    if (listener.inboxId === undefined) account.all.add(listener)
    else {
      const some = account.byInbox.get(listener.inboxId) ?? new Set()
      account.byInbox.set(listener.inboxId, some.add(listener))
    }
  }

  has(accountId: string, listener: EventListener): boolean {
    const account = this.#accounts.get(accountId)
    if (listener.inboxId === undefined) return account?.all.has(listener) === true
    return account?.byInbox.get(listener.inboxId)?.has(listener) === true
  }

  delete(accountId: string, listener: EventListener): void {
    const account = this.#accounts.get(accountId)
    if (account === undefined) return
    account.all.delete(listener)
    if (listener.inboxId !== undefined) {
      const some = account.byInbox.get(listener.inboxId)
      some?.delete(listener)
      if (some?.size === 0) account.byInbox.delete(listener.inboxId)
    }
    if (account.all.size + account.byInbox.size === 0) this.#accounts.delete(accountId)
  }

  /** Removes and returns all. */
  clear(): EventListener[] {
    const all = [...this.#accounts.values()].flatMap(({ all, byInbox }) => [
      ...all,
      ...[...byInbox.values()].flatMap((some) => [...some]),
    ])
    this.#accounts.clear()
    return all
  }

  /** Calls `run` with each listener that may want the event. */
  forEvent({ accountId, inboxId }: LoggedEvent, run: (listener: EventListener) => void): void {
    const account = this.#accounts.get(accountId)
    account?.all.forEach(run)
    if (inboxId !== null) account?.byInbox.get(inboxId)?.forEach(run)
  }

  /** The current listeners of this inbox alone. */
  ofInbox(accountId: string, inboxId: string): EventListener[] {
    return [...(this.#accounts.get(accountId)?.byInbox.get(inboxId) ?? NONE)]
  }
}
