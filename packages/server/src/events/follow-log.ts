// Follows the log of events: does work once per event, and decides when to read again.

import { isUnsettledAfter } from '#events/store/log.ts'
import { findReaderOffset, type LogReaderName } from '#events/store/readers.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Store } from '#store/store.ts'
import { compareOffsets, type LogOffset } from './model.ts'

export const LOG_STEP_EVENTS = 100
/** A reader that finds no work stores its offset after this many events or this much time. */
export const LOG_UNKEPT_EVENTS_MAX = 1_000
const LOG_UNKEPT_MS_MAX = 10 * SECOND_MS

export type LogReader = {
  /** Handles a part of the log. True if there may be more. */
  step(): Promise<boolean>
  readonly found: number
  /** The offset that the reader has reached; null before the first step. */
  readonly offset: LogOffset | null
  /** Whether an event waits for an older transaction, whose end is not notified. */
  isBehind(): Promise<boolean>
}

type Progress = { kept: LogOffset; read: LogOffset; unkept: number; keptMs: number }

/** The transaction of `write` moves the offset, so that each work is done by only one process. */
export function openLogReader<Event extends { readonly offset: LogOffset }, Work>(
  { db, clock }: Store,
  reader: {
    readonly name: LogReaderName
    readonly limit: number
    read(after: LogOffset): Promise<readonly Event[]>
    /** `to` is the offset of the last event that `work` covers. */
    match(events: readonly Event[]): Promise<{ work: readonly Work[]; to: LogOffset }>
    /** Returns false without writing if the reader is no longer at `from`. */
    write(step: { from: LogOffset; to: LogOffset; work: readonly Work[] }): Promise<boolean>
  },
): LogReader {
  /** The stored offset, and how far this process has read beyond it without finding work. */
  let progress: Progress | null = null
  let found = 0

  const startAt = (kept: LogOffset): Progress => {
    return { kept, read: kept, unkept: 0, keptMs: clock.monotonic() }
  }
  const keep = async (from: LogOffset, to: LogOffset, work: readonly Work[]) => {
    // If the write fails, another process was first, and the next step reads its offset.
    progress = (await reader.write({ from, to, work })) ? startAt(to) : null
  }
  return {
    async step() {
      progress ??= startAt(await findReaderOffset(db, reader.name))
      const { kept, read, unkept, keptMs } = progress
      const events = await reader.read(read)
      found = events.length
      const isLate = clock.monotonic() - keptMs >= LOG_UNKEPT_MS_MAX
      const last = events.at(-1)
      if (last === undefined) {
        // Otherwise, events that no reader wants would be counted as a backlog.
        if (unkept > 0 && isLate) await keep(kept, read, [])
        return false
      }
      const { work, to } = await reader.match(events)
      const isMuch = unkept + found >= LOG_UNKEPT_EVENTS_MAX
      if (work.length > 0 || isLate || isMuch) await keep(kept, to, work)
      else progress = { kept, read: to, unkept: unkept + found, keptMs }
      const isWhole = compareOffsets(to, last.offset) === 0
      return progress === null || !isWhole || found === reader.limit
    },
    get found() {
      return found
    },
    get offset() {
      return progress?.read ?? null
    },
    async isBehind() {
      return progress !== null && (await isUnsettledAfter(db, progress.read))
    },
  }
}

/** The operator is warned after this much time without progress. */
export const LOG_STALL_MS = 10 * SECOND_MS
/** The first wait before reading again while events wait for an older transaction. */
export const LOG_UNSETTLED_MS = 20
/** Interval of reads without a notification, which limits the delay after a lost wake-up. */
export const LOG_POLL_MS = SECOND_MS

export type Stall = {
  /** Milliseconds until the next read, for a reader at this offset that found waiting events. */
  delayMs(offset: LogOffset): number
  end(): void
}

/** While events wait for an older transaction, reads again soon at first and then less often. */
export function openStall({ clock, log }: Store, reader: string): Stall {
  let since: { offset: LogOffset; startMs: number; isReported: boolean } | null = null
  return {
    delayMs(offset) {
      const nowMs = clock.monotonic()
      if (since === null || compareOffsets(since.offset, offset) !== 0) {
        since = { offset, startMs: nowMs, isReported: false }
      }
      const waitedMs = nowMs - since.startMs
      if (waitedMs >= LOG_STALL_MS && !since.isReported) {
        since.isReported = true
        log.warn(
          { reader, waitedMs: Math.round(waitedMs) },
          'events are held up by an open transaction on the database server',
        )
      }
      return Math.min(LOG_POLL_MS, Math.max(LOG_UNSETTLED_MS, waitedMs / 4))
    },
    end() {
      since = null
    },
  }
}
