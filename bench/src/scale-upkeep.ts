// Measures the size and upkeep of a filled database: sizes, the pages that arriving mail keeps in
// memory, removal of expired rows and partitions, vacuum, and reading everything for a backup.

import { EVENT_MS } from '@mailroom/server/events/model.ts'
import { DAY_MS } from '@mailroom/server/platform/units.ts'
import { purgeExpiredStep } from '@mailroom/server/removal/store/purge.ts'
import type { Db } from '@mailroom/server/store/tables.ts'
import { table } from './figures.ts'
import type { Run } from './scale-fill.ts'
import { drawSamples, receive } from './scale-measure.ts'
import { dayOf, partitionings } from './scale-partitions.ts'

const MIB = 2 ** 20

/** Sizes of the large tables and of their indexes, with partitions added up. */
export async function describeSizes(run: Run, messages: number): Promise<string> {
  const rows = await run(`
    with recursive parts as (
      select oid as top, oid from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'i', 'I') and not relispartition
      union all
      select parts.top, inhrelid from parts join pg_inherits on inhparent = parts.oid
    )
    select named.relname as name, coalesce(indrelid::regclass::text, named.relname) as "table",
      sum(pg_relation_size(parts.oid) + case when each.relkind = 'r' and each.reltoastrelid > 0
        then pg_total_relation_size(each.reltoastrelid) else 0 end)::bigint as bytes
    from parts join pg_class as named on named.oid = parts.top join pg_class as each on each.oid = parts.oid
      left join pg_index on indexrelid = parts.top
    where named.relname not like 'scale%'
    group by 1, 2 order by max(sum(pg_relation_size(parts.oid))) over (partition by 2), 3 desc`)
  const large = rows
    .map((row) => ({ name: String(row.name), bytes: Number(row.bytes) }))
    .filter(({ bytes }) => bytes / messages > 5)
    .sort((a, b) => b.bytes - a.bytes)
  const all = rows.reduce((sum, row) => sum + Number(row.bytes), 0)
  return table([
    ['table or index', 'MiB', 'octets a message'],
    ...large.map(({ name, bytes }) => [
      name,
      (bytes / MIB).toFixed(0),
      (bytes / messages).toFixed(0),
    ]),
    ['all', (all / MIB).toFixed(0), (all / messages).toFixed(0)],
  ])
}

/**
 * The pages that `count` messages to inboxes all over the database touch, starting with an empty
 * cache.
 */
export async function describeHotSet(db: Db, run: Run, count: number): Promise<string> {
  const samples = await drawSamples(run, count)
  await run('create extension if not exists pg_buffercache')
  await run('checkpoint')
  await run('select pg_buffercache_evict_all()')
  for (const [index, sample] of samples.entries()) {
    await receive(db, sample, index % 2 === 0 ? [] : [sample.key])
  }
  const rows = await run(`
    select coalesce(regexp_replace(relname, '_[0-9]{1,8}(_|$)', '\\1'), '') as name, count(*) as pages
    from pg_buffercache as cached join pg_class on pg_relation_filenode(pg_class.oid) = cached.relfilenode
    where reldatabase = (select oid from pg_database where datname = current_database())
      and relnamespace = 'public'::regnamespace
    group by 1 having count(*) >= 50 order by 2 desc`)
  return table([
    ['table or index', 'pages', 'MiB'],
    ...rows.map(({ name, pages }) => [
      String(name),
      String(pages),
      ((Number(pages) * 8_192) / MIB).toFixed(1),
    ]),
  ])
}

/**
 * The service's own removal of a day's rows, in at most `steps` steps, and the vacuum afterwards.
 */
export async function describeRemoval(db: Db, run: Run, steps: number): Promise<string> {
  const untilMs = Date.now() - EVENT_MS + DAY_MS / 2
  const count = async () => {
    const [row] = await run(`select
      (select count(*) from events where occurred_at <= ${untilMs}) +
      (select count(*) from webhook_deliveries where created_at <= ${untilMs}) as rows`)
    return Number(row?.rows)
  }
  const expired = await count()
  const [before] = await run('select pg_current_wal_insert_lsn() as lsn')
  const startMs = performance.now()
  for (let step = 0; step < steps; step++) {
    const { isDone } = await db.write(purgeExpiredStep, { nowMs: untilMs + EVENT_MS })
    if (isDone) break
  }
  const tookMs = performance.now() - startMs
  const [after] = await run(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '${before?.lsn}') as bytes`,
  )
  const rows = expired - (await count())
  const lines = [
    `${rows} of ${expired} events and webhook deliveries: ${tookMs.toFixed(0)} ms, ${((rows / tookMs) * 1_000).toFixed(0)} rows a second, ${(Number(after?.bytes) / rows).toFixed(0)} octets of log a row`,
  ]
  for (const name of ['events', 'webhook_deliveries', 'messages']) {
    const tookS = await timed(() => run(`vacuum ${name}`))
    lines.push(`vacuum ${name}: ${tookS.toFixed(1)} s`)
  }
  return lines.join('\n')
}

/** The same removal by partitions: drops the oldest complete day of both logs. */
export async function describeDrop(run: Run): Promise<string> {
  const lines: string[] = []
  for (const name of ['events', 'webhook_deliveries']) {
    const parts = await run(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = '${name}'::regclass order by 1`,
    )
    const days = parts.map((part) => String(part.name)).filter((part) => /_\d{8}$/.test(part))
    const oldest = days.find((part) => part > `${name}_${dayOf(Date.now() - 29 * DAY_MS)}`)
    const [counted] = await run(`select count(*) as rows from ${oldest}`)
    const [before] = await run('select pg_current_wal_insert_lsn() as lsn')
    const detachS = await timed(() =>
      run(`alter table ${name} detach partition ${oldest} concurrently`),
    )
    const dropS = await timed(() => run(`drop table ${oldest}`))
    const [after] = await run(
      `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '${before?.lsn}') as bytes`,
    )
    lines.push(
      `${oldest}, ${counted?.rows} rows: detached in ${(detachS * 1_000).toFixed(0)} ms, dropped in ${(dropS * 1_000).toFixed(0)} ms, ${after?.bytes} octets of log`,
    )
  }
  return lines.join('\n')
}

/** Reads every row as text, as a dump does, without keeping any. */
export async function describeDump(run: Run): Promise<string> {
  let bytes = 0
  const tookS = await timed(async () => {
    for (const { table: name } of partitionings(7)) {
      await run(`copy (select * from ${name}) to program 'cat > /dev/null'`)
      const [size] = await run(`select pg_table_size('${name}') +
        coalesce((select sum(pg_table_size(relid)) from pg_partition_tree('${name}')), 0) as bytes`)
      bytes += Number(size?.bytes)
    }
  })
  return `all rows of the six large tables read and written out as text: ${tookS.toFixed(0)} s for ${(bytes / MIB).toFixed(0)} MiB of tables`
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return (performance.now() - startMs) / 1_000
}
