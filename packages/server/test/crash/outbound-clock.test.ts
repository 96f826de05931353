// The machine's clock is set three days ahead and two days back while mail waits for its next attempt and other mail is
// on its way: all attempts keep their schedule.

import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { MessageToSend } from '@mailroom/sdk'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { runSql } from '#test/peers/sql.ts'
import {
  assertSentOnce,
  makeInboxes,
  type Promised,
  sendMany,
  untilArrived,
  untilSettled,
} from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { Service } from './service.ts'

const DEFERRED = sizeOf('TEST_MAILROOM_CLOCK_DEFERRED', { usual: 100, long: 200 })
const SLOW = 5
/** The attempts are due a second apart, one tenth of them each. */
const STEPS = 10
const FIRST_MS = 2_000
/** The queue is looked at each second; a busy machine adds to that. A clock that counts adds days. */
const LATE_MS_MAX = 30_000
const EARLY_MS_MAX = 50
const SECOND_BACKOFF_MS = 5 * 60_000
const SETTLED_MS_MAX = 60_000
/** Tenths that are deferred a second time: one after each setting of the clock. */
const DEFERRED_TWICE = [2, 7]

suite('a clock that is set while mail waits', { concurrency: true }, () => {
  test('on SQLite: no attempt is early, late or given up', (t) => setClock(t))
  test('on PostgreSQL: no attempt is early, late or given up', async (t) =>
    setClock(t, await createTestDatabase()))
})

async function setClock(t: TestContext, databaseUrl?: string): Promise<void> {
  const clock = await makeFalseClock()
  if (clock === null) {
    t.skip('libfaketime is absent; the clock that tests can step, in one process, stands in for it')
    return
  }
  t.after(() => clock.remove())
  const sink = await Sink.open()
  t.after(() => sink.close())
  const service = await Service.start({
    env: sink.environment,
    wrap: (command) => clock.wrap(command),
    databaseUrl,
  })
  t.after(() => service.close())
  const promised = await deferAll(service, sink)
  const dueAt = await makeDueSoon(service, sink)

  await clock.set(3)
  assert.ok(serviceDaysAhead(await service.client.inboxes.create({})) > 2.9, 'the clock is set')
  promised.push(...(await sendNow(service, sink, 1_000)))
  await sleep(Math.max(0, dueAt(4.5) - performance.now()))
  await clock.set(-2)
  assert.ok(serviceDaysAhead(await service.client.inboxes.create({})) < -1.9, 'and set again')
  promised.push(...(await sendNow(service, sink, 2_000)))
  const lastMs = dueAt(STEPS) + LATE_MS_MAX
  await sink.until(() => checkMoments(sink, dueAt).count >= DEFERRED, lastMs - performance.now())
  // A surplus attempt would come now.
  await sleep(2_000)

  const late = checkMoments(sink, dueAt)
  t.diagnostic(`${late.count} attempts from ${late.minMs} to ${late.maxMs} ms after they were due`)
  assert.equal(late.count, DEFERRED)
  assert.ok(late.minMs >= -EARLY_MS_MAX && late.maxMs <= LATE_MS_MAX)
  await checkBackoff(service, dueAt)

  await runSql(service, "update deliveries set next_attempt_at = 0 where queue_state = 'waiting'")
  await untilSettled(service, SETTLED_MS_MAX)
  await assertSentOnce(service, sink, promised)
}

/** Messages whose first attempt was deferred, and some that are under way for all of the test. */
async function deferAll(service: Service, sink: Sink): Promise<Promised[]> {
  const inboxes = await makeInboxes(service, 3)
  sink.script = {
    onRcpt: (recipient) => (recipient.startsWith('to') ? '451 4.7.1 Try again later' : undefined),
    onFinalDot: ({ recipients: [recipient] }) =>
      recipient?.startsWith('slow')
        ? { delayMs: FIRST_MS + 1_000 * (STEPS + 1), next: '250 2.0.0 Ok: queued' }
        : undefined,
  }
  const promised = await sendMany(service, sink, { inboxes, count: DEFERRED, compose })
  const slow = await sendMany(service, sink, { inboxes, from: DEFERRED, count: SLOW, compose })
  await untilArrived(sink, slow, SETTLED_MS_MAX)
  for (;;) {
    const rows = await runSql(service, "select id from deliveries where queue_state = 'waiting'")
    if (rows.length === DEFERRED) return [...promised, ...slow]
    await sleep(20)
  }
}

/** Makes the waiting deliveries due, a tenth each second; returns when, of this process's monotonic clock. */
async function makeDueSoon(service: Service, sink: Sink): Promise<(step: number) => number> {
  const startMs = performance.now() + FIRST_MS
  const dateMs = Date.now() + FIRST_MS
  const twice = new Set<string>()
  sink.named.length = 0
  const { onFinalDot } = sink.script
  sink.script = {
    ...(onFinalDot && { onFinalDot }),
    onRcpt(recipient) {
      if (!DEFERRED_TWICE.includes(stepOf(recipient)) || twice.has(recipient)) return undefined
      twice.add(recipient)
      return '451 4.7.1 Try again even later'
    },
  }
  for (let step = 0; step < STEPS; step++) {
    await runSql(
      service,
      `update deliveries set next_attempt_at = ${dateMs + 1_000 * step}
        where queue_state = 'waiting' and recipient like 'to-%${step}@%'`,
    )
  }
  return (step) => startMs + 1_000 * step
}

function compose({ domains }: Sink, number: number): MessageToSend {
  const kind = number < DEFERRED ? 'to' : number < DEFERRED + SLOW ? 'slow' : 'new'
  const to = `${kind}-${number}@${domains[number % domains.length]}`
  return { to, subject: `Message ${number}`, body: `Body of ${number}.` }
}

/** The last digit of its number; -1 for recipients that were not deferred. */
function stepOf(recipient: string): number {
  return Number(/^to-\d*(\d)@/.exec(recipient)?.[1] ?? -1)
}

function serviceDaysAhead({ createdAt }: { createdAt: string }): number {
  return (Date.parse(createdAt) - Date.now()) / 86_400_000
}

/** What is sent under a clock that is wrong goes out at once. */
async function sendNow(service: Service, sink: Sink, from: number): Promise<Promised[]> {
  const inboxes = await makeInboxes(service, 1)
  const promised = await sendMany(service, sink, { inboxes, from, count: 3, compose })
  const isThere = ({ messageId, recipients: [recipient = ''] }: Promised) =>
    sink.copiesOf(messageId, recipient).length > 0
  await sink.until(() => promised.every(isThere), LATE_MS_MAX)
  return promised
}

/** How long after it was due each second attempt was made. */
function checkMoments({ named }: Sink, dueAt: (step: number) => number) {
  const late = named
    .filter(({ recipient }) => stepOf(recipient) !== -1)
    .map(({ recipient, atMs }) => Math.round(atMs - dueAt(stepOf(recipient))))
  return { count: late.length, minMs: Math.min(...late), maxMs: Math.max(...late) }
}

/** What was deferred again waits for the second backoff from then, whatever the clock says. */
async function checkBackoff(service: Service, dueAt: (step: number) => number): Promise<void> {
  const rows = await runSql(
    service,
    "select recipient, attempts, next_attempt_at from deliveries where status = 'deferred'",
  )
  assert.equal(rows.length, (DEFERRED * DEFERRED_TWICE.length) / STEPS)
  for (const { recipient, attempts, next_attempt_at } of rows) {
    const dueMs = Date.now() - performance.now() + dueAt(stepOf(String(recipient)))
    const waitsMs = Number(next_attempt_at) - dueMs - SECOND_BACKOFF_MS
    assert.ok(waitsMs >= -EARLY_MS_MAX && waitsMs <= LATE_MS_MAX, `${waitsMs} ms`)
    assert.equal(Number(attempts), 2)
  }
}

/**
 * A wall clock that can be set while a process runs, as an operator or NTP does; the steady clock is not touched. By
 * libfaketime.
 */
type FalseClock = {
  /** Runs the command line with this wall clock. */
  wrap(command: readonly string[]): string[]
  /** Sets it so many days ahead of the true time. */
  set(days: number): Promise<void>
  remove(): Promise<void>
}

const LIBRARIES = ['/usr/lib/*/faketime/libfaketime.so.1', '/usr/lib/faketime/libfaketime.so.1']

/** A clock that is right; null where libfaketime is absent. */
async function makeFalseClock(): Promise<FalseClock | null> {
  const [library] = globSync(LIBRARIES)
  if (library === undefined) return null
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-clock-'))
  const file = join(folder, 'time')
  const set = async (days: number) => {
    await writeFile(`${file}.new`, `${days < 0 ? '' : '+'}${days}d\n`)
    await rename(`${file}.new`, file)
  }
  await set(0)
  return {
    wrap: (command) => [
      'env',
      `LD_PRELOAD=${library}`,
      `FAKETIME_TIMESTAMP_FILE=${file}`,
      'FAKETIME_NO_CACHE=1',
      'FAKETIME_DONT_FAKE_MONOTONIC=1',
      ...command,
    ],
    set,
    remove: () => rm(folder, { recursive: true }),
  }
}
