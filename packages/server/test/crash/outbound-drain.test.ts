// The service is told to end while mail is on its way out to servers that take their time: what they
// answer in time is noted, what was not handed over goes back, and nothing is lost or sent twice.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import type { MessageToSend } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import {
  assertAllSent,
  compareOutbound,
  makeInboxes,
  type Promised,
  reportOf,
  sendMany,
} from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { type OutboundMessage, readOutbound, untilSettled } from './outbound-stored.ts'
import { Service } from './service.ts'

/** The aim is ten seconds, after which the service cuts what is left. */
const EXIT_MS_MAX = 20_000
/** Two within a second would be one, as npm passes it on. */
const BETWEEN_SIGNALS_MS = 1_300
const ANSWER_MS = 2_000
/** Under way at once to each destination; as many again wait behind them. */
const OF_EACH_KIND = 5
const SETTLED_MS_MAX = 60_000

/** What the servers of the four destinations do while the service ends. */
const KINDS = [
  /** Take the message and answer after two seconds. */
  'late',
  /** Take the message and never answer. */
  'silent',
  /** Never answer to the recipient. */
  'stuck',
  /** Answer to the recipient after two seconds. */
  'slow',
] as const

suite('an orderly end of sending', { concurrency: true }, () => {
  test('SIGTERM with 20 sends under way notes what is answered, gives back the rest and exits 0 in ten seconds', async (t) => {
    const { sink, service, promised } = await openUnderWay(t)
    const exit = await service.stop('SIGTERM')
    assert.equal(exit.code, 0)
    assert.ok(exit.durationMs < EXIT_MS_MAX, `${exit.durationMs} ms`)

    const left = summarise(await readOutbound(service))
    t.diagnostic(`exit 0 after ${Math.round(exit.durationMs)} ms, left ${JSON.stringify(left)}`)
    const back = { [BACK]: OF_EACH_KIND }
    assert.deepEqual(left, {
      late: { [NOTED]: OF_EACH_KIND, ...back },
      silent: { 'deferred, waiting, 1 attempts': OF_EACH_KIND, ...back },
      stuck: { [BACK]: 2 * OF_EACH_KIND },
      slow: { [NOTED]: OF_EACH_KIND, ...back },
    })

    sink.script = {}
    await runSql(service, MAKE_DUE)
    await service.start()
    const compared = await finish(service, sink, promised)
    assert.deepEqual(reportOf(compared), { ...NOTHING, doubled: OF_EACH_KIND })
    assert.ok(compared.repeats.every(({ first }) => first.recipient.startsWith('silent')))
    assert.doesNotMatch(service.log, /"level":50/)
  })

  test('a second SIGTERM ends it at once, and the next start sends what was not noted', async (t) => {
    const { sink, service, promised } = await openUnderWay(t)
    service.signal('SIGTERM')
    await sink.until(() => /shutting down/.test(service.log), 30_000)
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_SIGNALS_MS))
    const exit = await service.stop('SIGTERM')
    assert.notEqual(exit.code, 0)
    assert.ok(exit.durationMs < 5_000, `${exit.durationMs} ms`)

    // Nothing comes any more from a process that is gone, once its connections are closed.
    await sink.until(() => sink.open === 0, 5_000)
    const taken = sink.copies.length
    const noted = countNoted(await readOutbound(service))
    assert.ok(taken - noted >= OF_EACH_KIND, `${taken} taken, ${noted} noted`)
    sink.script = {}
    await service.start()
    const compared = await finish(service, sink, promised)
    assert.deepEqual(reportOf(compared), { ...NOTHING, doubled: taken - noted })
    assert.ok(compared.repeats.every(({ first }) => kindOf(first.recipient) !== 'stuck'))
  })
})

const NOTHING = { lost: 0, doubled: 0, altered: 0, unknown: 0 }
const BACK = 'queued, ready, 0 attempts'
const NOTED = 'accepted, over, 1 attempts'
const MAKE_DUE = "update deliveries set next_attempt_at = 0 where queue_state = 'waiting'"

/** A service in the middle of 20 sends, five of each kind. */
async function openUnderWay(
  t: TestContext,
): Promise<{ sink: Sink; service: Service; promised: Promised[] }> {
  const sink = await Sink.open({
    onRcpt: (recipient) => {
      const kind = kindOf(recipient)
      if (kind === 'stuck') return 'hang'
      return kind === 'slow' ? { delayMs: ANSWER_MS, next: '250 2.1.5 Ok' } : undefined
    },
    onFinalDot: ({ recipients }) => {
      const kind = kindOf(recipients[0] ?? '')
      if (kind === 'silent') return 'hang'
      return kind === 'late' ? { delayMs: ANSWER_MS, next: '250 2.0.0 Ok: queued' } : undefined
    },
  })
  t.after(() => sink.close())
  const service = await Service.start({ env: sink.environment })
  t.after(() => service.close())
  const inboxes = await makeInboxes(service, 2)
  const count = 2 * OF_EACH_KIND * KINDS.length
  const promised = await sendMany(service, sink, { inboxes, count, compose })
  await sink.until(
    () =>
      sink.named.length >= OF_EACH_KIND * KINDS.length && sink.copies.length >= 2 * OF_EACH_KIND,
    5_000,
  )
  return { sink, service, promised }
}

function compose(sink: Sink, number: number): MessageToSend {
  const kind = number % KINDS.length
  const to = `${KINDS[kind]}-${number}@${sink.domains[kind]}`
  return { to, subject: `Message ${number}`, body: `Body ${number}.` }
}

function kindOf(recipient: string): string {
  return recipient.split('-')[0] ?? ''
}

async function finish(service: Service, sink: Sink, promised: Promised[]) {
  await untilSettled(service, SETTLED_MS_MAX)
  assert.equal((await service.stop()).code, 0)
  const compared = await compareOutbound(service, sink, promised)
  assertAllSent(compared, promised)
  return compared
}

function countNoted({ messages }: { messages: OutboundMessage[] }): number {
  return messages
    .flatMap(({ deliveries }) => deliveries)
    .filter(({ status }) => status === 'accepted').length
}

/** For each kind how many deliveries are in which state. */
function summarise({ messages }: { messages: OutboundMessage[] }) {
  const summary: Record<string, Record<string, number>> = {}
  for (const { recipient, status, queue, attempts } of messages.flatMap(
    ({ deliveries }) => deliveries,
  )) {
    const kind = kindOf(recipient)
    const states = summary[kind] ?? {}
    const state = `${status}, ${queue ?? 'over'}, ${attempts} attempts`
    summary[kind] = { ...states, [state]: (states[state] ?? 0) + 1 }
  }
  return summary
}
