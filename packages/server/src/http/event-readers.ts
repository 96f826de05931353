// The connections that receive events: WebSockets, server-sent events and waiting requests. An account has a
// limited number of places for them, and they end when the key is revoked, the session ends or the service stops.

import type { HeldSlot, KeyedSlots } from '#limits/limits.ts'
import { Cache } from '#platform/cache.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'

/** Keys looked up by one query. */
const KEY_CHECK_STEP = 1_000
/** Time until a key that another process or a command revoked ends its connections; the query uses an index. */
const KEY_CHECK_MS = SECOND_MS

export type EndReason = 'revoked' | 'closing'

/** The session of the console that a request came with. */
export type CallerSession = { readonly id: string; readonly endsAtMs: number }

export type EventReader = {
  readonly accountId: string
  readonly keyId: string
  readonly kind: 'socket' | 'stream' | 'wait'
  /** For sockets and streams; released when the reader is removed. */
  readonly place: HeldSlot | null
  /** Null for a key alone. */
  readonly session?: CallerSession | null
  /** Called at most once, after the reader is removed; `add` itself may call it. */
  end(reason: EndReason): void
}

export type EventReadersOptions = {
  /** The places of each account, over all processes. */
  readonly places: Readonly<Record<'socket' | 'stream', KeyedSlots>>
  /** The keys among these that are active. */
  findGoodKeys(keyIds: readonly string[]): Promise<readonly string[]>
  /** The sessions among these that were signed out of. */
  findEndedSessions?(ids: readonly string[]): Promise<readonly string[]>
  readonly log: Log
  /** The wall clock, by which sessions end. */
  readonly now?: () => number
  /** Milliseconds between checks of the keys. */
  readonly checkMs?: number
}

/** Revoked keys are remembered for requests that were authenticated just before. */
const REVOKED_KEPT = 1_000

/** One for a process; without readers there is no timer. */
export class EventReaders {
  readonly #options: EventReadersOptions
  readonly #readers = new Set<EventReader>()
  readonly #revoked = new Cache<true>({ entriesMax: REVOKED_KEPT })
  #isClosing = false
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | undefined

  constructor(options: EventReadersOptions) {
    this.#options = options
  }

  /**
   * A place for a reader; null when the account has none left of this kind. Rejects with `service_unavailable` when
   * the number of readers is unknown.
   */
  takePlace(
    kind: 'socket' | 'stream',
    accountId: string,
  ): HeldSlot | null | Promise<HeldSlot | null> {
    return this.#options.places[kind].take(accountId)
  }

  /** Ends the reader at once when the key was revoked or the service stops. */
  add(reader: EventReader): void {
    if (this.#isClosing || this.#revoked.get(reader.keyId) !== null) {
      reader.place?.release()
      reader.end(this.#isClosing ? 'closing' : 'revoked')
      return
    }
    this.#readers.add(reader)
    const { checkMs = KEY_CHECK_MS } = this.#options
    this.#timer ??= setInterval(() => void this.check(), checkMs).unref()
  }

  /** May be called twice. */
  remove(reader: EventReader): void {
    if (!this.#readers.delete(reader)) return
    reader.place?.release()
    if (this.#readers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  count(kind: EventReader['kind']): number {
    let count = 0
    for (const reader of this.#readers) if (reader.kind === kind) count += 1
    return count
  }

  /** Ends the readers of this key, now and later. */
  endReadersOfKey(keyId: string): void {
    this.#revoked.set(keyId, true)
    this.#endWhere((reader) => reader.keyId === keyId, 'revoked')
  }

  /** Ends the readers of this session. */
  endReadersOfSession(id: string): void {
    this.#endWhere(({ session }) => session?.id === id, 'revoked')
  }

  /** Ends readers whose session is over or whose key was revoked elsewhere; a timer calls it while there are readers. */
  check(): Promise<void> {
    this.#checking ??= this.#checkAll().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  /** Ends all readers, now and later. */
  close(): void {
    this.#isClosing = true
    this.#endWhere(() => true, 'closing')
  }

  #endWhere(isWanted: (reader: EventReader) => boolean, reason: EndReason): void {
    for (const reader of [...this.#readers].filter(isWanted)) {
      this.remove(reader)
      reader.end(reason)
    }
  }

  async #checkAll(): Promise<void> {
    const { findGoodKeys, findEndedSessions, log, now } = this.#options
    const nowMs = now?.() ?? 0
    this.#endWhere(
      ({ session }) => (session?.endsAtMs ?? Number.POSITIVE_INFINITY) <= nowMs,
      'revoked',
    )
    try {
      for (const step of stepsOf(this.#readers, ({ keyId }) => keyId)) {
        const good = new Set(await findGoodKeys(step))
        const bad = new Set(step.filter((keyId) => !good.has(keyId)))
        this.#endWhere(({ keyId }) => bad.has(keyId), 'revoked')
      }
      for (const step of stepsOf(this.#readers, ({ session }) => session?.id)) {
        for (const id of (await findEndedSessions?.(step)) ?? []) this.endReadersOfSession(id)
      }
    } catch (error) {
      log.warn({ error }, 'The keys of connected clients could not be checked.')
    }
  }
}

/** The distinct ids, in steps of KEY_CHECK_STEP. */
function stepsOf(
  readers: Iterable<EventReader>,
  idOf: (reader: EventReader) => string | undefined,
): string[][] {
  const ids = [...new Set(Array.from(readers, idOf))].filter((id) => id !== undefined)
  return Array.from({ length: Math.ceil(ids.length / KEY_CHECK_STEP) }, (_, step) =>
    ids.slice(step * KEY_CHECK_STEP, (step + 1) * KEY_CHECK_STEP),
  )
}
