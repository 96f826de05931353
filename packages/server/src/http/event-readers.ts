// Everyone who is connected to be told of events, or waits for one: the places that an account has for
// them, and who is let go because the key was revoked, the session is over or the service ends.

import { Cache } from '#platform/cache.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { HeldSlot, KeyedSlots } from '#rate-limits/budgets.ts'

/** Keys looked up by one query. */
const KEY_CHECK_STEP = 1_000
/** How soon a stream ends whose key was revoked by another process or a command; an index is asked. */
const KEY_CHECK_MS = SECOND_MS

export type EndReason = 'revoked' | 'closing'

/** The session of the console that somebody came with. */
export type ComingSession = { readonly id: string; readonly endsAtMs: number }

export type EventReader = {
  readonly accountId: string
  readonly keyId: string
  readonly kind: 'socket' | 'stream' | 'wait'
  /** Sockets and streams have one each, apart; given back with the reader. */
  readonly place: HeldSlot | null
  /** Null for a key alone. */
  readonly session?: ComingSession | null
  /** Called once at most, also by `add` itself; the reader is forgotten by then. */
  end(reason: EndReason): void
}

export type EventReadersOptions = {
  /** How many an account has, over all processes. */
  readonly places: Readonly<Record<'socket' | 'stream', KeyedSlots>>
  /** Those of the keys that are still good. */
  findGoodKeys(keyIds: readonly string[]): Promise<readonly string[]>
  /** Those of the sessions that were signed out of. */
  findEndedSessions?(ids: readonly string[]): Promise<readonly string[]>
  readonly log: Log
  /** The wall clock, which sessions end by. */
  readonly now?: () => number
  /** Milliseconds between looks at the keys, fewer in tests. */
  readonly checkMs?: number
}

/** How many revoked keys are remembered, for who was let in while the key was revoked. */
const REVOKED_KEPT = 1_000

/** One for a process; it holds no timer while nobody is there. */
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
   * A place for a reader to come; null when the account has as many of the kind as it may. Rejects with
   * `service_unavailable` where nobody can say how many there are.
   */
  takePlace(
    kind: 'socket' | 'stream',
    accountId: string,
  ): HeldSlot | null | Promise<HeldSlot | null> {
    return this.#options.places[kind].take(accountId)
  }

  /** Gives its place back when it is removed, also where it is ended at once. */
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

  /** May be called for a reader that is not there any more. */
  remove(reader: EventReader): void {
    if (!this.#readers.delete(reader)) return
    reader.place?.release()
    if (this.#readers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Of all accounts. */
  count(kind: EventReader['kind']): number {
    let count = 0
    for (const reader of this.#readers) if (reader.kind === kind) count += 1
    return count
  }

  /** Ends all that came with the key, now and later. */
  endOfKey(keyId: string): void {
    this.#revoked.set(keyId, true)
    this.#endThose((reader) => reader.keyId === keyId, 'revoked')
  }

  /** Ends all that came with the session. */
  endOfSession(id: string): void {
    this.#endThose(({ session }) => session?.id === id, 'revoked')
  }

  /** Ends those whose session is over or whose key was revoked elsewhere; runs by itself while there are readers. */
  check(): Promise<void> {
    this.#checking ??= this.#look().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  /** Ends all, now and later. */
  close(): void {
    this.#isClosing = true
    this.#endThose(() => true, 'closing')
  }

  #endThose(isMeant: (reader: EventReader) => boolean, reason: EndReason): void {
    for (const reader of [...this.#readers].filter(isMeant)) {
      this.remove(reader)
      reader.end(reason)
    }
  }

  async #look(): Promise<void> {
    const { findGoodKeys, findEndedSessions, log, now } = this.#options
    const nowMs = now?.() ?? 0
    this.#endThose(
      ({ session }) => (session?.endsAtMs ?? Number.POSITIVE_INFINITY) <= nowMs,
      'revoked',
    )
    try {
      for (const step of stepsOf(this.#readers, ({ keyId }) => keyId)) {
        const good = new Set(await findGoodKeys(step))
        const bad = new Set(step.filter((keyId) => !good.has(keyId)))
        this.#endThose(({ keyId }) => bad.has(keyId), 'revoked')
      }
      for (const step of stepsOf(this.#readers, ({ session }) => session?.id)) {
        for (const id of (await findEndedSessions?.(step)) ?? []) this.endOfSession(id)
      }
    } catch (error) {
      log.warn({ error }, 'The keys of connected clients could not be checked.')
    }
  }
}

/** What is to be looked up of the readers, each once, in steps of KEY_CHECK_STEP. */
function stepsOf(
  readers: Iterable<EventReader>,
  idOf: (reader: EventReader) => string | undefined,
): string[][] {
  const ids = [...new Set(Array.from(readers, idOf))].filter((id) => id !== undefined)
  return Array.from({ length: Math.ceil(ids.length / KEY_CHECK_STEP) }, (_, step) =>
    ids.slice(step * KEY_CHECK_STEP, (step + 1) * KEY_CHECK_STEP),
  )
}
