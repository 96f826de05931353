// Creating or updating the schema without serving.

import { makePrivateFolder } from '#blobs/durable-folder.ts'
import { migratePostgres } from '#db/postgres.ts'
import { migrateSqlite } from '#db/sqlite.ts'
import { databasePath } from '#open-store.ts'
import { loadSettings } from './load-settings.ts'

/** Applies missing migrations and says which; a second run applies none. */
export async function migrateDatabase(): Promise<void> {
  const { settings } = loadSettings()
  makePrivateFolder(settings.dataDir)
  const applied =
    settings.databaseUrl === null
      ? await migrateSqlite(databasePath(settings))
      : await migratePostgres(settings.databaseUrl)
  const text = applied.length === 0 ? 'The schema is current.' : `Applied ${applied.join(', ')}.`
  process.stdout.write(`${text}\n`)
}
