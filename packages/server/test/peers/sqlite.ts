// Databases of SQLite that start as the one that the runner made.

import { existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'

/** Set by the runner: a database file to copy. */
export const SQLITE_TEMPLATE_VARIABLE = 'TEST_MAILROOM_SQLITE_TEMPLATE'

/** Puts it there where nothing is yet. For whoever does not care how its tables came to be. */
export async function prepareSqlite(path: string): Promise<void> {
  const template = process.env[SQLITE_TEMPLATE_VARIABLE]
  if (template !== undefined && !existsSync(path)) await copyFile(template, path)
}
