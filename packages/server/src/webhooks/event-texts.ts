// What webhooks are told of an event, made once for all that are told of it at about the same time.

import type { LoggedEvent } from '#events/event.ts'
import { findEvent } from '#events/event-rows.ts'
import type { Clock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'

/** Of what several webhooks are told, made once: octets kept, and how long. */
export const EVENT_TEXTS_BYTES_MAX = 8 * 1024 * 1024
export const EVENT_TEXT_MS = 10 * SECOND_MS

/** An event as webhooks are told of it. */
export type EventText = {
  /** JSON of the whole envelope. */
  render(told: { readonly deliveredAtMs: number; readonly attempt: number }): string
}

/** In order; events whose message is gone are left out. */
export type ReadEventTexts = (events: readonly LoggedEvent[]) => Promise<EventText[]>

type EventTextDeps = { db: Db; clock: Clock; readEventTexts: ReadEventTexts }

export type FindEventText = (named: {
  accountId: string
  eventId: string
}) => Promise<EventText | null>

/** Null when the event or its message is gone. */
export function findEventTextIn(deps: EventTextDeps): FindEventText {
  return async ({ accountId, eventId }) => {
    const event = await findEvent(deps.db, accountId, eventId)
    const [text] = event === null ? [] : await deps.readEventTexts([event])
    return text ?? null
  }
}

type Kept = { readonly text: Promise<EventText | null>; readonly madeMs: number; bytes: number }

/**
 * The same, kept for EVENT_TEXT_MS: an event that goes to a hundred webhooks is read and made into
 * JSON once, and those under way share it. One that was deleted meanwhile is on its way.
 */
export function openEventTexts(
  deps: EventTextDeps,
  find: FindEventText = findEventTextIn(deps),
): FindEventText {
  /** From the oldest on. */
  const all = new Map<string, Kept>()
  let bytes = 0
  const forget = (key: string, kept: Kept) => {
    if (all.get(key) !== kept) return
    all.delete(key)
    bytes -= kept.bytes
  }
  const tidy = () => {
    const sinceMs = deps.clock.monotonic() - EVENT_TEXT_MS
    for (const [key, kept] of all) {
      if (kept.madeMs > sinceMs && bytes <= EVENT_TEXTS_BYTES_MAX) return
      forget(key, kept)
    }
  }
  return (named) => {
    tidy()
    const key = `${named.accountId} ${named.eventId}`
    const old = all.get(key)
    if (old !== undefined) return old.text
    const made: Kept = { text: find(named), madeMs: deps.clock.monotonic(), bytes: 0 }
    all.set(key, made)
    const weigh = (text: EventText | null) => {
      if (text === null || all.get(key) !== made) return forget(key, made)
      made.bytes = bytesOf(text)
      bytes += made.bytes
      tidy()
    }
    made.text.then(weigh, () => forget(key, made))
    return made.text
  }
}

/** In memory, where a character takes up to two: its bodies, and their JSON. */
function bytesOf(text: EventText): number {
  return 4 * text.render({ deliveredAtMs: 0, attempt: 1 }).length
}
