// The same tables in partitions: by time (which ids contain) for rows that are read and removed by
// time, and by account for other rows.

import { DAY_MS } from '@mailroom/server/platform/units.ts'
import type { Run } from './scale-fill.ts'

export type Partitioning = { table: string; column: string } & (
  | { prefix: string; everyDays: number }
  | { modulus: number }
)

/** The large tables, with the logs of events and of webhooks in partitions of `everyDays` days. */
export function partitionings(everyDays: number): Partitioning[] {
  return [
    { table: 'events', column: 'id', prefix: 'evt', everyDays },
    { table: 'webhook_deliveries', column: 'id', prefix: 'dlv', everyDays },
    { table: 'deliveries', column: 'id', prefix: 'dlv', everyDays: 7 },
    // The table has no account, because messages of several accounts may refer to the same bytes.
    { table: 'raw_messages', column: 'id', prefix: 'raw', everyDays: 7 },
    { table: 'messages', column: 'account_id', modulus: 16 },
    { table: 'threads', column: 'account_id', modulus: 16 },
  ]
}

/** Recreates an empty table with partitions for a range of time. */
export async function partitionEmpty(
  run: Run,
  partitioning: Partitioning,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<void> {
  const { table, column } = partitioning
  const whole = await readWhole(run, table)
  const method = 'modulus' in partitioning ? 'hash' : 'range'
  await run(`create table ${table}_parts
    (like ${table} including defaults including identity) partition by ${method} (${column})`)
  // The foreign keys that refer to the table are dropped too.
  await run(`drop table ${table} cascade`)
  await run(`alter table ${table}_parts rename to ${table}`)
  for (const statement of partitionsOf(partitioning, { fromMs, toMs })) await run(statement)
  await run(`alter table ${table} add constraint ${whole.key} ${withColumn(whole.keyText, column)}`)
  for (const text of whole.indexes) {
    await run(text.includes('UNIQUE') ? withColumn(text, column) : text)
  }
}

type Whole = { key: string; keyText: string; indexes: string[] }

/** The statements that create the primary key of a table and its other indexes. */
async function readWhole(run: Run, table: string): Promise<Whole> {
  const [key] = await run(`select conname as name, pg_get_constraintdef(oid) as text
    from pg_constraint where contype = 'p' and conrelid = '${table}'::regclass`)
  const indexes = await run(`select indexdef as text from pg_indexes
    where schemaname = 'public' and tablename = '${table}' and indexname <> '${key?.name}'`)
  return {
    key: String(key?.name),
    keyText: String(key?.text),
    indexes: indexes.map(({ text }) => String(text)),
  }
}

function partitionsOf(
  partitioning: Partitioning,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): string[] {
  const { table } = partitioning
  if ('modulus' in partitioning) {
    const { modulus } = partitioning
    return Array.from(
      { length: modulus },
      (_, remainder) => `create table ${table}_${remainder} partition of ${table}
        for values with (modulus ${modulus}, remainder ${remainder})`,
    )
  }
  const { prefix, everyDays } = partitioning
  const days = rangeOfDays(fromMs, toMs, everyDays)
  return [
    `create table ${table}_before partition of ${table} for values from (minvalue) to ('${idAt(prefix, days[0] ?? 0)}')`,
    ...days.slice(1).map((endMs, index) => {
      const startMs = days[index] ?? 0
      return `create table ${table}_${dayOf(startMs)} partition of ${table}
        for values from ('${idAt(prefix, startMs)}') to ('${idAt(prefix, endMs)}')`
    }),
  ]
}

/** The smallest id of a time: the first ten base32 characters of a UUIDv7 are its time. */
function idAt(prefix: string, timeMs: number): string {
  const digits = '0123456789abcdefghjkmnpqrstvwxyz'
  const letters = Array.from({ length: 10 }, (_, index) => {
    return digits[Math.floor(timeMs / 32 ** (9 - index)) % 32]
  })
  return `${prefix}_${letters.join('')}`
}

/** A date in the format of partition names. */
export function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10).replaceAll('-', '')
}

function rangeOfDays(fromMs: number, toMs: number, everyDays: number): number[] {
  const firstMs = Math.floor(fromMs / DAY_MS) * DAY_MS
  const count = Math.ceil((toMs - firstMs) / (everyDays * DAY_MS)) + 1
  return Array.from({ length: count }, (_, index) => firstMs + index * everyDays * DAY_MS)
}

/** A unique index of a partitioned table must contain the partition column. */
function withColumn(text: string, column: string): string {
  const opening = text.lastIndexOf('(')
  const columns = text.slice(opening + 1, text.lastIndexOf(')')).split(', ')
  if (columns.includes(column)) return text
  return `${text.slice(0, text.lastIndexOf(')'))}, ${column})`
}
