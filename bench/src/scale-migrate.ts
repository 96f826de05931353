// Moves from today's tables to partitions while the service runs: each table by time becomes the first partition
// of a table with its name, in a moment whatever its size.

import { setTimeout as pause } from 'node:timers/promises'
import { findUnsettledSince } from '@mailroom/server/events/event-rows.ts'
import { DAY_MS } from '@mailroom/server/platform/units.ts'
import type { Db } from '@mailroom/server/schema/tables.ts'
import type { Run } from './scale-fill.ts'
import { drawSamples, receive, type Sample } from './scale-measure.ts'
import {
  dayOf,
  idAt,
  type Partitioning,
  partitionings,
  readWhole,
  type Whole,
  withColumn,
} from './scale-partitions.ts'

type ByTime = Extract<Partitioning, { prefix: string }>

const LOOK_MS = 50
const ATTEMPTS_MAX = 20

/**
 * Partitions the tables with a time while mail arrives and the log is polled: rows created from the next day on go to
 * new partitions. The last step of each table blocks others for its whole duration.
 */
export async function describeMigration(db: Db, run: Run): Promise<string> {
  const meanwhile = watch(db, await drawSamples(run, 1_000))
  const lines: string[] = []
  try {
    for (const partitioning of partitionings(7)) {
      if (!('prefix' in partitioning)) continue
      const whole = await readWhole(run, partitioning.table)
      for (const sql of [...preparing(partitioning), cutOver(partitioning, whole)]) {
        meanwhile.slowestMs = 0
        meanwhile.lagMs = 0
        const startMs = performance.now()
        await withPatience(run, sql)
        const tookMs = performance.now() - startMs
        const step = sql.startsWith('begin') ? `the cut over of ${partitioning.table}` : sql
        const line = `${tookMs.toFixed(0)} ms, mail at most ${meanwhile.slowestMs.toFixed(0)} ms, log ${meanwhile.lagMs.toFixed(0)} ms behind: ${step.slice(0, 80)}`
        process.stderr.write(`${line}\n`)
        lines.push(line)
      }
    }
  } finally {
    await meanwhile.end()
  }
  const { arrived, refused } = meanwhile
  return [...lines, `meanwhile ${arrived} messages arrived and ${refused} were refused`].join('\n')
}

/** A step that did not get its lock delayed nobody for long, and is retried. */
async function withPatience(run: Run, sql: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await run(sql)
      return
    } catch (error) {
      await run('rollback')
      if ((error as { code?: string }).code !== '55P03' || attempt === ATTEMPTS_MAX) throw error
      await pause(LOOK_MS * attempt)
    }
  }
}

/** Sends mail, one message after the other, and measures how long readers of the log wait. */
function watch(db: Db, samples: Sample[]) {
  let isOver = false
  const seen = { slowestMs: 0, lagMs: 0, arrived: 0, refused: 0 }
  const arriving = async () => {
    for (let round = 0; !isOver; round++) {
      const sample = samples[round % samples.length]
      if (sample === undefined) return
      const startMs = performance.now()
      await receive(db, sample, []).catch(() => (seen.refused += 1))
      seen.arrived += 1
      seen.slowestMs = Math.max(seen.slowestMs, performance.now() - startMs)
    }
  }
  const looking = async () => {
    for (; !isOver; await pause(LOOK_MS)) {
      const since = await findUnsettledSince(db).catch(() => null)
      if (since !== null) seen.lagMs = Math.max(seen.lagMs, Date.now() - since)
    }
  }
  const both = Promise.all([arriving(), looking()])
  return Object.assign(seen, {
    async end() {
      isOver = true
      await both
    },
  })
}

function preparing({ table, prefix }: ByTime): string[] {
  return [
    // Existing rows are not checked yet, so the lock is short.
    `alter table ${table} add constraint ${table}_until check (id < '${idAt(prefix, midnight())}') not valid`,
    // Reads all rows, under a lock that lets others read and write.
    `alter table ${table} validate constraint ${table}_until`,
    // The key of a partitioned table must contain its partition column.
    ...(table === 'events'
      ? ['create unique index concurrently events_by_place on events (sequence, id)']
      : []),
  ]
}

/** One transaction that changes only the catalogue: no row is read or written, no index created. */
function cutOver({ table, prefix, everyDays }: ByTime, { key, keyText, indexes }: Whole): string {
  const old = `${table}_before`
  const isLog = table === 'events'
  const later = Array.from({ length: 3 }, (_, index) => {
    const startMs = midnight() + index * everyDays * DAY_MS
    return `create table ${table}_${dayOf(startMs)} partition of ${table}
      for values from ('${idAt(prefix, startMs)}') to ('${idAt(prefix, startMs + everyDays * DAY_MS)}')`
  })
  return [
    'begin',
    `set local lock_timeout = '2s'`,
    `lock table ${table} in access exclusive mode`,
    `alter table ${table} rename to ${old}`,
    isLog
      ? `alter table ${old} drop constraint ${key}, add constraint ${old}_pkey primary key using index events_by_place`
      : `alter table ${old} rename constraint ${key} to ${old}_pkey`,
    ...indexes.map((text) => `alter index ${nameOf(text)} rename to ${nameOf(text)}_before`),
    `create table ${table} (like ${old} including defaults) partition by range (id)`,
    ...(isLog ? [MOVE_SEQUENCE] : []),
    `alter table ${table} attach partition ${old} for values from (minvalue) to ('${idAt(prefix, midnight())}')`,
    `alter table ${old} drop constraint ${table}_until`,
    // An equal index is taken over instead of created again.
    `alter table ${table} add constraint ${key} ${withColumn(keyText, 'id')}`,
    ...indexes,
    ...later,
    `create table ${table}_other partition of ${table} default`,
    'commit',
  ].join(';\n')
}

/** The new table continues the sequence of the old one. */
const MOVE_SEQUENCE = `do $$ begin
    execute format('alter table events alter column sequence add generated always as identity (start with %s)',
      (select last_value + 1 from events_sequence_seq));
    alter table events_before alter column sequence drop identity;
  end $$`

/** Where the new partitions begin; earlier rows stay in the old table. */
function midnight(): number {
  return (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS
}

function nameOf(indexText: string): string {
  return /INDEX (\S+) ON/.exec(indexText)?.[1] ?? ''
}
