// Load on two processes that share a database: clients that turn from one to the other whenever they get
// no answer, and what the database holds in the end.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Inbox, MailroomError } from '@mailroom/sdk'
import { openStore, silentObserver } from '#wiring/store.ts'
import type { Random } from './intake.ts'
import { composeNumber, type Promised, promisedOf } from './outbound-mail.ts'
import type { Sink } from './outbound-sink.ts'
import type { Service } from './service.ts'
import type { StoredMessage } from './stored.ts'

export type Pair = readonly [Service, Service]

const RETRY_MS = 50

type SendingOptions = {
  pair: Pair
  sink: Sink
  inboxes: readonly Pick<Inbox, 'id'>[]
  clients: number
  random: Random
  /** Milliseconds of each client between an acknowledgement and its next message. */
  gapMs: number
}

/** Clients that send each message, under its key, to either process until one acknowledges it. */
export class PairSending {
  readonly promised: Promised[] = []
  /** Requests that were put off, or got no answer. */
  unanswered = 0
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

  /** Lets every client finish the message it is at; a process must be there. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  abandon(): void {
    this.#isStopped = true
    this.#isAbandoned = true
  }

  async #run(): Promise<void> {
    const { sink, inboxes, gapMs } = this.#options
    while (!this.#isStopped) {
      const number = this.#next++
      const message = composeNumber(sink, number)
      const inboxId = inboxes[number % inboxes.length]?.id ?? ''
      const options = { idempotencyKey: `key-${number}` }
      let answer: Parameters<typeof promisedOf>[0] | null = null
      while (answer === null) {
        if (this.#isAbandoned) return
        answer = await this.#ask((service) =>
          service.client.inboxes.send(inboxId, message, options),
        )
      }
      this.promised.push(promisedOf(answer, message))
      await sleep(gapMs)
    }
  }

  async #ask<Answer>(ask: (service: Service) => Promise<Answer>): Promise<Answer | null> {
    const { pair, random } = this.#options
    try {
      return await ask(random() < 0.5 ? pair[0] : pair[1])
    } catch (error) {
      if (error instanceof MailroomError && error.status > 0 && error.status !== 503) throw error
      this.unanswered += 1
      await sleep(RETRY_MS)
      return null
    }
  }
}

export type PairState = {
  received: StoredMessage[]
  /** Of messages that were sent: their status, the hash of their octets, and what became of each recipient. */
  sent: Map<string, { status: string; sha256: string; recipients: string[] }>
}

/** Everything that the database holds, once nothing happens any more. */
export async function readPair(service: Service): Promise<PairState> {
  const store = await openStore({
    settings: service.settings,
    as: 'command',
    observer: silentObserver,
    onError: () => {},
  })
  try {
    const { read } = store.db
    const hashes = new Map<string, string>()
    for (const raw of await read.selectFrom('raw_messages').selectAll().execute()) {
      assert.ok(raw.content !== null, `raw message ${raw.id} has its bytes`)
      const sha256 = hash('sha256', raw.content, 'hex')
      assert.equal(sha256, Buffer.from(raw.sha256).toString('hex'), `${raw.id} is whole`)
      hashes.set(raw.id, sha256)
    }
    const state: PairState = { received: [], sent: new Map() }
    const messages = await read.selectFrom('messages').selectAll().orderBy('position').execute()
    for (const message of messages) {
      const sha256 = hashes.get(message.raw_id) ?? ''
      const { id, inbox_id: inboxId, rfc_message_id: rfcMessageId, status } = message
      if (message.direction === 'inbound') state.received.push({ inboxId, rfcMessageId, sha256 })
      else state.sent.set(id, { status, sha256, recipients: [] })
    }
    for (const row of await read.selectFrom('deliveries').selectAll().orderBy('id').execute()) {
      assert.equal(row.status, 'accepted', `${row.recipient}: ${row.response}`)
      state.sent.get(row.message_id)?.recipients.push(row.recipient)
    }
    const told = await read
      .selectFrom('events')
      .select(['kind', 'message_id'])
      .where('kind', 'in', ['message.received', 'message.sent'])
      .execute()
    assert.deepEqual(
      told.map(({ message_id }) => message_id).sort(),
      messages.map(({ id }) => id).sort(),
      'each message has one event',
    )
    return state
  } finally {
    await store.close()
  }
}
