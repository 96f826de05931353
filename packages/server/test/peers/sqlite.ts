// SQLite databases that start as copies of the one that the runner prepared.

import { existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'

/** Set by the runner: a database file to copy. */
export const SQLITE_TEMPLATE_VARIABLE = 'TEST_MAILROOM_SQLITE_TEMPLATE'

/** Copies it to the path if nothing is there. For tests that do not depend on how the tables were created. */
export async function prepareSqlite(path: string): Promise<void> {
  const template = process.env[SQLITE_TEMPLATE_VARIABLE]
  if (template !== undefined && !existsSync(path)) await copyFile(template, path)
}
