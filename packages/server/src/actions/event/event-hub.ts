// Follows the log of events for the readers of this process, once for all of them, and tells each what
// it wants in the order of the log. Reads nothing while nobody listens.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Deps } from '#actions/deps.ts'
import {
  CATCH_UPS_AT_ONCE,
  EVENTS_LOADED_AT_ONCE,
  LOG_POLL_MS,
  LOG_STEP_EVENTS,
  LOG_UNSETTLED_MS,
} from '#base/limits.ts'
import { LOG_START, type LoggedEvent, type LogPosition } from '#model/event.ts'
import { isUnsettledAfter, readLog, readLogHead } from '#store/event.ts'
import { type EnvelopeDeps, type EventText, readEnvelopes } from './envelope.ts'

export type EventListener = {
  /** Asked of each event, maybe more than once; says alike in one turn of the event loop. */
  wants(event: LoggedEvent): boolean
  take(text: EventText): void
  /** The service shuts down: nothing comes any more. */
  end?(): void
}

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
  /** Runs reads of the log for those who have fallen behind, a few at once. */
  inTurn<Value>(read: () => Promise<Value>): Promise<Value>
  /** Ends all listeners, and waits for the read under way. */
  close(): Promise<void>
}

export type HubDeps = EnvelopeDeps & Pick<Deps, 'log'>

/** Opens the hub; `deps` is asked anew each time, for the public URL is known late. */
export function openEventHub(deps: HubDeps): EventHub {
  return new Hub(deps)
}

class Hub implements EventHub {
  readonly #deps: HubDeps
  readonly #listeners = new Map<string, Set<EventListener>>()
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
  #reading = 0
  readonly #waiting: (() => void)[] = []

  constructor(deps: HubDeps) {
    this.#deps = deps
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
      const listeners = this.#listeners.get(accountId) ?? new Set()
      this.#listeners.set(accountId, listeners.add(listener))
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

  async inTurn<Value>(read: () => Promise<Value>): Promise<Value> {
    if (this.#reading < CATCH_UPS_AT_ONCE) this.#reading += 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await read()
    } finally {
      // The turn goes to whoever waits longest.
      const next = this.#waiting.shift()
      if (next === undefined) this.#reading -= 1
      else next()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    const all = [...this.#listeners.values()].flatMap((listeners) => [...listeners])
    this.#listeners.clear()
    for (const listener of all) this.#guard(() => listener.end?.())
    await this.#start?.catch(() => {})
    await this.#running
  }

  #remove(accountId: string, listener: EventListener): void {
    const listeners = this.#listeners.get(accountId)
    listeners?.delete(listener)
    if (listeners?.size === 0) this.#listeners.delete(accountId)
    if (this.#listeners.size > 0) return
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
      if (isWaiting) lookAgainMs = LOG_UNSETTLED_MS
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) this.#deps.log.warn({ error }, 'the log of events could not be read')
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
      const end = this.#endOfLoad(events, start)
      const some = events.slice(start, end)
      const wanted = some.filter((event) => this.#isWanted(event))
      const texts = wanted.length === 0 ? [] : await readEnvelopes(this.#deps, wanted)
      if (!isCurrent()) return false
      if (!this.#tellAll(some, wanted, texts)) return true
      if (wanted.length > 0) await nextTurn()
      if (!isCurrent()) return false
      start = end
    }
    return events.length === LOG_STEP_EVENTS
  }

  /** So many events that those of them that are wanted can be in memory together. */
  #endOfLoad(events: readonly LoggedEvent[], start: number): number {
    let wanted = 0
    for (const [index, event] of events.entries()) {
      if (index < start || !this.#isWanted(event)) continue
      if (++wanted > EVENTS_LOADED_AT_ONCE) return index
    }
    return events.length
  }

  /** False at an event that somebody wants since the texts were read. */
  #tellAll(
    events: readonly LoggedEvent[],
    wanted: readonly LoggedEvent[],
    texts: readonly EventText[],
  ): boolean {
    const looked = new Set(wanted)
    const found = new Map(texts.map((text) => [text.event, text]))
    for (const event of events) {
      if (!looked.has(event) && this.#isWanted(event)) return false
      this.#position = event.position
      const text = found.get(event)
      if (text !== undefined) this.#tell(text)
    }
    return true
  }

  #tell(text: EventText): void {
    const listeners = this.#listeners.get(text.event.accountId)
    // A copy: who is told may stop, or start to listen.
    for (const listener of [...(listeners ?? [])]) {
      if (!listeners?.has(listener)) continue
      this.#guard(() => {
        if (listener.wants(text.event)) listener.take(text)
      })
    }
  }

  #isWanted(event: LoggedEvent): boolean {
    const listeners = this.#listeners.get(event.accountId)
    if (listeners === undefined) return false
    for (const listener of listeners) {
      if (this.#guard(() => listener.wants(event)) === true) return true
    }
    return false
  }

  /** A listener that throws must not stop the others. */
  #guard<Value>(run: () => Value): Value | undefined {
    try {
      return run()
    } catch (error) {
      this.#deps.log.error({ error }, 'a reader of events failed')
      return undefined
    }
  }
}
