// The stored data of a service, read beside it: rows by SQL, and bytes on the disk.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runSql } from '#test/peers/sql.ts'
import type { World } from '#test/world.ts'

/** The names of all tables. */
export async function tableNames(world: World): Promise<string[]> {
  const text =
    world.app.deps.db.engine === 'postgres'
      ? "select tablename as name from pg_tables where schemaname = 'public'"
      : "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
  return (await runSql(world, text)).map((row) => String(row.name))
}

/** The number of rows of each table that hold a text, in any column; tables without it are left out. */
export async function rowsHolding(world: World, text: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for (const table of await tableNames(world)) {
    // The page numbers of the word index vary.
    const hasLargeNumbers = table.startsWith('search_index')
    const rows = await runSql(world, `select * from ${table}`, { hasLargeNumbers })
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
export async function filesHolding(dataDir: string, text: string | Buffer): Promise<string[]> {
  const names = await readdir(dataDir, { recursive: true, withFileTypes: true })
  const holding: string[] = []
  for (const entry of names) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    if ((await readFile(path)).includes(text)) holding.push(path.slice(dataDir.length + 1))
  }
  return holding.sort()
}

/** Copies the one message of the inbox until there are `count`, as if each had arrived alone. */
export async function multiplyMessage(world: World, inboxId: string, count: number): Promise<void> {
  const [message] = await runSql(world, `select * from messages where inbox_id = '${inboxId}'`)
  const copies: [table: string, where: string][] = [
    ['raw_messages', `id = '${message?.raw_id}'`],
    ['threads', `inbox_id = '${inboxId}'`],
    ['events', `inbox_id = '${inboxId}'`],
    ['messages', `inbox_id = '${inboxId}'`],
  ]
  for (const [table, where] of copies) {
    const [row = {}] = await runSql(world, `select * from ${table} where ${where}`)
    const columns = Object.keys(row).filter((column) => column !== 'sequence')
    const values = columns.map((column) => COPIED[column] ?? column)
    await runSql(
      world,
      `with recursive numbers (i) as (select 2 union all select i + 1 from numbers where i < ${count})
       insert into ${table} (${columns}) select ${values} from ${table}, numbers where ${where}`,
    )
  }
  await runSql(
    world,
    `update inbox_counters set inbound_count = ${count}, last_arrival = ${count}, thread_count = ${count},
     unread_thread_count = ${count} where inbox_id = '${inboxId}'`,
  )
}

const COPIED: Record<string, string> = {
  id: "id || '_' || i",
  raw_id: "raw_id || '_' || i",
  thread_id: "thread_id || '_' || i",
  message_id: "message_id || '_' || i",
  arrival: 'i',
  created_at: 'created_at + i - 1',
  last_message_at: 'last_message_at + i - 1',
  receipt_key: 'null',
}
