// The first moments of the service and the commands beside it, as an operator meets them.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { plainMail } from '#test/world.ts'
import { assertNothingLost, Intake, seededRandom } from './intake.ts'
import { Service, type ServiceOptions } from './service.ts'

const STARTS = sizeOf('TEST_MAILROOM_STARTS', { usual: 1, long: 5 })
/** The aim is 1.5 s, alone; a connection tried in vain at the start takes twice as long as this. */
const READY_MS_MAX = 60_000
const IDLE_MS = 3_000
/** It takes 165 to 168, of which 62 are the program's file. */
const IDLE_MEBIBYTES_MAX = 175
/** Of each thread that receives mail. */
const THREAD_MEBIBYTES_MAX = 40
/** Acknowledged before the backup; each of the clients waits between two of them. */
const BACKED_UP = sizeOf('TEST_MAILROOM_BACKED_UP', { usual: 40, long: 100 })
const GAP_MS = 20
const INTAKE_MS_MAX = 60_000
const CHECKOUT = fileURLToPath(new URL('../../../../', import.meta.url))

/** Started by the first test that needs it, and there for all after it. */
let service: Service
before(async () => {
  service = await Service.prepare({ makesCertificate: true })
})
after(() => service.close())

suite('a start on an empty directory', () => {
  // As after an installation, whatever was started from this checkout before.
  before(async () => {
    const warming = await Service.prepare()
    const { code, errors } = await warming.run('warm-up')
    await warming.close()
    assert.equal(code, 0, errors)
  })

  test('is ready in time, as a program and through npm', async (t) => {
    const first = Math.round(await service.start())
    const direct = [first, ...(await measureStarts(STARTS - 1, { makesCertificate: true }))]
    const npm = await measureStarts(STARTS, { folder: CHECKOUT, wrap: () => ['npm', 'start'] })
    t.diagnostic(`ready after ${direct.join(', ')} ms; through npm after ${npm.join(', ')} ms`)
    // The quickest of each: whatever else the machine does only adds.
    assert.ok(Math.min(...direct) < READY_MS_MAX)
    assert.ok(Math.min(...npm) < READY_MS_MAX)
  })

  test('leaves an idle service that is small', {
    skip: process.platform !== 'linux',
  }, async (t) => {
    await startOnce()
    const single = await Service.start({ env: { MAILROOM_INTAKE_THREADS: '0' } })
    t.after(() => single.close())
    await sleep(IDLE_MS)
    for (const { pid, settings } of [service, single]) {
      const { intakeThreads: threads } = settings
      const status = await readFile(`/proc/${pid}/status`, 'utf8')
      const mebibytes = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_024
      t.diagnostic(
        `${Math.round(mebibytes)} MiB resident with ${threads} threads that receive mail`,
      )
      assert.ok(mebibytes < IDLE_MEBIBYTES_MAX + threads * THREAD_MEBIBYTES_MAX)
    }
  })

  test('with wrong settings ends with exit code 1 and names each mistake', async (t) => {
    const wrong = await Service.prepare({
      env: {
        MAILROOM_HTTP_PORT: 'eighty',
        MAILROOM_INBOX_DOMAIN: 'not a domain',
        MAILROOM_ROLES: 'http,cook',
        MAILROOM_LIMIT_SENDS_PER_DAY: '-1',
      },
    })
    t.after(() => wrong.close())
    const { code, errors } = await wrong.run('serve')
    assert.equal(code, 1)
    for (const name of ['HTTP_PORT', 'INBOX_DOMAIN', 'ROLES', 'LIMIT_SENDS_PER_DAY']) {
      assert.match(errors, new RegExp(`MAILROOM_${name}`))
    }
  })

  test('on a port that is taken ends with exit code 1 and says so', async (t) => {
    await startOnce()
    const second = await Service.prepare({ env: { MAILROOM_HTTP_PORT: String(service.httpPort) } })
    t.after(() => second.close())
    const { code, errors } = await second.run('serve')
    assert.equal(code, 1)
    assert.match(errors, new RegExp(`${service.httpPort}`))
  })
})

suite('beside a running service', () => {
  before(startOnce)

  test('a backup during intake holds all mail acknowledged before it began', async (t) => {
    const inbox = await service.client.inboxes.create({})
    const random = seededRandom(9)
    const targets = [inbox]
    const intake = new Intake({
      service,
      targets,
      clients: 4,
      random,
      largeShare: 0.2,
      gapMs: GAP_MS,
    })
    t.after(() => intake.abandon())
    await intake.untilAcknowledged(BACKED_UP, INTAKE_MS_MAX)
    const before = [...intake.acknowledged]
    const folder = join(service.dataDir, '..', 'backup')
    const backup = await service.run('admin', 'backup', folder)
    assert.equal(backup.code, 0, backup.errors)
    const during = intake.acknowledged.length - before.length
    await intake.stop()
    assert.ok(during > 0, 'mail came in during the backup')

    const restored = await Service.start({ dataDir: folder })
    t.after(() => restored.close())
    const { total } = await restored.client.messages.list(inbox.id).page()
    assert.ok(total >= before.length)
    const again = await restored.sender()
    assert.equal((await again.send({ to: inbox.address, raw: plainMail({}) })).code, 250)
    await again.quit()
    await assertNothingLost(restored, before)
    t.diagnostic(`${before.length} before the backup, ${during} during it, ${total} restored`)
  })
})

async function startOnce(): Promise<void> {
  if (!service.isRunning) await service.start()
}

/** Milliseconds from the start of the process to the first 200 of /ready, each on a new directory. */
async function measureStarts(count: number, options: ServiceOptions): Promise<number[]> {
  const durations: number[] = []
  for (let start = 0; start < count; start++) {
    const service = await Service.prepare(options)
    try {
      durations.push(Math.round(await service.start()))
    } finally {
      await service.close()
    }
  }
  return durations
}
