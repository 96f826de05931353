// What a service keeps, looked at from beside it: rows by SQL, and bytes as they lie on the disk.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import type { World } from '#test/world.ts'

type Rows = Record<string, unknown>[]

/** Runs a statement on the service's database as an operator would, by hand. */
export async function runSql(world: World, text: string): Promise<Rows> {
  if (world.app.deps.db.engine === 'postgres') {
    return (await sql.raw<Record<string, unknown>>(text).execute(world.app.deps.db.read)).rows
  }
  const database = new DatabaseSync(join(world.dataDir, 'mailroom.db'), { timeout: 5_000 })
  try {
    return database.prepare(text).all()
  } finally {
    database.close()
  }
}

/** The names of all tables. */
export async function tableNames(world: World): Promise<string[]> {
  const text =
    world.app.deps.db.engine === 'postgres'
      ? "select tablename as name from pg_tables where schemaname = 'public'"
      : "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
  return (await runSql(world, text)).map((row) => String(row.name))
}

/** In how many rows of which table a text occurs, in any column; tables without it are left out. */
export async function rowsHolding(world: World, text: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for (const table of await tableNames(world)) {
    const rows = await runSql(world, `select * from ${table}`)
    const holding = rows.filter((row) =>
      Object.values(row).some((value) => textOf(value).includes(text)),
    )
    if (holding.length > 0) found[table] = holding.length
  }
  return found
}

function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
}

/** Files of the data directory, relative to it, that hold the text. */
export async function filesHolding(dataDir: string, text: string): Promise<string[]> {
  const names = await readdir(dataDir, { recursive: true, withFileTypes: true })
  const holding: string[] = []
  for (const entry of names) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    if ((await readFile(path)).includes(text)) holding.push(path.slice(dataDir.length + 1))
  }
  return holding.sort()
}
