// Clients send under idempotency keys while the service is killed again and again, and send again
// whatever was not answered. Each key is one message, whoever asks how often, and each is delivered.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Inbox, MailroomError } from '@mailroom/sdk'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { LONG_LIMIT, sizeOf } from '#test/size-of.ts'
import { type Random, seededRandom } from './intake.ts'
import {
  assertAllSent,
  compareOutbound,
  composeNumber,
  makeInboxes,
  type Promised,
  promisedOf,
  reportOf,
} from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { untilSettled } from './outbound-stored.ts'
import { Service } from './service.ts'

const KILLS = sizeOf('TEST_MAILROOM_SEND_KILLS', { usual: 2, long: 12 })
const POSTGRES_KILLS = Math.ceil(KILLS / 2)
const CLIENTS = 6
/** A kill strikes after up to so many acknowledgements, and a moment more. */
const SENDS_MAX = 40
const LIFE_MS_MAX = 4_000
const MOMENT_MS_MAX = 15
const RETRY_MS = 50
const AGAIN_SHARE = 0.3
const SETTLED_MS_MAX = 120_000

suite('a send under a key is one message, whatever is killed', { concurrency: true }, () => {
  test(`on SQLite, ${KILLS} times`, LONG_LIMIT, (t) => sendThroughKills(t, { kills: KILLS }))
  test(`on PostgreSQL, ${POSTGRES_KILLS} times`, LONG_LIMIT, async (t) =>
    sendThroughKills(t, { kills: POSTGRES_KILLS, databaseUrl: await createTestDatabase() }),
  )
})

async function sendThroughKills(
  t: TestContext,
  { kills, databaseUrl }: { kills: number; databaseUrl?: string },
): Promise<void> {
  const seed = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
  const random = seededRandom(seed)
  const sink = await Sink.open({ rcptMs: () => random() * 20 })
  t.after(() => sink.close())
  const service = await Service.start({
    env: sink.environment,
    ...(databaseUrl && { databaseUrl }),
  })
  t.after(() => service.close())
  const sending = new Sending({ service, sink, random, inboxes: await makeInboxes(service, 3) })
  t.after(() => sending.abandon())
  for (let kill = 0; kill < kills; kill++) {
    const wanted = sending.promised.length + random() * SENDS_MAX
    await sink.until(() => sending.promised.length >= wanted, LIFE_MS_MAX).catch(() => {})
    await sleep(random() * MOMENT_MS_MAX)
    await service.kill()
    await service.start()
  }
  await sending.stop()

  const { promised, unanswered, replayed, putOff } = sending
  await untilSettled(service, SETTLED_MS_MAX)
  assert.doesNotMatch(service.log, /"status":500|because of an internal error|"level":50/)
  assert.equal((await service.stop()).code, 0)
  const compared = await compareOutbound(service, sink, promised)
  t.diagnostic(
    `seed ${seed}: ${kills} kills, ${promised.length} acknowledged, ${unanswered} unanswered, ${putOff} put off, ${replayed} asked again, ${JSON.stringify(reportOf(compared))}`,
  )
  const { lost, altered, unknown } = compared
  assert.deepEqual({ lost, altered, unknown }, { lost: 0, altered: 0, unknown: 0 })
  assertAllSent(compared, promised)
  assert.ok(unanswered > 0, 'kills struck while sends were on their way')
  assert.ok(replayed > 0)
}

type SendingOptions = {
  service: Service
  sink: Sink
  inboxes: readonly Pick<Inbox, 'id'>[]
  random: Random
}

/** Clients that send until they are stopped. */
class Sending {
  readonly promised: Promised[] = []
  /** Sends that got no answer, or one that put them off. */
  unanswered = 0
  putOff = 0
  /** Sends of a message that was acknowledged before. */
  replayed = 0
  readonly #options: SendingOptions
  readonly #running: Promise<void>[]
  #next = 0
  #isStopped = false
  #isAbandoned = false

  constructor(options: SendingOptions) {
    this.#options = options
    this.#running = Array.from({ length: CLIENTS }, () => this.#run())
    for (const running of this.#running) running.catch(() => {})
  }

  /** Lets every client finish the message it is at; the service must be there. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  abandon(): void {
    this.#isStopped = true
    this.#isAbandoned = true
  }

  async #run(): Promise<void> {
    const { sink, random } = this.#options
    let last: { number: number; answer: unknown } | null = null
    while (!this.#isStopped) {
      const number = this.#next++
      const answer = await this.#send(number)
      if (answer === null) return
      this.promised.push(promisedOf(answer, composeNumber(sink, number)))
      last ??= { number, answer }
      if (random() > AGAIN_SHARE) continue
      // Also what was acknowledged several lives ago.
      assert.deepEqual(await this.#send(last.number), last.answer)
      this.replayed += 1
      last = null
    }
  }

  /** Until it is acknowledged; null once the test is over. */
  async #send(number: number) {
    const { service, sink, inboxes } = this.#options
    const inboxId = inboxes[number % inboxes.length]?.id ?? ''
    const message = composeNumber(sink, number)
    while (!this.#isAbandoned) {
      try {
        const options = { idempotencyKey: `key-${number}` }
        return await service.client.inboxes.send(inboxId, message, options)
      } catch (error) {
        if (error instanceof MailroomError && error.status === 503) this.putOff += 1
        else if (error instanceof MailroomError && error.status > 0) throw error
        else this.unanswered += 1
        await sleep(RETRY_MS)
      }
    }
    return null
  }
}
