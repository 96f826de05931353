// Parts that all test files of a run share: one PostgreSQL, one certificate, databases to copy, the writer thread in
// one file, and a folder in memory.

import { chmod, mkdtemp, readFile, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { migratePostgres } from '#platform/db/postgres.ts'
import { migrateSqlite } from '#platform/db/sqlite.ts'
import { guard } from '#test/crash/guard.ts'
import { makeTestCertificate } from '#test/peers/certificate.ts'
import {
  createTestDatabase,
  POSTGRES_TEMPLATE_VARIABLE,
  POSTGRES_URL_VARIABLE,
  startPostgres,
} from '#test/peers/postgres.ts'
import { SQLITE_TEMPLATE_VARIABLE } from '#test/peers/sqlite.ts'

/** The module that writer threads run; `together.ts` uses it instead of the sources. */
export const WRITER_VARIABLE = 'TEST_MAILROOM_WRITER'

const MEMORY = '/dev/shm'
/** Files of a whole run take up to three GiB; the rest of the memory is for its processes. */
const FREE_BYTES_MIN = 8 * 2 ** 30
/** Accessible to the user that PostgreSQL runs as. */
const SHARED = 0o755

/** Passes the parts to the test processes by the environment; the returned function removes everything. */
export async function setUp(): Promise<{ folder: string; tearDown(): Promise<void> }> {
  const place = (await hasRoom()) ? MEMORY : tmpdir()
  const folder = await mkdtemp(join(place, `mailroom-tests-${process.pid}-`))
  // If this process is killed: runs after the watchdog of PostgreSQL.
  const lift = guard('sleep 15; rm -rf "$1"', folder)
  await chmod(folder, SHARED)
  process.env.TMPDIR = folder
  const postgres = await startPostgres()
  process.env[POSTGRES_URL_VARIABLE] = postgres.url
  const tearDown = async () => {
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
    lift()
  }
  try {
    const template = await createTestDatabase(postgres.url)
    await migratePostgres(template)
    process.env[POSTGRES_TEMPLATE_VARIABLE] = new URL(template).pathname.slice(1)
    process.env[SQLITE_TEMPLATE_VARIABLE] = join(folder, 'template.db')
    await migrateSqlite(join(folder, 'template.db'))
    await makeTestCertificate()
    process.env[WRITER_VARIABLE] = await bundleWriter(folder)
    return { folder, tearDown }
  } catch (error) {
    await tearDown()
    throw error
  }
}

async function hasRoom(): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(MEMORY)
    const meminfo = await readFile('/proc/meminfo', 'utf8')
    const availableBytes = Number(/MemAvailable: +(\d+) kB/.exec(meminfo)?.[1]) * 1_024
    return Math.min(bavail * bsize, availableBytes) >= FREE_BYTES_MIN
  } catch {
    return false
  }
}

/** One file instead of some three hundred, which took half of the time to open a service. */
async function bundleWriter(folder: string): Promise<string> {
  const outfile = join(folder, 'sqlite-writer.mjs')
  await build({
    entryPoints: [fileURLToPath(import.meta.resolve('#app/sqlite-writer-entry.ts'))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  })
  return pathToFileURL(outfile).href
}
