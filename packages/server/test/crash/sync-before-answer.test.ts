// An acknowledgement follows the sync of its data: seen from outside, in the order of the system calls.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { MailroomError } from '@mailroom/sdk'
import { databasePath } from '#app/open-store.ts'
import { openSqliteConnection } from '#platform/db/sqlite-connection.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { plainMail } from '#test/world.ts'
import { untilTaken } from './outbound-mail.ts'
import { Service } from './service.ts'
import { readStored } from './stored.ts'
import { failSyncs, findAnswers, isSync, type Trace, traceSystemCalls } from './system-calls.ts'

const MESSAGES = sizeOf('TEST_MAILROOM_SYNCED_MESSAGES', { usual: 30, long: 100 })
const LARGE_MESSAGES = 5
const REQUESTS = 10

suite('the disk has it before the answer', () => {
  let service: Service
  before(async () => {
    service = await Service.start()
  })
  after(() => service.close())

  test('a commit syncs the write-ahead log', () => {
    const connection = openSqliteConnection({ path: databasePath(service.settings), mode: 'write' })
    const pragma = (name: string) => Object.values(connection.rows(`PRAGMA ${name}`)[0] ?? {})[0]
    try {
      assert.equal(pragma('journal_mode'), 'wal')
      assert.equal(pragma('synchronous'), FULL)
    } finally {
      connection.close()
    }
  })

  test('each 250, 201 and 200 stands after a sync of the log', async (t) => {
    const inbox = await service.client.inboxes.create({})
    const sender = await service.sender()
    // The first message and the first large one do more than later ones, which the trace must not contain.
    await sender.send({ to: inbox.address, raw: plainMail({ body: large(0) }) })
    const [thread] = (await service.client.threads.list(inbox.id).page()).data
    const trace = await traceSystemCalls(service.pid)
    if (trace === null) {
      t.diagnostic(
        'strace is absent or not permitted: the order was NOT observed; the proof that ran is that the log is set to sync at each commit, and the kills that lost nothing',
      )
      return
    }
    const calls = await work(service, trace, async () => {
      for (let number = 0; number < MESSAGES; number++) {
        const reply = await sender.send({
          to: inbox.address,
          raw: plainMail({ body: `${number}` }),
        })
        assert.equal(reply.code, 250)
      }
      for (let number = 0; number < LARGE_MESSAGES; number++) {
        const raw = plainMail({ body: large(number) })
        assert.equal((await sender.send({ to: inbox.address, raw })).code, 250)
      }
      for (let number = 0; number < REQUESTS; number++) {
        await service.client.inboxes.create({})
        await service.client.threads.update(thread?.id ?? '', { is_read: number % 2 === 0 })
      }
    })
    await sender.quit()
    const log = `${databasePath(service.settings)}-wal`
    const stored = findAnswers(calls, { log, asked: /"/, answer: '"250 2.0.0 Message stored' })
    const made = findAnswers(calls, { log, asked: /"POST /, answer: '"HTTP/1.1 201' })
    const changed = findAnswers(calls, { log, asked: /"PATCH /, answer: '"HTTP/1.1 200' })
    const blobs = calls.filter(({ name, args }) => isSync(name) && args.includes('/blobs/'))
    t.diagnostic(
      `observed with strace: ${JSON.stringify({ stored, made, changed })}, ${blobs.length} syncs of large messages and their folders`,
    )
    const total = MESSAGES + LARGE_MESSAGES
    assert.deepEqual(stored, { answers: total, synced: total })
    assert.deepEqual(made, { answers: REQUESTS, synced: REQUESTS })
    assert.deepEqual(changed, { answers: REQUESTS, synced: REQUESTS })
    assert.ok(blobs.length >= 2 * LARGE_MESSAGES, 'each large message and its folder were synced')
  })

  test('while syncs fail nothing is answered as done, and afterwards nothing of it is there', async (t) => {
    const inbox = await service.client.inboxes.create({})
    const sender = await service.sender()
    const restore = await failSyncs(service.pid)
    if (restore === null) {
      t.skip('strace is absent or not permitted')
      return
    }
    const codes: number[] = []
    try {
      for (const body of ['small', large(1), 'small again', large(2)]) {
        const raw = plainMail({ to: inbox.address, messageId: `<${codes.length}@sync>`, body })
        codes.push((await sender.send({ to: inbox.address, raw })).code)
        await sender.command('RSET')
      }
      await assert.rejects(
        service.client.inboxes.create({ mailboxName: 'never-synced' }),
        (error) => error instanceof MailroomError && error.status === 503,
      )
    } finally {
      await restore()
    }
    assert.deepEqual(codes, [451, 451, 451, 451])
    assert.equal((await service.client.messages.list(inbox.id).page()).total, 0)
    // The service tries a failed store again within half a second.
    await until(async () => {
      const { code } = await sender.send({ to: inbox.address, raw: plainMail({}) })
      await sender.command('RSET')
      return code === 250
    })
    await sender.quit()
    assert.equal((await service.client.messages.list(inbox.id).page()).total, 1)
    await untilTaken(() => service.client.inboxes.create({ mailboxName: 'never-synced' }))
  })

  test('and the store agrees with itself in the end', async () => {
    await service.kill()
    await service.start()
    assert.equal((await service.stop()).code, 0)
    await readStored(service)
  })
})

// https://sqlite.org/pragma.html#pragma_synchronous
const FULL = 2

function large(number: number): string {
  return `line ${number}\r\n`.repeat(30_000)
}

async function work(service: Service, trace: Trace, run: () => Promise<void>) {
  try {
    await run()
  } catch (error) {
    await trace.stop()
    throw new Error(`The work failed:\n${service.log.slice(-2_000)}`, { cause: error })
  }
  return trace.stop()
}
