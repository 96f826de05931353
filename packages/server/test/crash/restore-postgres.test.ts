// A machine that is lost with its PostgreSQL: from the backup another one has everything that was there
// when it was made, with the same keys, and mail flows on.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { plainMail } from '#test/world.ts'
import { findInstalledPostgres, startInstalledPostgres } from './installed-postgres.ts'
import { Service } from './service.ts'

const WAIT_MS_MAX = 60_000
/** More than a row takes. */
const LARGE = 'A line of a long letter.\r\n'.repeat(8_000)
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
  const keys = (await lost.command('dkim', 'list')).output
  const backup = join(lost.dataDir, '../backup')
  const { code, errors } = await lost.run('backup', backup)
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
  assert.equal((await restored.command('dkim', 'list')).output, keys)

  await receive(restored, 'on the new machine')
  const { client } = restored
  await client.inboxes.send(other.id, { to: inbox.address, subject: 'sent', body: 'A body.' })
  const deadlineMs = performance.now() + WAIT_MS_MAX
  while ((await contentOf(restored, inbox.id)).length < before.length + 2) {
    assert.ok(performance.now() < deadlineMs, 'what was sent did not arrive')
    await sleep(100)
  }
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
