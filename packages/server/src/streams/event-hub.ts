// Reads the event log once for all listeners of the process, and notifies them in log order.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { LOG_POLL_MS, LOG_STEP_EVENTS, openStall, type Stall } from '#events/events.ts'
import { LOG_START, type LoggedEvent, type LogOffset } from '#events/model.ts'
import { reportsAddedThreads } from '#events/store/append.ts'
import { isUnsettledAfter, readLog, readLogHead } from '#events/store/log.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { type EnvelopeDeps, type EventText, readEnvelopes } from './envelope.ts'

/** The limit bounds memory, because the message of an event has up to three bodies. */
export const EVENTS_LOADED_AT_ONCE = 10
/** Streams that catch up from the log concurrently, with EVENTS_LOADED_AT_ONCE events each. */
export const CATCH_UPS_AT_ONCE = 2

export type Listening = {
  /** The listener has been notified of all events up to this offset. */
  readonly offset: LogOffset
  stop(): void
}

export type EventHub = {
  /** A lost call causes only a delay. */
  wake(): void
  /**
   * Notifies of each wanted event after the returned offset, once and in order. Rejects if the
   * database cannot be read.
   */
  listen(accountId: string, listener: EventListener): Promise<Listening>
  /** Must be called when a listener starts to want events that it did not want before. */
  changed(): void
  inboxDeleted(accountId: string, inboxId: string): void
  /**
   * Runs a query for a listener that has fallen behind. CATCH_UPS_AT_ONCE queries run concurrently,
   * with accounts served in turn.
   */
  catchUp<Value>(accountId: string, read: () => Promise<Value>): Promise<Value>
  readonly waiting: number
  close(): Promise<void>
}

export type StreamDeps = EnvelopeDeps & { events: EventHub }

export function openEventHub(deps: EnvelopeDeps): EventHub {
  return new Hub(deps)
}

type Load = {
  readonly events: readonly LoggedEvent[]
  readonly listeners: ReadonlyMap<LoggedEvent, readonly EventListener[]>
  readonly version: number
}

class Hub implements EventHub {
  readonly #deps: EnvelopeDeps
  readonly #listeners = new Listeners()
  readonly #catchUps = new Semaphore({ limit: CATCH_UPS_AT_ONCE })
  readonly #stall: Stall
  #start: Promise<void> | null = null
  #offset: LogOffset = LOG_START
  /** Work of an earlier generation has no effect. */
  #generation = 0
  #isAwake = false
  #isFailing = false
  #isClosed = false
  #running: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #version = 0

  constructor(deps: EnvelopeDeps) {
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
      get offset() {
        return hub.#offset
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
    this.#offset = head
    // Events that were unsettled at the head may be settled now.
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
      const isWaiting = isCurrent() && (await isUnsettledAfter(this.#deps.db, this.#offset))
      if (isWaiting) readAgainMs = this.#stall.delayMs(this.#offset)
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

  /** Returns true if there may be more. */
  async #step(isCurrent: () => boolean): Promise<boolean> {
    const { db } = this.#deps
    const events = await readLog(db, {
      after: this.#offset,
      limit: LOG_STEP_EVENTS,
      includesAddedThreads: true,
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

  /** Returns false at an event that a listener has begun to want since the texts were loaded. */
  #notifyAll({ events, listeners, version }: Load, texts: readonly EventText[]): boolean {
    const found = new Map(texts.map((text) => [text.event, text]))
    for (const event of events) {
      const known = listeners.get(event)
      const interested = this.#version === version ? known : this.#findListeners(event)
      if (known === undefined && interested !== undefined && interested.length > 0) return false
      this.#offset = event.offset
      const text = found.get(event)
      if (text !== undefined) this.#notify(text, interested ?? [])
    }
    return true
  }

  #notify(text: EventText, interested: readonly EventListener[]): void {
    const version = this.#version
    for (const listener of interested) {
      // An earlier listener may have stopped this one.
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
    if (reportsAddedThreads(event)) {
      for (const one of this.#listeners.ofInbox(event.accountId, event.inboxId ?? ''))
        this.#guard(() => one.onThreadsAdded?.())
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

export type EventListener = {
  /** Set if the listener wants only this inbox. */
  readonly inboxId?: string
  /**
   * Called for each event, and again after `changed`. A listener that needs no text may act here
   * and return false.
   */
  wants(event: LoggedEvent): boolean
  /** Called once the message of a wanted event is loaded. */
  notify(text: EventText): void
  onInboxDeleted?(): void
  /** Called when threads enter the inbox without an event (restored, imported). */
  onThreadsAdded?(): void
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

  clear(): EventListener[] {
    const all = [...this.#accounts.values()].flatMap(({ all, byInbox }) => [
      ...all,
      ...[...byInbox.values()].flatMap((some) => [...some]),
    ])
    this.#accounts.clear()
    return all
  }

  forEvent({ accountId, inboxId }: LoggedEvent, run: (listener: EventListener) => void): void {
    const account = this.#accounts.get(accountId)
    account?.all.forEach(run)
    if (inboxId !== null) account?.byInbox.get(inboxId)?.forEach(run)
  }

  ofInbox(accountId: string, inboxId: string): EventListener[] {
    return [...(this.#accounts.get(accountId)?.byInbox.get(inboxId) ?? NONE)]
  }
}
