// Measures many messages in PostgreSQL: the cost of the service's own queries and transactions, in
// today's tables and in partitions, their size on disk, and the cost of their upkeep.

import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { EVENT_MS } from '@mailroom/server/events/model.ts'
import { migratePostgres } from '@mailroom/server/platform/db/postgres.ts'
import { DAY_MS } from '@mailroom/server/platform/units.ts'
import type { Db } from '@mailroom/server/store/tables.ts'
import { openAt } from '@mailroom/server/test/conformance/open-database.ts'
import { startPostgres } from '@mailroom/server/test/peers/postgres.ts'
import pg from 'pg'
import { describeMachine, table } from './figures.ts'
import { fill, type Run } from './scale-fill.ts'
import { drawSamples, type Figures, measure, receive } from './scale-measure.ts'
import { partitionEmpty, partitionings } from './scale-partitions.ts'
import { sizeOf } from './scale-rows.ts'
import {
  describeDrop,
  describeDump,
  describeHotSet,
  describeRemoval,
  describeSizes,
} from './scale-upkeep.ts'

/** The parts of a run, in order. */
const PARTS = ['sizes', 'queries', 'hot', 'together', 'removal', 'dump'] as const

/**
 * Options: `--messages 100000,1000000`, `--layouts today,daily,weekly`, `--rounds 500` per
 * operation, `--parts` as a list, `--postgres URL` of a server's superuser. Databases named
 * `scale_…` are created on that server, and existing ones are used again. Without the URL, a
 * temporary server is started.
 */
export async function scale(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      messages: { type: 'string', default: '100000' },
      layouts: { type: 'string', default: 'today,daily,weekly' },
      rounds: { type: 'string', default: '500' },
      parts: { type: 'string', default: PARTS.join(',') },
      postgres: { type: 'string' },
    },
  })
  const server = values.postgres === undefined ? await startPostgres() : null
  const url = values.postgres ?? server?.url ?? ''
  process.stdout.write(`${describeMachine()}\n`)
  try {
    for (const messages of values.messages.split(',').map(Number)) {
      for (const layout of values.layouts.split(',')) {
        await examine(url, {
          layout,
          messages,
          rounds: Number(values.rounds),
          parts: values.parts.split(','),
        })
      }
    }
  } finally {
    await server?.stop()
  }
}

type Wanted = { layout: string; messages: number; rounds: number; parts: string[] }

async function examine(
  serverUrl: string,
  { layout, messages, rounds, parts }: Wanted,
): Promise<void> {
  const url = new URL(serverUrl)
  url.pathname = `/scale_${layout}_${messages}`
  const isNew = await createDatabase(serverUrl, url.pathname.slice(1))
  const pool = new pg.Pool({ connectionString: url.href, max: 4 })
  // The server may stop before the last connection has closed.
  pool.on('error', () => {})
  const run: Run = async (text) => (await pool.query(text)).rows ?? []
  const tell = (title: string, text: string) =>
    process.stdout.write(
      `\n${layout}, ${messages} messages: ${title}, load ${loadavg()[0]?.toFixed(1)}\n${text}\n`,
    )
  try {
    if (isNew) await makeAndFill(url.href, run, { layout, messages })
    const db = await openAt('postgres', url.href)
    try {
      if (parts.includes('sizes')) tell('sizes', await describeSizes(run, messages))
      if (parts.includes('queries')) {
        tell('one at a time', show(await measure(db, { run, messages, rounds })))
      }
      if (parts.includes('hot')) tell('pages touched', await describeHotSet(db, run, rounds * 10))
      if (parts.includes('together')) tell('receiving', await receiveTogether(db, run))
      if (parts.includes('removal')) {
        tell('removal', await describeRemoval(db, run, Math.ceil(rounds / 10)))
        if (layout !== 'today') tell('removal', await describeDrop(run))
      }
      if (parts.includes('dump')) tell('backup', await describeDump(run))
    } finally {
      await db.close()
    }
  } finally {
    await pool.end()
  }
}

/** Returns false if the database exists already. */
async function createDatabase(serverUrl: string, name: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  try {
    const { rows } = await client.query('select 1 from pg_database where datname = $1', [name])
    if (rows.length === 0) await client.query(`create database ${name}`)
    return rows.length === 0
  } finally {
    await client.end()
  }
}

async function makeAndFill(
  url: string,
  run: Run,
  { layout, messages }: { layout: string; messages: number },
): Promise<void> {
  await migratePostgres(url)
  const days = { fromMs: Date.now() - EVENT_MS, toMs: Date.now() + 2 * DAY_MS }
  if (layout !== 'today') {
    const everyDays = layout === 'daily' ? 1 : 7
    for (const each of partitionings(everyDays)) await partitionEmpty(run, each, days)
  }
  await fill(run, sizeOf(messages))
}

function show(figures: Figures[]): string {
  return table([
    ['operation', 'p50 ms', 'p99 ms', 'pages', 'read from files', 'octets of log'],
    ...figures.map((each) => [
      each.name,
      each.p50Ms.toFixed(2),
      each.p99Ms.toFixed(2),
      each.pages.toFixed(1),
      each.pagesRead.toFixed(1),
      each.walBytes.toFixed(0),
    ]),
  ])
}

const TOGETHER = 8
const TOGETHER_MS = 10_000

/**
 * The rate at which mail is written in several concurrent, durable transactions, and the processor
 * time of this process and, if it is local, of the server. Load on the machine affects processor
 * time less than the rate.
 */
async function receiveTogether(db: Db, run: Run): Promise<string> {
  const samples = await drawSamples(run, 5_000)
  const before = await readProcessorMs(run)
  const ownBefore = process.cpuUsage()
  const endMs = performance.now() + TOGETHER_MS
  let received = 0
  const one = async () => {
    while (performance.now() < endMs) {
      const sample = samples[received++ % samples.length]
      if (sample !== undefined) await receive(db, sample, received % 2 === 0 ? [] : [sample.key])
    }
  }
  await Promise.all(Array.from({ length: TOGETHER }, one))
  const own = process.cpuUsage(ownBefore)
  const ownMs = (own.user + own.system) / 1_000 / received
  const serverMs = ((await readProcessorMs(run)) - before) / received
  return `${((received / TOGETHER_MS) * 1_000).toFixed(0)} messages a second, ${TOGETHER} transactions under way; processor time a message ${serverMs.toFixed(2)} ms of the server and ${ownMs.toFixed(2)} ms of the store in this process`
}

const TICKS_A_SECOND = 100

/** Processor time of the service's connections to this database, as Linux reports it. */
async function readProcessorMs(run: Run): Promise<number> {
  const rows = await run(`select pid from pg_stat_activity
    where datname = current_database() and application_name = 'mailroom'`)
  const times = rows.map(({ pid }) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    return ((Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND) * 1_000
  })
  return times.reduce((sum, time) => sum + time, 0)
}
