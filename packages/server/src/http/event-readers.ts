// Everyone who is connected to be told of events, or waits for one: how many an account has, and who
// is let go because the key was revoked, the session is over or the service ends.

import { KEY_CHECK_MS, KEY_CHECK_STEP, SOCKETS_PER_ACCOUNT_MAX } from '#base/limits.ts'
import type { Log } from '#base/log.ts'

export type EndReason = 'revoked' | 'closing'

/** The session of the console that somebody came with. */
export type ComingSession = { readonly id: string; readonly endsAtMs: number }

export type EventReader = {
  readonly accountId: string
  readonly keyId: string
  /** Sockets and streams are counted apart; waits are not. */
  readonly kind: 'socket' | 'stream' | 'wait'
  /** Null for a key alone. */
  readonly session?: ComingSession | null
  /** Called once at most, also by `add` itself; the reader is forgotten by then. */
  end(reason: EndReason): void
}

export type EventReadersOptions = {
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
  readonly #counts = new Map<string, number>()
  readonly #revoked = new Set<string>()
  #isClosing = false
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | undefined

  constructor(options: EventReadersOptions) {
    this.#options = options
  }

  /** False, with nothing noted, when the account has as many of the kind as it may. */
  add(reader: EventReader): boolean {
    if (this.#isClosing || this.#revoked.has(reader.keyId)) {
      reader.end(this.#isClosing ? 'closing' : 'revoked')
      return true
    }
    const isMany = (this.#counts.get(nameOf(reader)) ?? 0) >= SOCKETS_PER_ACCOUNT_MAX
    if (isMany && reader.kind !== 'wait') return false
    this.#readers.add(reader)
    this.#count(reader, 1)
    const { checkMs = KEY_CHECK_MS } = this.#options
    this.#timer ??= setInterval(() => void this.check(), checkMs).unref()
    return true
  }

  /** May be called for a reader that is not there any more. */
  remove(reader: EventReader): void {
    if (!this.#readers.delete(reader)) return
    this.#count(reader, -1)
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
    // A Set keeps the order of insertion: the first is the oldest.
    const [oldest] = this.#revoked
    if (this.#revoked.size >= REVOKED_KEPT && oldest !== undefined) this.#revoked.delete(oldest)
    this.#revoked.add(keyId)
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

  #count(reader: EventReader, change: 1 | -1): void {
    const name = nameOf(reader)
    const number = (this.#counts.get(name) ?? 0) + change
    if (number === 0) this.#counts.delete(name)
    else this.#counts.set(name, number)
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
      log.warn({ error }, 'The keys of connected clients could not be looked at.')
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

function nameOf({ kind, accountId }: EventReader): string {
  return `${kind} ${accountId}`
}
