// Reading the log of an account's events, page by page.

import type { Deps } from '#actions/deps.ts'
import { isIdOf } from '#base/ids.ts'
import { EVENTS_LOADED_AT_ONCE } from '#base/limits.ts'
import { type EventFilter, LOG_START, type LoggedEvent, type LogPosition } from '#model/event.ts'
import { problem } from '#model/problem.ts'
import { countEvents, findEvent, listEvents } from '#store/event.ts'
import { type EnvelopeDeps, type EventText, readEnvelopes } from './envelope.ts'

type PageInput = { accountId: string; filter: EventFilter; after: string | null; limit: number }

/**
 * Oldest first, from the one after `after`; `total` counts what passes the filter from there on, up to
 * COUNTED_MAX. `bad_request` when the account's log has no such event. The texts are read as they are
 * asked for, EVENTS_LOADED_AT_ONCE in memory at a time.
 */
export async function openEventPage(
  deps: EnvelopeDeps,
  input: PageInput,
): Promise<{ texts: AsyncIterable<EventText>; total: number }> {
  const { accountId, filter, limit } = input
  const after = await findPosition(deps, { accountId, after: input.after })
  if (after === null) throw unknownAfter('is no event of this account that the log still holds')
  const range = { accountId, after, filter }
  const [events, total] = await Promise.all([
    listEvents(deps.db, { ...range, limit }),
    countEvents(deps.db, range),
  ])
  return { texts: readTexts(deps, events), total }
}

async function* readTexts(
  deps: EnvelopeDeps,
  events: readonly LoggedEvent[],
): AsyncGenerator<EventText> {
  for (let start = 0; start < events.length; start += EVENTS_LOADED_AT_ONCE) {
    yield* await readEnvelopes(deps, events.slice(start, start + EVENTS_LOADED_AT_ONCE))
  }
}

/** The same as a list. */
export async function readEvents(
  deps: EnvelopeDeps,
  input: PageInput,
): Promise<{ events: EventText[]; total: number }> {
  const { texts, total } = await openEventPage(deps, input)
  const events: EventText[] = []
  for await (const text of texts) events.push(text)
  return { events, total }
}

/** Where the event stands in the log, its start for none, null when there is no such event. */
export async function findPosition(
  deps: Pick<Deps, 'db'>,
  { accountId, after }: { accountId: string; after: string | null },
): Promise<LogPosition | null> {
  if (after === null) return LOG_START
  if (!isIdOf('evt', after)) return null
  return (await findEvent(deps.db, accountId, after))?.position ?? null
}

/** What is wrong with a cursor, to follow its name. */
export function unknownAfter(message: string): ReturnType<typeof problem> {
  return problem('bad_request', `after ${message}.`, { details: [{ path: 'after', message }] })
}
