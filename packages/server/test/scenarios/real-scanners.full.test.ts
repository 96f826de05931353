// Arriving mail before the real rspamd and the real clamd, where the machine has them (Debian: rspamd, clamav-daemon).

import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { deliver } from '#test/scenarios/deliver.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { openWorld, plainMail } from '#test/world.ts'

const missing = ['rspamd', 'clamd'].filter((name) => spawnSync(name, ['--version']).error)
const skip = missing.length > 0 && `the machine has no ${missing.join(' and no ')}`

/** In two halves, so that scanners of this repository find nothing. */
const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR', '-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('')
const GTUBE = ['XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE', '-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X'].join('')

test('rspamd and clamd judge real mail, and their end loses none', { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'scanners-'))
  chmodSync(folder, 0o777)
  const port = await freePort()
  const running = [startClamd(folder), startRspamd(folder, port)]
  const env = {
    MAILROOM_RSPAMD_URL: `http://127.0.0.1:${port}`,
    MAILROOM_CLAMD_URL: join(folder, 'clamd.sock'),
  }
  const world = await openWorld('sqlite', { env })
  try {
    const inbox = await world.inbox()
    const receive = (body: string) =>
      deliver(world, inbox, plainMail({ to: inbox.address, messageId: '<1@x.example>', body }))
    let round = 0
    await until(async () => (await receive(`Round ${round++}.`)).verdict === 'clean')
    const spam = await receive(GTUBE)
    assert.deepEqual([spam.verdict, spam.category, spam.autoReplyable], ['spam', 'spam', false])
    assert.ok((spam.spamScore ?? 0) >= 15)
    const before = (await world.client.messages.list(inbox.id).page()).total
    const raw = plainMail({ to: inbox.address, body: EICAR })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    assert.equal((await world.client.messages.list(inbox.id).page()).total, before)
    const [kept] = (await world.client.quarantine.list().page()).data
    assert.equal(kept?.reason, 'malware')
    await stop(running)
    const alone = await receive('After both have ended.')
    assert.deepEqual([alone.verdict, alone.spamScore, alone.category], [null, null, 'personal'])
    const rules = alone.categoryReasons.map(({ rule }) => rule)
    assert.deepEqual(rules, ['rspamd', 'clamd'])
  } finally {
    await stop(running)
    await world.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

function startClamd(folder: string): ChildProcess {
  const signatures = join(folder, 'signatures')
  mkdirSync(signatures)
  const hex = Buffer.from(EICAR, 'latin1').toString('hex')
  writeFileSync(join(signatures, 'eicar.ndb'), `Eicar-Signature:0:*:${hex}\n`)
  const config = join(folder, 'clamd.conf')
  const lines = [
    `DatabaseDirectory ${signatures}`,
    `LocalSocket ${join(folder, 'clamd.sock')}`,
    'Foreground yes',
  ]
  writeFileSync(config, `${lines.join('\n')}\n`)
  return spawn('clamd', ['-c', config], { stdio: 'ignore', detached: true })
}

function startRspamd(folder: string, port: number): ChildProcess {
  const config = join(folder, 'rspamd.conf')
  const text = `options {
  pidfile = "${join(folder, 'rspamd.pid')}";
  control_socket = "${join(folder, 'rspamd.ctl')}";
  filters = "";
  tempdir = "${folder}";
  gtube_patterns = "all";
  dns { nameserver = ["127.0.0.1:3"]; timeout = 0.1s; retransmits = 1; }
}
logging { type = "console"; level = "error"; }
metric { name = "default"; actions { reject = 15; add_header = 6; greylist = 4; } }
worker "normal" { bind_socket = "127.0.0.1:${port}"; count = 1; }
`
  writeFileSync(config, text)
  const user = process.getuid?.() === 0 ? ['-u', 'nobody', '-g', 'nogroup'] : []
  return spawn('rspamd', ['-f', '-i', ...user, '-c', config], { stdio: 'ignore', detached: true })
}

async function stop(running: readonly ChildProcess[]): Promise<void> {
  for (const child of running) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = once(child, 'exit')
    // With the workers of rspamd, which are in its group.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    await ended
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}
