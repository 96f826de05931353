// Connections that receive events. A connection ends with its key, its session or the service.

import type { HeldSlot, KeyedSlots } from '#limits/limits.ts'
import { Cache } from '#platform/cache.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'

const KEY_CHECK_STEP = 1_000
/** If a key is revoked elsewhere, its connections end within this time. */
const KEY_CHECK_MS = SECOND_MS

export type EndReason = 'revoked' | 'closing'

export type CallerSession = { readonly id: string; readonly endsAtMs: number }

export type EventReader = {
  readonly accountId: string
  readonly keyId: string
  readonly kind: 'socket' | 'stream' | 'wait'
  /** Null for a waiting request. The slot is released with the reader. */
  readonly slot: HeldSlot | null
  readonly session?: CallerSession | null
  /** Called at most once, after the removal and possibly by `add` itself. */
  end(reason: EndReason): void
}

export type EventReadersOptions = {
  readonly slots: Readonly<Record<'socket' | 'stream', KeyedSlots>>
  findGoodKeys(keyIds: readonly string[]): Promise<readonly string[]>
  findEndedSessions?(ids: readonly string[]): Promise<readonly string[]>
  readonly log: Log
  readonly now?: () => number
  readonly checkMs?: number
}

/** Number of revoked keys to remember, for requests authenticated just before the revocation. */
const REVOKED_KEPT = 1_000

/** There is one instance per process. */
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

  /** Null if the account has no free slot. Rejects with `service_unavailable`. */
  takeSlot(
    kind: 'socket' | 'stream',
    accountId: string,
  ): HeldSlot | null | Promise<HeldSlot | null> {
    return this.#options.slots[kind].take(accountId)
  }

  /** Ends the reader immediately if its key was revoked or the service is stopping. */
  add(reader: EventReader): void {
    if (this.#isClosing || this.#revoked.get(reader.keyId) !== null) {
      reader.slot?.release()
      reader.end(this.#isClosing ? 'closing' : 'revoked')
      return
    }
    this.#readers.add(reader)
    const { checkMs = KEY_CHECK_MS } = this.#options
    this.#timer ??= setInterval(() => void this.check(), checkMs).unref()
  }

  remove(reader: EventReader): void {
    if (!this.#readers.delete(reader)) return
    reader.slot?.release()
    if (this.#readers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  count(kind: EventReader['kind']): number {
    let count = 0
    for (const reader of this.#readers) if (reader.kind === kind) count += 1
    return count
  }

  /** Also applies to readers that are added later. */
  endReadersOfKey(keyId: string): void {
    this.#revoked.set(keyId, true)
    this.#endWhere((reader) => reader.keyId === keyId, 'revoked')
  }

  endReadersOfSession(id: string): void {
    this.#endWhere(({ session }) => session?.id === id, 'revoked')
  }

  /** Ends readers of expired sessions and of keys revoked elsewhere. Runs periodically. */
  check(): Promise<void> {
    this.#checking ??= this.#checkAll().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

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

function stepsOf(
  readers: Iterable<EventReader>,
  idOf: (reader: EventReader) => string | undefined,
): string[][] {
  const ids = [...new Set(Array.from(readers, idOf))].filter((id) => id !== undefined)
  return Array.from({ length: Math.ceil(ids.length / KEY_CHECK_STEP) }, (_, step) =>
    ids.slice(step * KEY_CHECK_STEP, (step + 1) * KEY_CHECK_STEP),
  )
}
