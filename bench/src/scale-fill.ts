// Fills the tables of the service with many messages, as if they had arrived evenly over the time
// for which events are kept. The database itself writes the rows, in its own order, and indexes
// last.

import { largeRows, type Size, smallRows, TOTALS } from './scale-rows.ts'

/** Runs SQL on a separate connection. */
export type Run = (text: string) => Promise<Record<string, unknown>[]>

/** Empties and fills every table, with `atOnce` statements in parallel. */
export async function fill(run: Run, size: Size, atOnce = 3): Promise<void> {
  for (const statement of smallRows(size)) await run(statement)
  await run('analyze scale_ticks, scale_inboxes')
  const rows = largeRows(size)
  const { indexes, references } = await dropIndexes(run, Object.keys(rows))
  const filling = Object.entries(rows).map(
    // Rows written in the transaction that empties the table need not be logged.
    ([table, values]) => `begin; truncate ${table}; insert into ${table} ${values}; commit`,
  )
  for (const statements of [filling, indexes, references]) await sideBySide(run, statements, atOnce)
  for (const statement of TOTALS) await run(statement)
  await run('vacuum (analyze)')
}

/**
 * Removes the indexes and primary keys of these tables and the foreign keys that refer to them.
 * Returns the statements that recreate them, with `references` last.
 */
async function dropIndexes(run: Run, tables: string[]) {
  const names = tables.map((table) => `'${table}'`).join(', ')
  const constraints = await run(`
    select conrelid::regclass::text as "table", conname as name, contype as type,
      pg_get_constraintdef(oid) as text
    from pg_constraint where contype = 'p' and conrelid::regclass::text in (${names})
      or contype = 'f' and confrelid::regclass::text in (${names}) order by contype`)
  for (const { table, name } of constraints) {
    await run(`alter table ${table} drop constraint ${name}`)
  }
  const indexes = await run(`
    select indexname as name, replace(indexdef, ' ON ONLY ', ' ON ') as text
    from pg_indexes where schemaname = 'public' and tablename in (${names})`)
  for (const { name } of indexes) await run(`drop index ${name}`)
  const made = constraints.map(({ table, name, text, type }) => {
    return { type, text: `alter table ${table} add constraint ${name} ${text}` }
  })
  const textsOf = (type: string) =>
    made.filter((each) => each.type === type).map(({ text }) => text)
  return {
    indexes: [...textsOf('p'), ...indexes.map(({ text }) => String(text))],
    references: textsOf('f'),
  }
}

async function sideBySide(run: Run, statements: string[], atOnce: number): Promise<void> {
  const left = [...statements]
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const startMs = performance.now()
      await run(next)
      const tookS = ((performance.now() - startMs) / 1_000).toFixed(0)
      process.stderr.write(`${tookS} s: ${next.replace(/\s+/g, ' ').slice(0, 78)}\n`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
