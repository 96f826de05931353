// Mail goes out to a server that notes every octet while the service is killed again and again. Each
// recipient gets each message; a second time only when a kill struck between a server's having taken
// it and the note of that, and then byte for byte the same.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { LONG_LIMIT, sizeOf } from '#test/size-of.ts'
import { seededRandom } from './intake.ts'
import {
  assertAllSent,
  type Compared,
  compareOutbound,
  countRecipients,
  makeInboxes,
  reportOf,
  sendMany,
} from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { untilSettled } from './outbound-stored.ts'
import { Service } from './service.ts'

/** A hundred take up to six minutes. */
const KILLS = sizeOf('TEST_MAILROOM_OUTBOUND_KILLS', { usual: 2, long: 100 })
const POSTGRES_KILLS = Math.max(2, Math.ceil(0.15 * KILLS))
const MESSAGES_PER_KILL = 20
/** Servers of the world take about a second for a message; that of the test answers RCPT as late. */
const ANSWER_MS_MAX = 1_800
const MOMENT_MS_MAX = 60
const LIFE_MS_MAX = 15_000
/** The aim is 5 s, alone. */
const RESUMED_MS_MAX = 30_000
const EARLY_SHARE = 0.15
/** What a server took is noted by then: only kills within it make a second copy. */
const NOTED_MS_MAX = 15_000
const SETTLED_MS_MAX = 180_000

const LIMIT = { timeout: LONG_LIMIT.timeout + 15_000 * KILLS }

suite('mail on its way out survives kill -9', { concurrency: true }, () => {
  test(`on SQLite, ${KILLS} times`, LIMIT, (t) => killAgainAndAgain(t, { kills: KILLS }))
  test(`on PostgreSQL, ${POSTGRES_KILLS} times`, LIMIT, async (t) =>
    killAgainAndAgain(t, { kills: POSTGRES_KILLS, databaseUrl: await createTestDatabase() }),
  )
})

type Plan = { kills: number; databaseUrl?: string }

async function killAgainAndAgain(t: TestContext, { kills, databaseUrl }: Plan): Promise<void> {
  const seed = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
  const random = seededRandom(seed)
  const sink = await Sink.open({ rcptMs: () => random() * ANSWER_MS_MAX })
  t.after(() => sink.close())
  const service = await Service.start({
    env: sink.environment,
    ...(databaseUrl && { databaseUrl }),
  })
  t.after(() => service.close())
  sink.hold()
  const queueingMs = performance.now()
  const inboxes = await makeInboxes(service, 5)
  const count = kills * MESSAGES_PER_KILL
  const promised = await sendMany(service, sink, { inboxes, count })
  const queuedMs = Math.round(performance.now() - queueingMs)
  sink.release()

  const copies = countRecipients(promised)
  const killing = { sink, service, random, share: copies / kills, copies }
  const lives: Life[] = []
  for (let kill = 0; kill < kills; kill++) lives.push(await killOnce(killing))
  await untilSettled(service, SETTLED_MS_MAX)
  assert.doesNotMatch(service.log, /because of an internal error|"level":50/)
  assert.equal((await service.stop()).code, 0)

  const compared = await compareOutbound(service, sink, promised)
  const resumedMs = lives.flatMap((life) => life.resumedMs ?? []).sort((a, b) => a - b)
  const usualMs = Math.round(resumedMs[Math.floor(resumedMs.length / 2)] ?? 0)
  const inFlight = lives.reduce((sum, life) => sum + life.inFlight, 0)
  t.diagnostic(
    `seed ${seed}: ${promised.length} messages for ${countRecipients(promised)} recipients queued in ${queuedMs} ms, ${kills} kills, ${inFlight} in flight at them, ${JSON.stringify(reportOf(compared))}, sending resumed ${usualMs} ms after a start, ${Math.round(resumedMs.at(-1) ?? 0)} at most`,
  )
  const { lost, altered, unknown } = compared
  assert.deepEqual({ lost, altered, unknown }, { lost: 0, altered: 0, unknown: 0 })
  assertAllSent(compared, promised)
  assertExplained(compared, lives, inFlight)
  assert.ok(inFlight > kills, 'kills struck while mail was on its way')
  // The middle one: a start takes most of it, and other tests make a few of them slow.
  assert.ok(usualMs < RESUMED_MS_MAX, 'sending was resumed in time')
}

type Life = {
  goneAtMs: number
  /** Connections that were cut. */
  inFlight: number
  /** From the start of the process to its first transaction; null where nothing was left to send. */
  resumedMs: number | null
}

type Killing = { sink: Sink; service: Service; random: () => number; share: number; copies: number }

async function killOnce({ sink, service, random, share, copies }: Killing): Promise<Life> {
  const after = sink.copies.length + Math.floor(random() * 1.6 * share)
  // While something is left to be on its way.
  const wanted = Math.min(after, copies - MESSAGES_PER_KILL / 2)
  await sink.until(() => sink.copies.length >= wanted, LIFE_MS_MAX).catch(() => {})
  await sleep(random() * MOMENT_MS_MAX)
  const inFlight = sink.open
  await service.kill()
  const goneAtMs = performance.now()
  if (random() < EARLY_SHARE) {
    await service.start({ waits: false })
    await sleep(random() * 1_000)
    await service.kill()
  }
  const begun = sink.begunAtMs.length
  const startedAtMs = performance.now()
  await service.start()
  await sink.until(() => sink.begunAtMs.length > begun, RESUMED_MS_MAX).catch(() => {})
  const firstMs = sink.begunAtMs[begun]
  return { goneAtMs, inFlight, resumedMs: firstMs === undefined ? null : firstMs - startedAtMs }
}

/** A kill stands between two copies, and each kill costs a message one copy more at most. */
function assertExplained({ repeats }: Compared, lives: readonly Life[], inFlight: number): void {
  const explained = new Set<string>()
  for (const { first, second } of repeats) {
    const kill = lives.findIndex(({ goneAtMs }) => first.atMs < goneAtMs && goneAtMs < second.atMs)
    assert.notEqual(kill, -1, `${first.messageId} came twice in one life`)
    const waitedMs = (lives[kill]?.goneAtMs ?? 0) - first.atMs
    assert.ok(waitedMs < NOTED_MS_MAX, `${first.messageId} was not noted for ${waitedMs} ms`)
    assert.equal(first.sha256, second.sha256)
    explained.add(`${kill} ${first.messageId} ${first.recipient}`)
  }
  assert.equal(explained.size, repeats.length)
  assert.ok(repeats.length <= inFlight, `${repeats.length} repeats, ${inFlight} in flight`)
}
