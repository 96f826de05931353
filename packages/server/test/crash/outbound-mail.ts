// Clients that send through the API and remember each acknowledged message, and the comparison of these messages with
// the copies at the far end and in the store.

import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Inbox, MailroomError, type MessageToSend } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import type { Random } from './intake.ts'
import type { Copy, Sink } from './outbound-sink.ts'
import type { Service } from './service.ts'
import { readStored, type Stored } from './stored.ts'

/** A message that was acknowledged. */
export type Promised = {
  readonly id: string
  /** As the acknowledgement named it, in angle brackets. */
  readonly messageId: string
  readonly recipients: readonly string[]
  readonly inboxId: string
}

export function makeInboxes(service: Service, count: number): Promise<Inbox[]> {
  return Promise.all(Array.from({ length: count }, () => service.client.inboxes.create({})))
}

/** Message number `number`: every third is copied to a recipient of another domain. */
export function composeNumber(sink: Sink, number: number): MessageToSend {
  const { domains } = sink
  const domainOf = (index: number) => domains[index % domains.length] ?? ''
  const line = `.${hash('sha256', String(number), 'hex')} grüße\n`
  return {
    to: `to-${number}@${domainOf(number)}`,
    ...(number % 3 === 0 && { cc: [`cc-${number}@${domainOf(number + 1)}`] }),
    subject: `Message ${number}`,
    body: line.repeat(1 + (number % 40)),
  }
}

export type SendPlan = {
  inboxes: readonly Pick<Inbox, 'id'>[]
  count: number
  /** The number of the first; 0 unless given. */
  from?: number
  /** Clients at once. */
  clients?: number
  /** Composes message number `number`. */
  compose?: (sink: Sink, number: number) => MessageToSend
}

/** Sends `count` messages by clients side by side; each must be acknowledged. */
export async function sendMany(service: Service, sink: Sink, plan: SendPlan): Promise<Promised[]> {
  const { inboxes, count, from = 0, clients = 10, compose = composeNumber } = plan
  const { client } = service
  const promised: Promised[] = []
  let next = from
  const run = async () => {
    while (next < from + count) {
      const number = next
      next += 1
      const inboxId = inboxes[number % inboxes.length]?.id ?? ''
      const message = compose(sink, number)
      const options = { idempotencyKey: randomUUID() }
      const answer = await untilTaken(() => client.inboxes.send(inboxId, message, options))
      promised.push(promisedOf(answer, message))
    }
  }
  await Promise.all(Array.from({ length: clients }, run))
  return promised
}

/** Repeats a send that a busy machine puts off, under its key. */
export async function untilTaken<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send()
    } catch (error) {
      const isPutOff = error instanceof MailroomError && error.status === 503
      if (!isPutOff || attempt === ATTEMPTS_MAX) throw error
      await sleep(1_000)
    }
  }
}

const ATTEMPTS_MAX = 30

export function promisedOf(
  answer: { messageId: string; providerMessageId: string; inboxId: string },
  message: Pick<MessageToSend, 'to' | 'cc'>,
): Promised {
  return {
    id: answer.messageId,
    messageId: answer.providerMessageId,
    recipients: [message.to ?? [], message.cc ?? []].flat(),
    inboxId: answer.inboxId,
  }
}

type SendingOptions = {
  /** Each request goes to one of them at random. */
  services: readonly Service[]
  sink: Sink
  inboxes: readonly Pick<Inbox, 'id'>[]
  clients: number
  random: Random
  /** Milliseconds of each client between an acknowledgement and its next message; 0 unless given. */
  gapMs?: number
}

const RETRY_MS = 50
/** Share of the acknowledgements after which a message is sent again under its key. */
const AGAIN_SHARE = 0.3

/** Clients that send each message under its key until a service acknowledges it, until they are stopped. */
export class Sending {
  readonly promised: Promised[] = []
  /** Requests without an answer. */
  unanswered = 0
  /** Requests answered with 503. */
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
    this.#running = Array.from({ length: options.clients }, () => this.#run())
    for (const running of this.#running) running.catch(() => {})
  }

  /** Lets every client finish its message; a service must be there. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  /** Stops without waiting for the messages under way; for a test that failed. */
  abandon(): void {
    this.#isStopped = true
    this.#isAbandoned = true
  }

  async #run(): Promise<void> {
    const { sink, random, gapMs = 0 } = this.#options
    let last: { number: number; answer: unknown } | null = null
    while (!this.#isStopped) {
      const number = this.#next++
      const answer = await this.#send(number)
      if (answer === null) return
      this.promised.push(promisedOf(answer, composeNumber(sink, number)))
      last ??= { number, answer }
      if (random() <= AGAIN_SHARE) {
        // The message may have been acknowledged several lives ago.
        assert.deepEqual(await this.#send(last.number), last.answer)
        this.replayed += 1
        last = null
      }
      if (gapMs > 0) await sleep(gapMs)
    }
  }

  /** Sends until it is acknowledged; null once the test is over. */
  async #send(number: number) {
    const { services, sink, inboxes, random } = this.#options
    const inboxId = inboxes[number % inboxes.length]?.id ?? ''
    const message = composeNumber(sink, number)
    const options = { idempotencyKey: `key-${number}` }
    while (!this.#isAbandoned) {
      const service = services[Math.floor(random() * services.length)]
      assert.ok(service !== undefined)
      try {
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

/** Waits until each recipient of each message has had it once at least. */
export async function untilArrived(sink: Sink, promised: readonly Promised[], withinMs: number) {
  const expected = countRecipients(promised)
  await sink.until(() => sink.arrived >= expected, withinMs)
}

export function countRecipients(promised: readonly Promised[]): number {
  return promised.reduce((sum, { recipients }) => sum + recipients.length, 0)
}

const POLL_MS = 50

/** Waits until no delivery is ready, waiting or leased. */
export async function untilSettled(service: Service, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs
  for (;;) {
    const rows = await runSql(
      service,
      `select queue_state, status, min(response) as response, count(*) as count
        from deliveries where queue_state is not null group by queue_state, status`,
    )
    if (rows.length === 0) return
    if (performance.now() > endMs) throw new Error(`Still queued: ${JSON.stringify(rows)}`)
    await sleep(POLL_MS)
  }
}

/** A copy beyond the first, with the copy before it. */
export type Repeat = { first: Copy; second: Copy }

/**
 * Compares the messages with the store, which must agree with itself, and with the copies at the far end. Each message
 * is `sent`, nothing waits, each recipient has it, and all copies are whole. Returns the copies beyond the first.
 */
export async function assertAllSent(
  service: Service,
  sink: Sink,
  promised: readonly Promised[],
): Promise<Repeat[]> {
  const stored = await readStored(service)
  assertSettled(stored, promised)
  const sha256Of = new Map(stored.sent.map((message) => [message.messageId, message.sha256]))
  const known = new Set(promised.map(({ messageId }) => messageId))
  const faults = { lost: 0, altered: 0, unknown: 0 }
  for (const { messageId, sha256 } of sink.copies) {
    if (!known.has(messageId)) faults.unknown += 1
    if (sha256Of.get(messageId) !== sha256) faults.altered += 1
  }
  const repeats: Repeat[] = []
  for (const { messageId, recipients } of promised) {
    for (const recipient of recipients) {
      const copies = sink.copiesOf(messageId, recipient)
      if (copies.length === 0) faults.lost += 1
      copies.forEach((second, index) => {
        const first = copies[index - 1]
        if (first !== undefined) repeats.push({ first, second })
      })
    }
  }
  assert.deepEqual(faults, { lost: 0, altered: 0, unknown: 0 })
  return repeats
}

/** Stops the service. Each recipient must have each message exactly once. */
export async function assertSentOnce(
  service: Service,
  sink: Sink,
  promised: readonly Promised[],
): Promise<void> {
  await service.stopWell()
  assert.deepEqual(await assertAllSent(service, sink, promised), [])
}

function assertSettled({ sent }: Stored, promised: readonly Promised[]): void {
  const stored = new Map(sent.map((message) => [message.id, message]))
  assert.equal(stored.size, promised.length, 'as many messages as were acknowledged')
  for (const { id, messageId, recipients } of promised) {
    const message = stored.get(id)
    assert.ok(message !== undefined, `message ${id} is stored`)
    assert.equal(message.messageId, messageId)
    assert.equal(message.status, 'sent', `message ${id}: ${JSON.stringify(message)}`)
    const settled = message.deliveries.map(({ recipient, status, queue }) => [
      recipient,
      status,
      queue,
    ])
    const wanted = recipients.map((recipient) => [recipient, 'accepted', null])
    assert.deepEqual(settled.sort(), wanted.sort())
  }
}
