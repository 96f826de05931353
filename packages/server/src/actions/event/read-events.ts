// Reading the log of an account's events, page by page.

import type { Deps } from '#actions/deps.ts'
import { isIdOf } from '#base/ids.ts'
import {
  COUNTED_MAX,
  EVENTS_LOADED_AT_ONCE,
  LOG_PAGE_EVENTS_MAX,
  LOG_WINDOW_EVENTS,
} from '#base/limits.ts'
import { type EventFilter, LOG_START, type LoggedEvent, type LogPosition } from '#model/event.ts'
import { problem } from '#model/problem.ts'
import { countEvents, findEventPosition, lookInLog } from '#store/event.ts'
import { type EnvelopeDeps, type EventText, readEnvelopes } from './envelope.ts'

type PageInput = {
  readonly accountId: string
  readonly filter: EventFilter
  readonly after: string | null
  readonly limit: number
  /** Aborted when nobody waits for the page any more: it may end anywhere then. */
  readonly signal: AbortSignal
}

export type PageDeps = EnvelopeDeps & Pick<Deps, 'events'>

/**
 * Oldest first, from the one after `after`: as many as there are up to `limit`, unless nothing more
 * passes the filter in LOG_PAGE_EVENTS_MAX events. `total` counts them and what passes behind a full
 * page, up to COUNTED_MAX and no further than `countEvents` looks. `bad_request` when the account's
 * log has no such event. The texts are read as they are asked for, EVENTS_LOADED_AT_ONCE in memory at
 * a time.
 */
export async function openEventPage(
  deps: PageDeps,
  input: PageInput,
): Promise<{ texts: AsyncIterable<EventText>; total: number }> {
  const { accountId, filter, limit, signal } = input
  const after = await findPosition(deps, { accountId, after: input.after })
  if (after === null) throw unknownAfter('is no event of this account that the log still holds')
  const search = new Search(deps, input, after)
  const first = await search.next(limit)
  const last = first.at(-1)
  let total = first.length
  if (last !== undefined && total >= limit) {
    const behind = { accountId, filter, after: last.position, max: COUNTED_MAX - total }
    total += await countEvents(deps.db, { ...behind, signal })
  }
  return { texts: readTexts(deps, { search, first, limit }), total }
}

/** Goes through the log for what passes a filter. */
class Search {
  readonly #deps: PageDeps
  readonly #input: PageInput
  #after: LogPosition
  #looks = 0
  #isOver = false

  constructor(deps: PageDeps, input: PageInput, after: LogPosition) {
    this.#deps = deps
    this.#input = input
    this.#after = after
  }

  /** Up to `limit` more; fewer only where the search is over. */
  async next(limit: number): Promise<LoggedEvent[]> {
    const found: LoggedEvent[] = []
    while (found.length < limit && !this.#isOver) {
      const rest = limit - found.length
      const look = () => this.#look(rest)
      // What is found at once, as without a filter, waits for nobody's search.
      const isFirst = this.#looks === 0
      found.push(
        ...(await (isFirst ? look() : this.#deps.events.inTurn(this.#input.accountId, look))),
      )
    }
    return found
  }

  async #look(limit: number): Promise<LoggedEvent[]> {
    const { accountId, filter, signal } = this.#input
    if (signal.aborted) {
      this.#isOver = true
      return []
    }
    const range = { accountId, filter, after: this.#after, limit }
    const { events, reached, isEnd } = await lookInLog(this.#deps.db, range)
    this.#after = reached
    this.#looks += 1
    this.#isOver = isEnd || this.#looks * LOG_WINDOW_EVENTS >= LOG_PAGE_EVENTS_MAX
    return events
  }
}

/** In place of events whose message was deleted meanwhile it tells further ones. */
async function* readTexts(
  deps: EnvelopeDeps,
  { search, first, limit }: { search: Search; first: LoggedEvent[]; limit: number },
): AsyncGenerator<EventText> {
  let left = limit
  for (let events = first; events.length > 0; events = await search.next(left)) {
    for (let start = 0; start < events.length; start += EVENTS_LOADED_AT_ONCE) {
      const texts = await readEnvelopes(deps, events.slice(start, start + EVENTS_LOADED_AT_ONCE))
      yield* texts
      left -= texts.length
    }
  }
}

/** Where the event stands in the log, its start for none, null when there is no such event. */
export async function findPosition(
  deps: Pick<Deps, 'db'>,
  { accountId, after }: { accountId: string; after: string | null },
): Promise<LogPosition | null> {
  if (after === null) return LOG_START
  return isIdOf('evt', after) ? findEventPosition(deps.db, accountId, after) : null
}

/** What is wrong with a cursor, to follow its name. */
export function unknownAfter(message: string, path = 'after'): ReturnType<typeof problem> {
  return problem('bad_request', `${path} ${message}.`, { details: [{ path, message }] })
}
