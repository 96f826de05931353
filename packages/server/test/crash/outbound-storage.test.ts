// The store fails while mail is on its way out: a full disk, a killed database, a lock of another process. Outcomes of
// that time are stored when the store is back, and no accepted mail is sent again.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LONG_LIMIT, sizeOf } from '@mailroom/mail/test/size-of.ts'
import { MailroomError, type MessageToSend } from '@mailroom/sdk'
import { databasePath } from '#app/open-store.ts'
import { HOST_SLOT_WAIT_MS_MAX } from '#delivery/host-caller.ts'
import { DELIVERY_LEASE_MS } from '#queue/dispatcher-bounds.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { lockDatabase } from './database-lock.ts'
import { startKillablePostgres } from './killable-postgres.ts'
import {
  assertSentOnce,
  makeInboxes,
  type Promised,
  promisedOf,
  sendMany,
  untilSettled,
} from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { Service } from './service.ts'
import { mountSmallDisk } from './small-disk.ts'

const DISK_MEGABYTES = 16
/** Guards against hanging: the aims are 1 s for a refusal and 5 s for a recovery. */
const REFUSAL_MS_MAX = 15_000
const RECOVERY_MS_MAX = 30_000
const LOCKED_MS = 10_000
const POSTGRES_AWAY_MS = 3_000
/** Of a server to RCPT: while the database is there, and longer than anybody waits for a turn. */
const ANSWER_MS = 100
const SLOW_ANSWER_MS = HOST_SLOT_WAIT_MS_MAX + 100
const UNDER_WAY = 20
const QUEUED = sizeOf('TEST_MAILROOM_STORAGE_QUEUED', { usual: 100, long: 200 })

suite('a store that fails while mail goes out', { concurrency: true }, () => {
  test('a full disk (a mounted tmpfs): a send is refused whole, and outcomes are stored when there is room', async (t) => {
    const disk = await mountSmallDisk(DISK_MEGABYTES)
    if (disk === null) {
      t.skip('this user may not mount a tmpfs; the lock of another process stands in for it')
      return
    }
    t.after(() => disk.remove())
    const underWay = await openUnderWay(t, { dataDir: join(disk.path, 'data') })
    const { sink, service, promised, answer } = underWay
    await disk.fill()
    const refusals = await sendUntilRefused(underWay)
    answer()
    await assert.rejects(sendOnce(service, sink, promised[0]?.inboxId ?? ''), isUnavailable)
    assert.ok((await service.client.messages.get(promised[0]?.id ?? '')).id)

    await disk.clear()
    const clearedMs = performance.now()
    promised.push(await untilTaken(underWay))
    const backMs = Math.round(performance.now() - clearedMs)
    await untilSettled(service, RECOVERY_MS_MAX)
    t.diagnostic(
      `${promised.length} acknowledged, ${refusals.count} refused within ${refusals.maxMs} ms, taken again after ${backMs} ms, all settled after ${Math.round(performance.now() - clearedMs)} ms`,
    )
    await assertSentOnce(service, sink, promised)
  })

  test('SQLite locked for ten seconds by another process: the outcomes are stored once it is free', async (t) => {
    const { sink, service, promised, answer } = await openUnderWay(t, {})
    const lock = await lockDatabase(t, databasePath(service.settings))
    const lockedMs = performance.now()
    answer()
    await assert.rejects(sendOnce(service, sink, promised[0]?.inboxId ?? ''), isUnavailable)
    await sleep(LOCKED_MS - (performance.now() - lockedMs))
    await lock.release()
    const freeMs = performance.now()
    await untilSettled(service, RECOVERY_MS_MAX)
    t.diagnostic(`all settled ${Math.round(performance.now() - freeMs)} ms after the lock was free`)
    await assertSentOnce(service, sink, promised)
  })

  test(
    'PostgreSQL killed while a queue drains and started again: nothing is lost or sent twice',
    LONG_LIMIT,
    async (t) => {
      const postgres = await startKillablePostgres()
      t.after(() => postgres.stop())
      let answerMs = ANSWER_MS
      let held = 0
      const gone = Promise.withResolvers<void>()
      const sink = await Sink.open({
        rcptMs: () => answerMs,
        async finalDot() {
          if (answerMs === ANSWER_MS) return
          held += 1
          await gone.promise
        },
      })
      t.after(() => sink.close())
      const service = await Service.start({
        env: sink.environment,
        databaseUrl: await createTestDatabase(postgres.url),
      })
      t.after(() => service.close())
      const { pid } = service
      const inboxes = await makeInboxes(service, 3)
      sink.hold()
      const promised = await sendMany(service, sink, { inboxes, count: QUEUED })
      sink.release()
      await sink.until(() => sink.copies.length >= QUEUED / 4, RECOVERY_MS_MAX)
      // Sends that wait for a slot of the host now cannot return to the queue, which is away.
      answerMs = SLOW_ANSWER_MS
      await sink.until(() => held > 0, RECOVERY_MS_MAX)
      await postgres.kill()
      const goneMs = performance.now()
      const unanswered = held
      gone.resolve()
      await assert.rejects(sendOnce(service, sink, promised[0]?.inboxId ?? ''), isUnavailable)
      await sleep(POSTGRES_AWAY_MS - (performance.now() - goneMs))
      answerMs = ANSWER_MS
      await postgres.restart()
      const backMs = performance.now()
      // A delivery leased in a commit whose answer was lost is due again when the lease ends.
      await untilSettled(service, DELIVERY_LEASE_MS + 2 * RECOVERY_MS_MAX)
      t.diagnostic(
        `servers answered ${unanswered} and took ${held - unanswered} more while it was away, all settled ${Math.round(performance.now() - backMs)} ms after it was back`,
      )
      assert.equal(service.pid, pid)
      await assertSentOnce(service, sink, promised)
    },
  )
})

type UnderWay = { sink: Sink; service: Service; promised: Promised[]; answer(): void }

/** A service with sends under way that servers have taken; they answer when `answer` is called. */
async function openUnderWay(t: TestContext, options: { dataDir?: string }): Promise<UnderWay> {
  const answered = Promise.withResolvers<void>()
  const sink = await Sink.open({ finalDot: () => answered.promise })
  t.after(() => sink.close())
  const service = await Service.start({ env: sink.environment, ...options })
  t.after(() => service.close())
  const inboxes = await makeInboxes(service, 3)
  const promised = await sendMany(service, sink, { inboxes, count: UNDER_WAY, compose })
  await sink.until(() => sink.copies.length >= UNDER_WAY, RECOVERY_MS_MAX)
  return { sink, service, promised, answer: answered.resolve }
}

function compose({ domains }: Sink, number: number): MessageToSend {
  const to = `to-${number}@${domains[number % domains.length]}`
  return { to, subject: `Message ${number}`, body: `Line of ${number}.\n`.repeat(1_000) }
}

/** Numbers of messages beyond those of `openUnderWay` and `sendMany`. */
let next = 1_000

/** Asks once, without a key that would let it ask again. */
async function sendOnce(service: Service, sink: Sink, inboxId: string): Promise<Promised> {
  const message = compose(sink, next++)
  return promisedOf(await service.client.inboxes.send(inboxId, message), message)
}

function isUnavailable(error: unknown): true {
  assert.ok(error instanceof MailroomError, String(error))
  assert.equal(error.status, 503)
  assert.ok(error.retryAfterSeconds !== null, 'the answer says when to try again')
  return true
}

/** Sends until twenty in a row are refused; what is taken is added to `promised`. */
async function sendUntilRefused({ service, sink, promised }: UnderWay) {
  const refusals = { count: 0, maxMs: 0 }
  for (let row = 0; row < 20; ) {
    const startMs = performance.now()
    try {
      promised.push(await sendOnce(service, sink, promised[0]?.inboxId ?? ''))
      row = 0
    } catch (error) {
      isUnavailable(error)
      const tookMs = Math.round(performance.now() - startMs)
      assert.ok(tookMs < REFUSAL_MS_MAX, `refused after ${tookMs} ms`)
      refusals.maxMs = Math.max(refusals.maxMs, tookMs)
      refusals.count += 1
      row += 1
    }
    assert.ok(promised.length < 5_000, 'the disk can be filled')
  }
  return refusals
}

/** Sends until it is taken. */
async function untilTaken({ service, sink, promised }: UnderWay): Promise<Promised> {
  for (const startMs = performance.now(); ; ) {
    try {
      return await sendOnce(service, sink, promised[0]?.inboxId ?? '')
    } catch (error) {
      isUnavailable(error)
      assert.ok(performance.now() - startMs < RECOVERY_MS_MAX, 'sends are taken again in time')
      await sleep(50)
    }
  }
}
