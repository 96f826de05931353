// Filters of lists: which messages or threads of an inbox match, read window by window from the newest on. What the
// database finds may be too much, never too little; the texts are compared here, so that both databases find the same.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { COUNTED_MAX, type MessageCategory } from '@mailroom/contract/vocabulary.ts'
import { type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { systemClock } from '#platform/clock.ts'
import type { LongRead } from '#platform/db/db.ts'
import { foldCase, mayContain } from '#platform/db/dialect.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Page, ReadDb, Row, Tables } from '#schema/tables.ts'
import type { Direction } from './message-rows.ts'

export type MailFilter = {
  readonly from: string | null
  readonly to: string | null
  readonly subject: string | null
  readonly sinceMs: number | null
  readonly untilMs: number | null
  readonly hasAttachment: boolean | null
}

export type Filtered<Key> = {
  /** Of the page, newest first. */
  readonly keys: Key[]
  /** Counted up to COUNTED_MAX. */
  readonly total: number
  /** False when the time was not enough for the whole inbox. */
  readonly isComplete: boolean
}

type FilterIn = {
  readonly accountId: string
  readonly inboxId: string
  readonly filter: MailFilter
}

const FILTER_MS_MAX = 5 * SECOND_MS
/** Positions in a window: the first, and bounds for those after it, which follow the time that one took. */
const WINDOW_FIRST = 4_096
const WINDOW_MAX = 65_536
const WINDOW_MS = { quick: 40, slow: 120 } as const

/** The positions of the messages that match. */
export const filterMessages: LongRead<
  Tables,
  FilterIn & {
    direction: Direction | null
    category: MessageCategory | null
    /** All of them. */
    labels: readonly string[]
  } & Page,
  Filtered<number>
> = {
  name: 'filterMessages',
  async run(db, input, signal) {
    const range = await findPositionsOf(db, { ...input, period: periodOf(input.filter) })
    return walk({ range, page: input, signal }, (window) => matchMessages(db, input, window))
  },
}

/** The ids of the threads that match. */
export const filterThreads: LongRead<
  Tables,
  FilterIn & {
    isRead: boolean | null
    category: MessageCategory | null
    /** Those in the trash, instead of those that are not. */
    isTrashed: boolean
    /** All of them. */
    marks: readonly string[]
    isSnoozed: boolean | null
    nowMs: number
  } & Page,
  Filtered<string>
> = {
  name: 'filterThreads',
  async run(db, input, signal) {
    // The period of threads has no index; their rows are short.
    const range = await findEnds(db, THREADS, input)
    return walk({ range, page: input, signal }, (window) => matchThreads(db, input, window))
  },
}

type Window = { readonly first: number; readonly last: number }

async function walk<Key>(
  { range, page, signal }: { range: Window | null; page: Page; signal: AbortSignal },
  match: (window: Window) => Promise<Key[]>,
): Promise<Filtered<Key>> {
  const keys: Key[] = []
  const enough = Math.max(COUNTED_MAX, page.offset + page.limit)
  const endMs = systemClock.monotonic() + FILTER_MS_MAX
  let size = WINDOW_FIRST
  let last = range?.last ?? 0
  let found = 0
  let isComplete = true
  while (range !== null && last >= range.first && found < enough) {
    const startMs = systemClock.monotonic()
    if (signal.aborted || startMs >= endMs) {
      isComplete = false
      break
    }
    const first = Math.max(range.first, last - size + 1)
    for (const key of await match({ first, last })) {
      if (found >= page.offset && keys.length < page.limit) keys.push(key)
      found += 1
    }
    last = first - 1
    await nextTurn()
    const tookMs = systemClock.monotonic() - startMs
    if (tookMs < WINDOW_MS.quick) size = Math.min(2 * size, WINDOW_MAX)
    else if (tookMs > WINDOW_MS.slow) size = Math.max(Math.floor(size / 2), WINDOW_FIRST)
  }
  return { keys, total: Math.min(found, COUNTED_MAX), isComplete }
}

async function matchMessages(
  db: ReadDb,
  input: Parameters<typeof filterMessages.run>[1],
  { first, last }: Window,
): Promise<number[]> {
  const { accountId, inboxId, filter, direction, category, labels } = input
  const { sinceMs, untilMs } = filter
  let query = db.read
    .selectFrom('messages')
    .select(['messages.position', ...comparedColumns(filter)])
    .where('messages.account_id', '=', accountId)
    .where('messages.inbox_id', '=', inboxId)
    .where('messages.position', '>=', first)
    .where('messages.position', '<=', last)
    .where((row) => mayMatch(db, row, filter))
    .orderBy('messages.position', 'desc')
  if (sinceMs !== null) query = query.where('messages.created_at', '>=', sinceMs)
  if (untilMs !== null) query = query.where('messages.created_at', '<', untilMs)
  if (direction !== null) query = query.where('messages.direction', '=', direction)
  if (category !== null) query = query.where('messages.category', '=', category)
  for (const label of labels) {
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('message_labels')
          .select('message_labels.label')
          .whereRef('message_labels.message_id', '=', 'messages.id')
          .where('message_labels.label', '=', label),
      ),
    )
  }
  const rows = await query.execute()
  return rows.filter((row) => matches(row, filter)).map(({ position }) => position)
}

/** Threads that are looked up together. */
const THREADS_AT_ONCE = 1_000

async function matchThreads(
  db: ReadDb,
  input: Parameters<typeof filterThreads.run>[1],
  { first, last }: Window,
): Promise<string[]> {
  const { accountId, inboxId, filter, isRead, category, isTrashed, marks, isSnoozed } = input
  const { sinceMs, untilMs } = filter
  let query = db.read
    .selectFrom('threads')
    .select('id')
    .where('account_id', '=', accountId)
    .where('inbox_id', '=', inboxId)
    .where('last_position', '>=', isTrashed ? -last : first)
    .where('last_position', '<=', isTrashed ? -first : last)
    .orderBy('last_position', isTrashed ? 'asc' : 'desc')
  if (isRead !== null) query = query.where('is_read', '=', isRead ? 1 : 0)
  if (category !== null) query = query.where('category', '=', category)
  for (const mark of marks) {
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('thread_marks')
          .select('thread_marks.mark')
          .whereRef('thread_marks.thread_id', '=', 'threads.id')
          .where('thread_marks.mark', '=', mark),
      ),
    )
  }
  if (isSnoozed !== null) {
    query = query.where((row) =>
      row(row.fn.coalesce('snoozed_until', row.lit(0)), isSnoozed ? '>' : '<=', input.nowMs),
    )
  }
  if (sinceMs !== null) query = query.where('last_message_at', '>=', sinceMs)
  if (untilMs !== null) query = query.where('last_message_at', '<', untilMs)
  const ids = (await query.execute()).map(({ id }) => id)
  if (!comparesMessages(filter)) return ids
  const found: string[] = []
  for (let start = 0; start < ids.length; start += THREADS_AT_ONCE) {
    const some = ids.slice(start, start + THREADS_AT_ONCE)
    const matching = await findMatchingThreads(db, { accountId, filter, threadIds: some })
    for (const id of some) if (matching.has(id)) found.push(id)
  }
  return found
}

async function findMatchingThreads(
  db: ReadDb,
  input: { accountId: string; filter: MailFilter; threadIds: readonly string[] },
): Promise<Set<string>> {
  const { accountId, filter, threadIds } = input
  const inThreads = db.read
    .selectFrom('messages')
    .where('messages.account_id', '=', accountId)
    .where('messages.thread_id', 'in', threadIds)
  const isWithout = filter.hasAttachment === false
  // Without an attachment means that no message of the thread has one.
  const ofMessage = { ...filter, hasAttachment: null }
  let compared = inThreads
    .select(['messages.thread_id', ...comparedColumns(ofMessage)])
    .where((row) => mayMatch(db, row, ofMessage))
  if (filter.hasAttachment === true) compared = compared.where(HAS_ATTACHMENT)
  const rows = await compared.execute()
  const found = new Set(rows.flatMap((row) => (matches(row, ofMessage) ? row.thread_id : [])))
  if (!isWithout || found.size === 0) return found
  const withAttachment = await inThreads
    .select('messages.thread_id')
    .where(HAS_ATTACHMENT)
    .execute()
  for (const { thread_id } of withAttachment) found.delete(thread_id)
  return found
}

/** Looked up for each message: as a join, PostgreSQL would read all messages with attachments for a few threads. */
const HAS_ATTACHMENT = sql<SqlBool>`(
  select 1 from messages as with_files
  where with_files.inbox_id = messages.inbox_id and with_files.position = messages.position
    and with_files.attachments <> '[]') is not null`

function comparesMessages({ from, to, subject, hasAttachment }: MailFilter): boolean {
  return from !== null || to !== null || subject !== null || hasAttachment !== null
}

type Compared = Partial<
  Pick<Row<'messages'>, 'from_addr' | 'to_addr' | 'to_addrs' | 'header_to' | 'cc' | 'subject'>
>

const RECIPIENTS = ['messages.to_addr', 'messages.header_to', 'messages.cc'] as const

function comparedColumns({ from, to, subject }: MailFilter) {
  return [
    ...(from === null ? [] : (['messages.from_addr'] as const)),
    ...(to === null ? [] : ([...RECIPIENTS, SENT_TO] as const)),
    ...(subject === null ? [] : (['messages.subject'] as const)),
  ]
}

/** SQLite keeps this column behind the text, where only sent mail has something. */
const SENT_TO = sql<string | null>`
  case when messages.direction = 'outbound' then messages.to_addrs end`.as('to_addrs')

type OfMessage = ExpressionBuilder<Tables, 'messages'>

function mayMatch(db: ReadDb, row: OfMessage, filter: MailFilter) {
  const { engine } = db.reading
  const contains = (column: Parameters<typeof sql.ref>[0], text: string) =>
    mayContain(engine, sql.ref<string>(column), text)
  const conditions: ReturnType<typeof contains>[] = []
  if (filter.from !== null) conditions.push(contains('messages.from_addr', filter.from))
  if (filter.subject !== null) conditions.push(contains('messages.subject', filter.subject))
  if (filter.to !== null) {
    const { to } = filter
    // Lists are JSON, in which some characters are escaped.
    const inList =
      JSON.stringify(to) === `"${to}"` ? contains('messages.cc', to) : sql<SqlBool>`1 = 1`
    const places = [
      contains('messages.to_addr', to),
      contains('messages.header_to', to),
      inList,
      sql<SqlBool>`messages.direction = 'outbound'`,
    ]
    conditions.push(sql<SqlBool>`(${sql.join(places, sql` or `)})`)
  }
  if (filter.hasAttachment !== null) {
    const has = hasAttachment(row)
    conditions.push(filter.hasAttachment ? sql<SqlBool>`${has}` : sql<SqlBool>`not ${has}`)
  }
  return conditions.length === 0
    ? sql<SqlBool>`1 = 1`
    : sql<SqlBool>`${sql.join(conditions, sql` and `)}`
}

/** By the index of those with attachments: their names stand behind the text. */
function hasAttachment(row: OfMessage) {
  return row.exists(
    row
      .selectFrom('messages as with_files')
      .select('with_files.position')
      .whereRef('with_files.inbox_id', '=', 'messages.inbox_id')
      .whereRef('with_files.position', '=', 'messages.position')
      .where('with_files.attachments', '<>', sql.lit('[]')),
  )
}

function matches(row: Compared, { from, to, subject }: MailFilter): boolean {
  if (from !== null && !contains(row.from_addr, from)) return false
  if (subject !== null && !contains(row.subject, subject)) return false
  if (to === null) return true
  const lists = [row.cc, row.to_addrs].flatMap((list) =>
    list === undefined || list === null ? [] : (JSON.parse(list) as string[]),
  )
  return [row.to_addr, row.header_to, ...lists].some((text) => contains(text, to))
}

function contains(text: string | null | undefined, wanted: string): boolean {
  return text !== null && text !== undefined && foldCase(text).includes(foldCase(wanted))
}

/** From a time on, up to another one; null for no bound. */
export type Period = { readonly fromMs: number | null; readonly untilMs: number | null }

function periodOf({ sinceMs, untilMs }: MailFilter): Period {
  return { fromMs: sinceMs, untilMs }
}

/** The first and the last position of the messages of a period in this inbox of the account; null for none. */
export async function findPositionsOf(
  db: ReadDb,
  { inboxId, period }: { inboxId: string; period: Period },
): Promise<Window | null> {
  const { fromMs, untilMs } = period
  if (fromMs === null && untilMs === null) {
    return findEnds(db, MESSAGES, { inboxId, isTrashed: false })
  }
  // Sums, because PostgreSQL would look for the highest position of a period by going through all of them.
  let query = db.read
    .selectFrom('messages')
    .select(sql<number | null>`min(position + 0)`.as('first'))
    .select(sql<number | null>`max(position + 0)`.as('last'))
    .where('inbox_id', '=', inboxId)
    .where('position', '>', 0)
  if (fromMs !== null) query = query.where('created_at', '>=', fromMs)
  if (untilMs !== null) query = query.where('created_at', '<', untilMs)
  const { first, last } = await query.executeTakeFirstOrThrow()
  return first === null || last === null ? null : { first, last }
}

const MESSAGES = { table: 'messages', column: 'position' } as const
const THREADS = { table: 'threads', column: 'last_position' } as const

/** In the trash positions are negative, the lowest the newest; here they count without their sign. */
async function findEnds(
  db: ReadDb,
  { table, column }: typeof MESSAGES | typeof THREADS,
  { inboxId, isTrashed }: { inboxId: string; isTrashed: boolean },
): Promise<Window | null> {
  const side = sql.raw(isTrashed ? '< 0' : '> 0')
  const of = (end: 'min' | 'max') => sql`(
    select ${sql.raw(end)}(${sql.ref(column)}) from ${sql.table(table)}
    where inbox_id = ${inboxId} and ${sql.ref(column)} ${side})`
  const { rows } = await sql<{ low: number | null; high: number | null }>`
    select ${of('min')} as low, ${of('max')} as high`.execute(db.read)
  const { low = null, high = null } = rows[0] ?? {}
  if (low === null || high === null) return null
  return isTrashed ? { first: -high, last: -low } : { first: low, last: high }
}
