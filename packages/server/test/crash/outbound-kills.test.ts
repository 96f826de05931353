// Mail goes out to a server that notes every octet while the service is killed again and again. Each recipient gets each
// message; a second time only when a kill struck between the server's reply and the commit of its outcome, and then byte
// for byte the same.

import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { LONG_LIMIT, sizeOf } from '@mailroom/mail/test/size-of.ts'
import { type KillTest, killAndRestart, killTest } from './kills.ts'
import {
  assertAllSent,
  countRecipients,
  makeInboxes,
  type Repeat,
  sendMany,
  untilSettled,
} from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import type { Service } from './service.ts'

/** A hundred take up to six minutes. */
const KILLS = sizeOf('TEST_MAILROOM_OUTBOUND_KILLS', { usual: 2, long: 100 })
const POSTGRES_KILLS = Math.max(2, Math.ceil(0.15 * KILLS))
const MESSAGES_PER_KILL = 20
/** Servers take about a second for a message; the server of the test answers RCPT as late. */
const ANSWER_MS_MAX = 1_800
const MOMENT_MS_MAX = 60
const LIFE_MS_MAX = 15_000
/** The aim is 5 s, alone. */
const RESUMED_MS_MAX = 30_000
/** The outcome of a delivery is committed by then: only kills before it make a second copy. */
const NOTED_MS_MAX = 15_000
const SETTLED_MS_MAX = 180_000

const limit = { timeout: LONG_LIMIT.timeout + 15_000 * KILLS }

suite('mail on its way out survives kill -9', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS, limit }, killAgainAndAgain)
  killTest('postgres', { kills: POSTGRES_KILLS, limit }, killAgainAndAgain)
})

async function killAgainAndAgain({ t, kills, random, start }: KillTest): Promise<void> {
  const sink = await Sink.open({ rcptMs: () => random() * ANSWER_MS_MAX })
  t.after(() => sink.close())
  const service = await start(sink.environment)
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
  await service.stopWell()

  const repeats = await assertAllSent(service, sink, promised)
  const resumedMs = lives.flatMap((life) => life.resumedMs ?? []).sort((a, b) => a - b)
  const usualMs = Math.round(resumedMs[Math.floor(resumedMs.length / 2)] ?? 0)
  const inFlight = lives.reduce((sum, life) => sum + life.inFlight, 0)
  t.diagnostic(
    `${promised.length} messages for ${copies} recipients queued in ${queuedMs} ms, ${inFlight} in flight at kills, ${repeats.length} repeats, sending resumed ${usualMs} ms after a start, ${Math.round(resumedMs.at(-1) ?? 0)} at most`,
  )
  assertExplained(repeats, lives, inFlight)
  assert.ok(inFlight > kills, 'kills struck while mail was on its way')
  // The median: a start takes most of it, and other tests make a few starts slow.
  assert.ok(usualMs < RESUMED_MS_MAX, 'sending was resumed in time')
}

type Life = {
  killedAtMs: readonly number[]
  /** Connections that were cut. */
  inFlight: number
  /** From the start of the process to its first transaction; null where nothing was left to send. */
  resumedMs: number | null
}

type Killing = { sink: Sink; service: Service; random: () => number; share: number; copies: number }

async function killOnce({ sink, service, random, share, copies }: Killing): Promise<Life> {
  const after = sink.copies.length + Math.floor(random() * 1.6 * share)
  // The last kill must find something on its way.
  const wanted = Math.min(after, copies - MESSAGES_PER_KILL / 2)
  await sink.until(() => sink.copies.length >= wanted, LIFE_MS_MAX).catch(() => {})
  let inFlight = 0
  const { killedAtMs, startedAtMs } = await killAndRestart({
    service,
    random,
    momentMs: MOMENT_MS_MAX,
    strikesStarts: true,
    beforeKill: () => {
      inFlight += sink.open
    },
  })
  const findFirst = () => sink.begunAtMs.find((atMs) => atMs > startedAtMs)
  await sink.until(() => findFirst() !== undefined, RESUMED_MS_MAX).catch(() => {})
  const firstMs = findFirst()
  const resumedMs = firstMs === undefined ? null : firstMs - startedAtMs
  return { killedAtMs, inFlight, resumedMs }
}

/** Between two copies there was a kill, and each kill makes at most one more copy of a message. */
function assertExplained(
  repeats: readonly Repeat[],
  lives: readonly Life[],
  inFlight: number,
): void {
  const killedAtMs = lives.flatMap((life) => life.killedAtMs)
  const explained = new Set<string>()
  for (const { first, second } of repeats) {
    const kill = killedAtMs.findIndex((atMs) => first.atMs < atMs && atMs < second.atMs)
    assert.notEqual(kill, -1, `${first.messageId} came twice in one life`)
    const waitedMs = (killedAtMs[kill] ?? 0) - first.atMs
    assert.ok(waitedMs < NOTED_MS_MAX, `${first.messageId} was not committed for ${waitedMs} ms`)
    assert.equal(first.sha256, second.sha256)
    explained.add(`${kill} ${first.messageId} ${first.recipient}`)
  }
  assert.equal(explained.size, repeats.length)
  assert.ok(repeats.length <= inFlight, `${repeats.length} repeats, ${inFlight} in flight`)
}
