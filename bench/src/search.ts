// Measures search in an inbox of many messages on both databases: the time to index them, the size
// of the index, and the time of several kinds of searches and of filtered lists. Each search uses
// other words. Also measures the longest time for which the main thread was blocked. With SQLite,
// `--compare` runs each kind on the main thread too.

import { existsSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import {
  filterMessages,
  filterThreads,
  type MailFilter,
} from '@mailroom/server/mailbox/store/filters.ts'
import { systemClock } from '@mailroom/server/platform/clock.ts'
import type { Engine } from '@mailroom/server/platform/db/db.ts'
import { openSearchSlots } from '@mailroom/server/search/handlers.ts'
import { openCatchUps } from '@mailroom/server/search/indexer.ts'
import { searchInbox } from '@mailroom/server/search/search-inbox.ts'
import { indexSearchStep } from '@mailroom/server/search/store/search-index.ts'
import type { Db } from '@mailroom/server/store/tables.ts'
import {
  addAccount,
  addInbox,
  openDatabase,
  type TestDatabase,
} from '@mailroom/server/test/conformance/open-database.ts'
import { sql } from 'kysely'
import { describeMachine, quantile, table } from './figures.ts'
import { Words } from './words.ts'

/**
 * Options: `--messages 300000`, `--rounds 20` per kind, `--engines sqlite,postgres`, `--compare`
 * for searches on the main thread too. With `--when <path>`, measuring starts once this file
 * exists, and PostgreSQL builds the word index after all entries, which is quicker than in the
 * service.
 */
export async function search(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      messages: { type: 'string', default: '300000' },
      rounds: { type: 'string', default: '20' },
      engines: { type: 'string', default: 'sqlite,postgres' },
      compare: { type: 'boolean', default: false },
      when: { type: 'string' },
    },
  })
  process.stdout.write(`${describeMachine()}\n`)
  for (const engine of values.engines.split(',') as Engine[]) {
    const database = await openDatabase(engine)
    try {
      const { compare: isCompared, when = null } = values
      const numbers = { messages: Number(values.messages), rounds: Number(values.rounds) }
      const size = { ...numbers, isCompared, when }
      process.stdout.write(
        `\n${engine}, ${size.messages} messages\n${await measure(database, size)}\n`,
      )
    } finally {
      await database.close()
    }
  }
}

async function measure(
  database: TestDatabase,
  {
    messages,
    rounds,
    isCompared,
    when,
  }: { messages: number; rounds: number; isCompared: boolean; when: string | null },
): Promise<string> {
  const { db } = database
  const owner = await addAccount(db)
  const inboxId = await addInbox(db, owner)
  const words = new Words()
  await fill(db, words, { accountId: owner.accountId, inboxId, messages })
  const filledBytes = await sizeOf(database)
  const isLate = when !== null && db.engine === 'postgres'
  if (isLate) await runLong(database, 'drop index search_index_by_words')
  const indexing = await index(db, inboxId)
  if (isLate) {
    const text = 'create index search_index_by_words on search_index using gin (words)'
    await runLong(database, text)
  }
  const indexBytes = (await sizeOf(database)) - filledBytes
  if (db.engine === 'postgres') await runLong(database, 'vacuum analyze')
  process.stdout.write(`filled ${db.engine}\n`)
  while (when !== null && !existsSync(when)) await pause(200)
  const rows = [['search', 'found', 'p50 ms', 'p95 ms', 'worst ms', 'stall ms', 'processor ms']]
  const here: Db = { ...db, readLong: (read, input, signal) => read.run(db, input, signal) }
  for (const [name, kind] of Object.entries(kinds(words, messages))) {
    for (const place of isCompared && db.engine === 'sqlite' ? [db, here] : [db]) {
      const figures = await measureKind(place, { ...owner, inboxId, rounds, ...kind })
      rows.push([place === here ? '  on the main thread' : name, ...figures])
    }
  }
  for (const [name, list] of Object.entries(filters(words, messages))) {
    rows.push([name, ...(await measureFilter(db, { ...owner, inboxId, rounds, list }))])
  }
  const perMessage = (indexBytes / messages).toFixed(0)
  return [
    `indexed ${((messages / indexing.tookMs) * 1000).toFixed(0)} messages a second, longest step ${indexing.longestMs.toFixed(0)} ms`,
    `index ${(indexBytes / 2 ** 20).toFixed(0)} MiB, ${perMessage} octets a message; the rest ${(filledBytes / 2 ** 20).toFixed(0)} MiB`,
    table(rows),
  ].join('\n')
}

/** Allows statements that take longer than the service would wait. */
async function runLong({ place }: TestDatabase, text: string): Promise<void> {
  const { Client } = await import('pg')
  const client = new Client({ connectionString: place })
  await client.connect()
  await client.query(text)
  await client.end()
}

async function measureKind(
  db: Db,
  {
    q,
    sort = 'newest',
    atOnce = 1,
    rounds,
    ...of
  }: Kind & { accountId: string; inboxId: string; rounds: number },
): Promise<string[]> {
  const catchUps = { searchCatchUps: openCatchUps(), searchSlots: openSearchSlots() }
  const deps = { db, clock: systemClock, ...catchUps }
  const { signal } = new AbortController()
  const times: number[] = []
  let total = ''
  const search = async (round: number) => {
    const startMs = performance.now()
    const asked = { ...of, q: q(round), sort, direction: null, limit: 50, offset: 0 }
    const found = await searchInbox(deps, asked, signal)
    times.push(performance.now() - startMs)
    total = `${found.total}${found.isExact ? '' : '+'}${found.isComplete ? '' : ' (cut)'}`
  }
  const stall = watchStalls()
  for (let round = 0; round < rounds; round += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, (_, index) => search(round + index)))
  }
  const { longestMs, processorMs } = await stall()
  const figures = [...quantiles(times), longestMs, processorMs]
  return [total, ...figures.map((ms) => ms.toFixed(1))]
}

function quantiles(times: number[]): number[] {
  return [0.5, 0.95, 1].map((part) => quantile(times, part))
}

type FilteredList = { of: 'messages' | 'threads'; filter: (round: number) => Partial<MailFilter> }

const NO_FILTER: MailFilter = {
  from: null,
  to: null,
  subject: null,
  sinceMs: null,
  untilMs: null,
  hasAttachment: null,
}

function filters(words: Words, messages: number): Record<string, FilteredList> {
  const nowhere = (round: number) => ({ subject: `nowhere${round}` })
  const rare = (round: number) => ({ from: `user${round * 37}@` })
  return {
    'messages: from= of 1 in 5,000': { of: 'messages', filter: rare },
    'messages: subject= that is nowhere': { of: 'messages', filter: nowhere },
    'messages: subject= a common word': {
      of: 'messages',
      filter: () => ({ subject: words.at(0) }),
    },
    'messages: has_attachment=true': { of: 'messages', filter: () => ({ hasAttachment: true }) },
    'messages: the oldest hundredth': {
      of: 'messages',
      filter: (round) => ({ untilMs: Math.floor(messages / 100) + round }),
    },
    'threads: from= of 1 in 5,000': { of: 'threads', filter: rare },
    'threads: subject= that is nowhere': { of: 'threads', filter: nowhere },
    'threads: has_attachment=true': { of: 'threads', filter: () => ({ hasAttachment: true }) },
  }
}

async function measureFilter(
  db: Db,
  {
    list,
    rounds,
    ...of
  }: { list: FilteredList; rounds: number; accountId: string; inboxId: string },
): Promise<string[]> {
  const { signal } = new AbortController()
  const times: number[] = []
  let total = ''
  const stall = watchStalls()
  for (let round = 0; round < rounds; round += 1) {
    const startMs = performance.now()
    const filter = { ...NO_FILTER, ...list.filter(round) }
    const asked = { ...of, filter, category: null, limit: 50, offset: 0 }
    const ofMessages = { ...asked, direction: null, labels: [] }
    const ofThreads = {
      ...asked,
      isRead: null,
      direction: null,
      isTrashed: false,
      facets: [],
      isSnoozed: null,
      nowMs: 0,
    }
    const found =
      list.of === 'messages'
        ? await db.readLong(filterMessages, ofMessages, signal)
        : await db.readLong(filterThreads, ofThreads, signal)
    times.push(performance.now() - startMs)
    total = `${found.total}${found.isComplete ? '' : ' (cut)'}`
  }
  const { longestMs, processorMs } = await stall()
  return [total, ...[...quantiles(times), longestMs, processorMs].map((ms) => ms.toFixed(1))]
}

type Kind = { q: (round: number) => string; sort?: 'newest' | 'rank'; atOnce?: number }

/** Words by frequency: number 0 is in nearly every message, number 30,000 in a few. */
function kinds(words: Words, messages: number): Record<string, Kind> {
  const before = () => `before:${new Date(messages / 100).toISOString()}`
  const common = (round: number) => words.at(round % 5)
  const rare = (round: number) => words.at(30_000 + round)
  const nowhere = (round: number) =>
    `"${[0, 1, 2, 3, 0, 1].map((n) => words.at(n + (round % 3))).join(' ')}"`
  return {
    'a common word, newest': { q: common },
    'a common word, by rank': { q: common, sort: 'rank' },
    'a rare word, newest': { q: rare },
    'a rare word, by rank': { q: rare, sort: 'rank' },
    'two common words': { q: (round) => `${words.at(0)} ${words.at(round + 1)}` },
    'a common and a rare word': { q: (round) => `${common(round)} ${rare(round)}` },
    'a phrase of common words': { q: (round) => `"${words.at(0)} ${words.at(round % 5)}"` },
    'a phrase that is nowhere': { q: nowhere },
    'ten of these at once': { q: nowhere, atOnce: 10 },
    'a common word, not another': { q: (round) => `${words.at(1)} -${words.at(5 + (round % 5))}` },
    'the start of a word': { q: (round) => `${words.at(100 + round).slice(0, 3)}*` },
    'a sender': { q: (round) => `from:user${round * 37}@firm.example` },
    'a word that is nowhere': { q: (round) => `nowhere${round}` },
    'a rare word OR another': { q: (round) => `${rare(round)} OR ${rare(round + 50)}` },
    'a common word OR another': { q: (round) => `${common(round)} OR ${common(round + 1)}` },
    'has:attachment': { q: () => 'has:attachment' },
    'a common word with has:attachment': { q: (round) => `${common(round)} has:attachment` },
    'a rare word with has:attachment': { q: (round) => `${rare(round)} has:attachment` },
    'before: the oldest hundredth': { q: before },
    'a common word before: the oldest hundredth': { q: (round) => `${common(round)} ${before()}` },
    'a rare word with before:': { q: (round) => `${rare(round)} before:2026-01-01` },
    'label: on 1 in 10,000': { q: () => 'label:rare' },
    'label: on 1 in 10': { q: () => 'label:common' },
    'a common word with the rare label': { q: (round) => `${common(round)} label:rare` },
    'a common word OR (a rare one has:attachment)': {
      q: (round) => `${common(round)} OR (${rare(round)} has:attachment)`,
    },
  }
}

const FILL_ROWS = 250

async function fill(
  db: Db,
  words: Words,
  { accountId, inboxId, messages }: { accountId: string; inboxId: string; messages: number },
): Promise<void> {
  const writing = db.engine === 'postgres' ? null : await openFile(db)
  for (let first = 1; first <= messages; first += FILL_ROWS) {
    const count = Math.min(FILL_ROWS, messages - first + 1)
    const rows = Array.from({ length: count }, (_, index) => {
      const position = first + index
      const body = words.text(60 + Math.floor(words.next() * 120))
      return {
        id: `msg_${position}`,
        account_id: accountId,
        inbox_id: inboxId,
        thread_id: `thr_${position}`,
        raw_id: `raw_${position}`,
        direction: 'inbound',
        arrival: position,
        status: 'received',
        from_addr: `User ${position % 5_000} <user${position % 5_000}@firm.example>`,
        to_addr: 'me@mailroom.localhost',
        cc: '[]',
        reference_ids: '[]',
        subject: words.text(6),
        body_length: body.length,
        body_text: body,
        body_html: '',
        attachments: position % 20 === 0 ? '[{"filename":"a.pdf"}]' : '[]',
        defects: '[]',
        created_at: position,
      }
    })
    await insert(db, writing, 'messages', rows)
    const threads = rows.map(({ thread_id, subject, created_at }) => ({
      id: thread_id,
      account_id: accountId,
      inbox_id: inboxId,
      subject,
      is_read: 0,
      message_count: 1,
      last_message_at: created_at,
      unread_count: 1,
      read_arrival: 0,
      participants: '[]',
      snippet: '',
      created_at,
    }))
    await insert(db, writing, 'threads', threads)
    const labels = rows.flatMap(({ id, arrival: position }) =>
      [
        ...(position % 10_000 === 0 ? ['rare'] : []),
        ...(position % 10 === 0 ? ['common'] : []),
      ].map((label) => ({
        message_id: id,
        label,
        account_id: accountId,
        inbox_id: inboxId,
        created_at: position,
      })),
    )
    await insert(db, writing, 'message_labels', labels)
  }
  const counted = `update inbox_counters set inbound_count = ${messages}, last_arrival = ${messages} where inbox_id = '${inboxId}'`
  if (writing === null) await sql.raw(counted).execute(db.read)
  else writing.exec(counted)
  writing?.close()
}

async function openFile(db: Db) {
  const { DatabaseSync } = await import('node:sqlite')
  return new DatabaseSync(db.description.replace(/^.* at /, ''), { timeout: 10_000 })
}

async function insert(
  db: Db,
  writing: Awaited<ReturnType<typeof openFile>> | null,
  table: string,
  rows: readonly Record<string, string | number>[],
): Promise<void> {
  const [first] = rows
  if (first === undefined) return
  if (writing === null) {
    const names = Object.keys(first)
    const values = rows.map((row) => sql`(${sql.join(names.map((name) => row[name]))})`)
    const columns = sql.join(names.map((name) => sql.ref(name)))
    await sql`insert into ${sql.table(table)} (${columns}) values ${sql.join(values)}`.execute(
      db.read,
    )
    return
  }
  writing.exec('begin')
  for (const row of rows) {
    const names = Object.keys(row)
    const places = names.map(() => '?').join(', ')
    const text = `insert into ${table} (${names.join(', ')}) values (${places})`
    writing.prepare(text).run(...Object.values(row))
  }
  writing.exec('commit')
}

/** Indexes at full speed, without the pauses of the service. */
async function index(db: Db, inboxId: string): Promise<{ tookMs: number; longestMs: number }> {
  const startMs = performance.now()
  let longestMs = 0
  for (;;) {
    const stepMs = performance.now()
    const step = await db.write(indexSearchStep, { inboxIds: [inboxId], skipLocked: true })
    longestMs = Math.max(longestMs, performance.now() - stepMs)
    if (step.behind.length === 0) return { tookMs: performance.now() - startMs, longestMs }
  }
}

async function sizeOf({ db, place }: TestDatabase): Promise<number> {
  if (db.engine === 'postgres') {
    const text = 'select pg_database_size(current_database()) as bytes'
    const { rows } = await sql.raw<{ bytes: number }>(text).execute(db.read)
    return Number(rows[0]?.bytes)
  }
  const text = 'select page_count * page_size as bytes from pragma_page_count, pragma_page_size'
  const { rows } = await sql.raw<{ bytes: number }>(text).execute(db.read)
  return Math.max(Number(rows[0]?.bytes), statSync(place).size)
}

/**
 * Measures until the returned function is called: the longest time for which the event loop was
 * blocked, and the most processor time that this thread used in such a time. Other work on the
 * machine affects the processor time less.
 */
function watchStalls(): () => Promise<{ longestMs: number; processorMs: number }> {
  const longest = { longestMs: 0, processorMs: 0 }
  let lastMs = performance.now()
  let last = process.threadCpuUsage()
  const look = () => {
    const nowMs = performance.now()
    const now = process.threadCpuUsage()
    const processorMs = (now.user + now.system - last.user - last.system) / 1_000
    longest.longestMs = Math.max(longest.longestMs, nowMs - lastMs)
    longest.processorMs = Math.max(longest.processorMs, processorMs)
    lastMs = nowMs
    last = now
  }
  const timer = setInterval(look, 1)
  return async () => {
    await new Promise((resolve) => setTimeout(resolve, 2))
    look()
    clearInterval(timer)
    return longest
  }
}
