// A machine is lost with its PostgreSQL: the backup gives another machine everything of its time, with the same keys, and
// mail flows on.

import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, globSync, readdirSync } from 'node:fs'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { findFreePorts } from '#test/peers/free-port.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { plainMail } from '#test/world.ts'
import { Service } from './service.ts'

const WAIT_MS_MAX = 60_000
/** More than a row takes. */
const LARGE = 'A line of a long letter.\r\n'.repeat(8_000)
const run = promisify(execFile)
/** The PostgreSQL from npm lacks pg_dump and pg_restore: Debian and Homebrew install them here. */
const PLACES = ['/usr/lib/postgresql/*/bin', '/opt/homebrew/opt/postgresql@*/bin']
const folder = findInstalledPostgres()
const skip = folder === null ? 'pg_dump and its server are not installed' : false

test('a service is restored on an empty machine and goes on', { skip }, async (t) => {
  if (folder === null) return
  const env = { MAILROOM_SECRET_KEY: hash('sha256', 'of this test') }
  process.env.PATH = `${folder}:${process.env.PATH}`
  const [lostServer, newServer] = [
    await startInstalledPostgres(folder),
    await startInstalledPostgres(folder),
  ]
  t.after(() => newServer.stop())
  t.after(() => lostServer.stop())
  const lost = await Service.start({ databaseUrl: lostServer.url, env })
  t.after(() => lost.close())
  const [inbox, other] = [await lost.client.inboxes.create(), await lost.client.inboxes.create()]
  const receive = async (service: Service, subject: string, body?: string) => {
    const sender = await service.sender()
    const raw = plainMail({ subject, ...(body && { body }) })
    assert.equal((await sender.send({ to: inbox.address, raw })).code, 250)
    await sender.quit()
  }
  await receive(lost, 'small')
  await receive(lost, 'large', LARGE)
  const before = await contentOf(lost, inbox.id)
  const keys = (await lost.command('admin', 'dkim', 'list')).output
  const backup = join(lost.dataDir, '../backup')
  const { code, errors } = await lost.run('admin', 'backup', backup)
  assert.equal(code, 0, errors)
  assert.ok(readdirSync(backup).includes('mailroom.dump'))
  await receive(lost, 'after the backup')
  await lost.kill()
  await lostServer.stop()

  const dump = join(backup, 'mailroom.dump')
  const restore = ['--no-owner', '--exit-on-error', `--dbname=${newServer.url}`, dump]
  execFileSync('pg_restore', restore, { stdio: 'pipe' })
  const restored = await Service.start({ databaseUrl: newServer.url, dataDir: backup, env })
  t.after(() => restored.close())
  assert.deepEqual(await contentOf(restored, inbox.id), before)
  assert.equal((await restored.command('admin', 'dkim', 'list')).output, keys)

  await receive(restored, 'on the new machine')
  const { client } = restored
  await client.inboxes.send(other.id, { to: inbox.address, subject: 'sent', body: 'A body.' })
  await until(
    async () => (await contentOf(restored, inbox.id)).length >= before.length + 2,
    WAIT_MS_MAX,
  )
  assert.equal((await restored.stop()).code, 0)
})

/** Each message with a digest of its octets, oldest first. */
async function contentOf(service: Service, inboxId: string): Promise<string[]> {
  const { data } = await service.client.messages.list(inboxId).page()
  const lines = data.map(async ({ id, subject }) => {
    const response = await fetch(`${service.baseUrl}/v1/messages/${id}/raw`, {
      headers: { authorization: `Bearer ${service.environment.MAILROOM_BOOTSTRAP_API_KEY}` },
    })
    assert.equal(response.status, 200)
    return `${subject} ${hash('sha256', Buffer.from(await response.arrayBuffer()))}`
  })
  return (await Promise.all(lines)).reverse()
}

/** Folder of the newest version's programs; null when none is installed. */
function findInstalledPostgres(): string | null {
  const found = PLACES.flatMap((place) => globSync(`${place}/pg_restore`))
    .map((path) => dirname(path))
    .filter((folder) => existsSync(join(folder, 'postgres')))
  return found.sort().at(-1) ?? null
}

type InstalledPostgres = {
  /** URL of the empty database `mailroom`. */
  readonly url: string
  stop(): Promise<void>
}

/** Starts a cluster with the programs in `folder`, as `nobody` for root. */
async function startInstalledPostgres(folder: string): Promise<InstalledPostgres> {
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
