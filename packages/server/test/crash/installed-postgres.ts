// The PostgreSQL that this machine has installed, with the programs that dump and restore: the one that
// comes from npm has only the server. Knows where Debian and Homebrew put it.

import { execFile, execFileSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findFreePorts } from '#test/peers/free-port.ts'

const run = promisify(execFile)
const PLACES = ['/usr/lib/postgresql/*/bin', '/opt/homebrew/opt/postgresql@*/bin']

/** The folder of its programs, of the newest version; null when none is installed. */
export function findInstalledPostgres(): string | null {
  const found = PLACES.flatMap((place) => globSync(`${place}/pg_restore`))
    .map((path) => dirname(path))
    .filter((folder) => existsSync(join(folder, 'postgres')))
  return found.sort().at(-1) ?? null
}

export type InstalledPostgres = {
  /** Of its database `mailroom`, which is empty. */
  readonly url: string
  stop(): Promise<void>
}

/** Starts a cluster of its own by the programs in `folder`; as `nobody` where it may not be root. */
export async function startInstalledPostgres(folder: string): Promise<InstalledPostgres> {
  const home = await mkdtemp(join(tmpdir(), 'mailroom-postgres-'))
  const isRoot = process.getuid?.() === 0
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  const owner = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {}
  if (owner.uid !== undefined) await chown(home, owner.uid, owner.gid)
  const data = join(home, 'data')
  const call = (name: string, ...args: string[]) =>
    run(join(folder, name), args, { ...owner, cwd: home, env: { LC_ALL: 'C' } })
  const [port = 0] = await findFreePorts(1)
  await call('initdb', `--pgdata=${data}`, '--username=postgres', '--auth=trust', '--encoding=UTF8')
  const options = `-c port=${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`
  const log = join(home, 'log')
  await call(
    'pg_ctl',
    `--pgdata=${data}`,
    `--log=${log}`,
    `--options=${options}`,
    '--wait',
    'start',
  )
  await call('createdb', '--host=127.0.0.1', `--port=${port}`, '--username=postgres', 'mailroom')
  return {
    url: `postgres://postgres@127.0.0.1:${port}/mailroom`,
    async stop() {
      await call('pg_ctl', `--pgdata=${data}`, '--mode=immediate', 'stop').catch(() => {})
      await rm(home, { recursive: true, force: true })
    },
  }
}
