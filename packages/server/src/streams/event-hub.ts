import { setImmediate as nextTurn } from 'node:timers/promises'
import { LOG_START, type LoggedEvent, type LogPosition } from '#events/event.ts'
import { isUnsettledAfter, readLog, readLogHead } from '#events/event-rows.ts'
import { LOG_POLL_MS, LOG_STEP_EVENTS, openStall, type Stall } from '#events/follow-log.ts'
import type { Log } from '#platform/log.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { type EnvelopeDeps, type EventText, readEnvelopes } from './envelope.ts'

// Follows the log of events for the readers of this process, once for all of them, and tells each what
// it wants in the order of the log. Reads nothing while nobody listens.

/** Of these, told with their messages in memory: each takes up to three bodies. */
export const EVENTS_LOADED_AT_ONCE = 10
/** Streams that read what they missed from the log at once, each EVENTS_LOADED_AT_ONCE. */
export const CATCH_UPS_AT_ONCE = 2

export type Listening = {
  /** Of the hub, as it is now: up to it everything was told. */
  readonly position: LogPosition
  stop(): void
}

export type EventHub = {
  /** There may be new events; losing it costs only time. */
  wake(): void
  /**
   * From the position on, every event of the account that the listener wants is told it, in order,
   * once. Rejects as a read of the store does.
   */
  listen(accountId: string, listener: EventListener): Promise<Listening>
  /** A listener wants from now on what it did not want before. */
  changed(): void
  /** The inbox was deleted: tells those who listen to it alone. */
  loseInbox(accountId: string, inboxId: string): void
  /**
   * Runs reads of the log for those who have fallen behind, a few at once and one of each account in
   * turn; each is to be one look.
   */
  catchUp<Value>(accountId: string, read: () => Promise<Value>): Promise<Value>
  /** How many wait for their turn. */
  readonly waiting: number
  /** Ends all listeners, and waits for the read under way. */
  close(): Promise<void>
}

export type HubDeps = EnvelopeDeps & { log: Log }

/** Opens the hub; `deps` is asked anew each time, for the public URL is known late. */
export function openEventHub(deps: HubDeps): EventHub {
  return new Hub(deps)
}

/** Events that are told together, and who wanted them. */
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
  /** Null while nobody listens. */
  #start: Promise<void> | null = null
  #position: LogPosition = LOG_START
  /** Counts starts: what belongs to an earlier one ends without a trace. */
  #generation = 0
  #isAwake = false
  #isFailing = false
  #isClosed = false
  #running: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  /** Counts what makes listeners want more or less than they said. */
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
    if (this.#isClosed) listener.end?.()
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

  loseInbox(accountId: string, inboxId: string): void {
    for (const one of this.#listeners.ofInbox(accountId, inboxId)) this.#guard(() => one.lose?.())
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
    for (const listener of this.#listeners.clear()) this.#guard(() => listener.end?.())
    await this.#start?.catch(() => {})
    await this.#running
  }

  #remove(accountId: string, listener: EventListener): void {
    this.#listeners.delete(accountId, listener)
    this.#version += 1
    if (!this.#listeners.isEmpty) return
    this.#start = null
    this.#generation += 1
    this.#lookIn(null)
  }

  async #findStart(): Promise<void> {
    const generation = ++this.#generation
    const head = await readLogHead(this.#deps.db)
    if (generation !== this.#generation) return
    this.#position = head
    // What could not be read at the head may be ready now.
    this.wake()
  }

  async #run(): Promise<void> {
    const generation = this.#generation
    const isCurrent = () => !this.#isClosed && generation === this.#generation
    let lookAgainMs = LOG_POLL_MS
    try {
      await this.#start
      this.#isAwake = false
      while (isCurrent() && (await this.#step(isCurrent))) await nextTurn()
      const isWaiting = isCurrent() && (await isUnsettledAfter(this.#deps.db, this.#position))
      if (isWaiting) lookAgainMs = this.#stall.delayMs(this.#position)
      else this.#stall.end()
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) this.#deps.log.warn({ error }, 'the event log could not be read')
      this.#isFailing = true
    }
    this.#running = null
    if (this.#isClosed || this.#start === null) return
    if (this.#isAwake) this.#running = this.#run()
    else this.#lookIn(lookAgainMs)
  }

  #lookIn(delayMs: number | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = delayMs === null ? null : setTimeout(() => this.wake(), delayMs)
    this.#timer?.unref()
  }

  /** Reads and tells some of the log; true when there may be more. */
  async #step(isCurrent: () => boolean): Promise<boolean> {
    const { db } = this.#deps
    const events = await readLog(db, { after: this.#position, limit: LOG_STEP_EVENTS })
    for (let start = 0; start < events.length; ) {
      const load = this.#makeLoad(events, start)
      const wanted = [...load.listeners.keys()]
      const texts = wanted.length === 0 ? [] : await readEnvelopes(this.#deps, wanted)
      if (!isCurrent()) return false
      if (!this.#tellAll(load, texts)) return true
      if (wanted.length > 0) await nextTurn()
      if (!isCurrent()) return false
      start += load.events.length
    }
    return events.length === LOG_STEP_EVENTS
  }

  /** So many events that those of them that are wanted can be in memory together. */
  #makeLoad(events: readonly LoggedEvent[], start: number): Load {
    const listeners = new Map<LoggedEvent, EventListener[]>()
    const load = { events: events.slice(start), listeners, version: this.#version }
    for (const [index, event] of load.events.entries()) {
      const wanting = this.#findWanting(event)
      if (wanting.length === 0) continue
      if (listeners.size === EVENTS_LOADED_AT_ONCE) {
        return { ...load, events: load.events.slice(0, index) }
      }
      listeners.set(event, wanting)
    }
    return load
  }

  /** False at an event that somebody wants since the texts were read. */
  #tellAll({ events, listeners, version }: Load, texts: readonly EventText[]): boolean {
    const found = new Map(texts.map((text) => [text.event, text]))
    for (const event of events) {
      const known = listeners.get(event)
      const wanting = this.#version === version ? known : this.#findWanting(event)
      if (known === undefined && wanting !== undefined && wanting.length > 0) return false
      this.#position = event.position
      const text = found.get(event)
      if (text !== undefined) this.#tell(text, wanting ?? [])
    }
    return true
  }

  #tell(text: EventText, wanting: readonly EventListener[]): void {
    const version = this.#version
    for (const listener of wanting) {
      // Who is told may end another.
      const isSame = this.#version === version
      if (!isSame && !this.#listeners.has(text.event.accountId, listener)) continue
      try {
        listener.take(text)
      } catch (error) {
        this.#tellFault(error)
      }
    }
  }

  #findWanting(event: LoggedEvent): EventListener[] {
    const wanting: EventListener[] = []
    this.#listeners.forEvent(event, (listener) => {
      try {
        if (listener.wants(event)) wanting.push(listener)
      } catch (error) {
        this.#tellFault(error)
      }
    })
    return wanting
  }

  /** A listener that throws must not stop the others. */
  #guard(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#tellFault(error)
    }
  }

  #tellFault(error: unknown): void {
    this.#deps.log.error({ error }, 'a reader of events failed')
  }
}

// Who listens to the log of events, found by what each may want: all of an account, or one inbox of it.

export type EventListener = {
  /** The only inbox whose events it may want: it is asked of no other. */
  readonly inboxId?: string
  /** Asked of each event when it is read, and again after `changed`. */
  wants(event: LoggedEvent): boolean
  /** What it wanted when it was asked, some reads ago. */
  take(text: EventText): void
  /** Its inbox was deleted. */
  lose?(): void
  /** The service shuts down: nothing comes any more. */
  end?(): void
}

type OfAccount = {
  readonly all: Set<EventListener>
  readonly byInbox: Map<string, Set<EventListener>>
}

const NONE: ReadonlySet<EventListener> = new Set()

export class Listeners {
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

  /** Removes all, and says who they were. */
  clear(): EventListener[] {
    const all = [...this.#accounts.values()].flatMap(({ all, byInbox }) => [
      ...all,
      ...[...byInbox.values()].flatMap((some) => [...some]),
    ])
    this.#accounts.clear()
    return all
  }

  /** Calls with each who may want the event. */
  forEvent({ accountId, inboxId }: LoggedEvent, run: (listener: EventListener) => void): void {
    const account = this.#accounts.get(accountId)
    account?.all.forEach(run)
    if (inboxId !== null) account?.byInbox.get(inboxId)?.forEach(run)
  }

  /** Those who listen to this inbox alone, as they are now. */
  ofInbox(accountId: string, inboxId: string): EventListener[] {
    return [...(this.#accounts.get(accountId)?.byInbox.get(inboxId) ?? NONE)]
  }
}
