// The service is told to end while slow servers receive its mail: outcomes that arrive in time are stored, mail that no
// server has goes back to the queue, and none is lost or sent twice.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import type { MessageToSend } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import {
  assertAllSent,
  makeInboxes,
  type Promised,
  sendMany,
  untilSettled,
} from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { Service } from './service.ts'
import { readStored, type Stored } from './stored.ts'

/** The aim is ten seconds, after which the service cuts the remaining connections. */
const EXIT_MS_MAX = 20_000
/** Two within a second would be one, as npm passes it on. */
const BETWEEN_SIGNALS_MS = 1_300
const ANSWER_MS = 2_000
/**
 * Under way at once to each destination; as many again wait behind them. More are begun once the first have waited for a
 * second, because a server that greeted is alive.
 */
const OF_EACH_KIND = 5
const SETTLED_MS_MAX = 60_000

/** What the servers of the four destinations do while the service ends. */
const KINDS = [
  /** Take the message and answer two seconds after the service was told to end. */
  'late',
  /** Take the message and never answer. */
  'silent',
  /** Never answer to the recipient. */
  'stuck',
  /** Answer to the recipient two seconds after the service was told to end. */
  'slow',
] as const

suite('an orderly end of sending', { concurrency: true }, () => {
  test('SIGTERM with 20 sends under way stores the outcomes, returns the rest to the queue and exits 0 in ten seconds', async (t) => {
    const { sink, service, promised, letAnswer } = await openUnderWay(t)
    const stopping = service.stop('SIGTERM')
    await letAnswer()
    const exit = await stopping
    assert.equal(exit.code, 0)
    assert.ok(exit.durationMs < EXIT_MS_MAX, `${exit.durationMs} ms`)

    await sink.until(() => sink.open === 0, 5_000)
    const left = summarise(await readStored(service))
    t.diagnostic(`exit 0 after ${Math.round(exit.durationMs)} ms, left ${JSON.stringify(left)}`)
    const taken = countTaken(sink)
    const withBack = (state: string, count: number) => ({
      [state]: count,
      ...(count < 2 * OF_EACH_KIND && { [BACK]: 2 * OF_EACH_KIND - count }),
    })
    assert.deepEqual(left, {
      late: withBack(NOTED, taken.late),
      silent: withBack('deferred, waiting, 1 attempts', taken.silent),
      stuck: { [BACK]: 2 * OF_EACH_KIND },
      slow: withBack(NOTED, taken.slow),
    })

    sink.script = {}
    await runSql(service, MAKE_DUE)
    await service.start()
    const repeats = await finish(service, sink, promised)
    assert.equal(repeats.length, taken.silent)
    assert.ok(repeats.every(({ first }) => first.recipient.startsWith('silent')))
  })

  test('a second SIGTERM ends it at once, and the next start repeats sends without an outcome', async (t) => {
    const { sink, service, promised, letAnswer } = await openUnderWay(t)
    service.signal('SIGTERM')
    await letAnswer()
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_SIGNALS_MS))
    const exit = await service.stop('SIGTERM')
    assert.notEqual(exit.code, 0)
    assert.ok(exit.durationMs < 5_000, `${exit.durationMs} ms`)

    // The last copies of the ended process have arrived when its connections are closed.
    await sink.until(() => sink.open === 0, 5_000)
    const taken = sink.copies.length
    const noted = countNoted(await readStored(service))
    assert.ok(taken > noted, `${taken} taken, ${noted} noted`)
    sink.script = {}
    await service.start()
    const repeats = await finish(service, sink, promised)
    assert.equal(repeats.length, taken - noted)
    assert.ok(repeats.every(({ first }) => kindOf(first.recipient) !== 'stuck'))
  })
})

const BACK = 'queued, ready, 0 attempts'
const NOTED = 'accepted, over, 1 attempts'
const MAKE_DUE = "update deliveries set next_attempt_at = 0 where queue_state = 'waiting'"

type UnderWay = {
  sink: Sink
  service: Service
  promised: Promised[]
  /** Waits until the service says that it ends; only from then on do servers answer. */
  letAnswer(): Promise<void>
}

/** A service in the middle of 20 sends, about five of each kind. */
async function openUnderWay(t: TestContext): Promise<UnderWay> {
  const ending = Promise.withResolvers<void>()
  const answerLate = async (next: string) => {
    await ending.promise
    return { delayMs: ANSWER_MS, next }
  }
  const sink = await Sink.open({
    onRcpt: (recipient) => {
      const kind = kindOf(recipient)
      if (kind === 'stuck') return 'hang'
      return kind === 'slow' ? answerLate('250 2.1.5 Ok') : undefined
    },
    onFinalDot: ({ recipients }) => {
      const kind = kindOf(recipients[0] ?? '')
      if (kind === 'silent') return 'hang'
      return kind === 'late' ? answerLate('250 2.0.0 Ok: queued') : undefined
    },
  })
  t.after(() => sink.close())
  const service = await Service.start({ env: sink.environment })
  t.after(() => service.close())
  const inboxes = await makeInboxes(service, 2)
  const count = 2 * OF_EACH_KIND * KINDS.length
  const promised = await sendMany(service, sink, { inboxes, count, compose })
  // Not five of each: on a slow machine one kind may have six and another four, because one address gets no more than 20.
  const countUnderWay = (kind: (typeof KINDS)[number]) => {
    const isTaken = kind === 'late' || kind === 'silent'
    const has = ({ recipient }: { recipient: string }) => kindOf(recipient) === kind
    return (isTaken ? sink.copies : sink.named).filter(has).length
  }
  const areUnderWay = () => {
    const counts = KINDS.map(countUnderWay)
    const all = counts.reduce((sum, count) => sum + count)
    return counts.every((count) => count > 0) && all >= OF_EACH_KIND * KINDS.length
  }
  await sink.until(areUnderWay, 60_000)
  const letAnswer = async () => {
    await sink.until(() => /shutting down/.test(service.log), 30_000)
    ending.resolve()
  }
  return { sink, service, promised, letAnswer }
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
  await service.stopWell()
  return assertAllSent(service, sink, promised)
}

/** Messages of each kind that the servers have taken. */
function countTaken(sink: Sink) {
  const counts = { late: 0, silent: 0, stuck: 0, slow: 0 }
  for (const { recipient } of sink.copies) counts[kindOf(recipient) as keyof typeof counts] += 1
  return counts
}

function countNoted({ sent }: Stored): number {
  return sent.flatMap(({ deliveries }) => deliveries).filter(({ status }) => status === 'accepted')
    .length
}

/** For each kind how many deliveries are in which state. */
function summarise({ sent }: Stored) {
  const summary: Record<string, Record<string, number>> = {}
  for (const { recipient, status, queue, attempts } of sent.flatMap(
    ({ deliveries }) => deliveries,
  )) {
    const kind = kindOf(recipient)
    const states = summary[kind] ?? {}
    const state = `${status}, ${queue ?? 'over'}, ${attempts} attempts`
    summary[kind] = { ...states, [state]: (states[state] ?? 0) + 1 }
  }
  return summary
}
