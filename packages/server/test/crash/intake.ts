// Sending mail servers that never lose a message of their own: each keeps a connection, remembers acknowledged messages
// and repeats the others byte for byte.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sender } from '#test/peers/sender.ts'
import type { Service } from './service.ts'
import { type ReceivedMessage, readStored } from './stored.ts'

export type Acknowledged = { messageId: string; inboxIds: string[]; sha256: string }

export type Target = { id: string; address: string }

export type Random = () => number

/** Marsaglia's xorshift: the same seed gives the same sizes and moments. */
export function seededRandom(seed: number): Random {
  let state = seed | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

const RETRY_MS = 50
const LOOK_MS = 5

/** Clients that send until they are stopped. */
export class Intake {
  readonly acknowledged: Acknowledged[] = []
  /** Reply codes other than 250 to a message, with how often each came. */
  readonly refusals = new Map<string, number>()
  /** Messages under way when their connection was lost. */
  unanswered = 0
  readonly #running: Promise<void>[]
  readonly #service: Service
  readonly #targets: readonly Target[]
  readonly #random: Random
  #isStopped = false
  #isAbandoned = false
  readonly #largeShare: number
  readonly #gapMs: number

  constructor(options: {
    service: Service
    targets: readonly Target[]
    clients: number
    random: Random
    /** Of messages that are too large for a row of the database. */
    largeShare?: number
    /** Milliseconds of each client between an acknowledgement and its next message; 0 unless given. */
    gapMs?: number
  }) {
    this.#service = options.service
    this.#targets = options.targets
    this.#random = options.random
    this.#largeShare = options.largeShare ?? 0.05
    this.#gapMs = options.gapMs ?? 0
    this.#running = Array.from({ length: options.clients }, (_, client) => this.#send(client))
  }

  /** Waits for so many more acknowledgements, or for the time to pass. */
  async untilAcknowledged(count: number, withinMs: number): Promise<void> {
    const wanted = this.acknowledged.length + count
    const endMs = performance.now() + withinMs
    while (this.acknowledged.length < wanted && performance.now() < endMs) await sleep(LOOK_MS)
  }

  /** Lets every client finish the message it is at; the service must be there. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  /** Stops without a care for the messages at hand; for a test that failed. */
  abandon(): void {
    this.#isStopped = true
    this.#isAbandoned = true
  }

  async #send(client: number): Promise<void> {
    let sender: Sender | null = null
    for (let number = 0; !this.#isStopped; number++) {
      const message = this.#compose(client, number)
      for (let isAcknowledged = false; !isAcknowledged; ) {
        if (this.#isAbandoned) return void sender?.socket.destroy()
        try {
          sender ??= await this.#service.sender()
          const reply = await sender.send({ to: message.to, raw: message.raw })
          isAcknowledged = reply.code === 250
          if (!isAcknowledged) this.#countRefusal(`${reply.code} ${reply.lines[0]?.slice(0, 5)}`)
        } catch {
          if (sender !== null) this.unanswered++
          sender?.socket.destroy()
          sender = null
        }
        if (isAcknowledged) break
        if (sender?.socket.destroyed) sender = null
        else await sender?.command('RSET').catch(() => (sender = null))
        await sleep(RETRY_MS)
      }
      const { messageId, inboxIds, raw } = message
      this.acknowledged.push({ messageId, inboxIds, sha256: hash('sha256', raw, 'hex') })
      if (this.#gapMs > 0) await sleep(this.#gapMs)
    }
    await sender?.quit().catch(() => {})
  }

  #countRefusal(code: string): void {
    this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1)
  }

  #compose(client: number, number: number) {
    const random = this.#random
    const first = this.#targets[Math.floor(random() * this.#targets.length)]
    const second =
      random() < 0.2 ? this.#targets[Math.floor(random() * this.#targets.length)] : first
    assert.ok(first !== undefined && second !== undefined)
    const targets = [...new Set([first, second])]
    const messageId = `<${client}-${number}@crash.example>`
    const isLarge = random() < this.#largeShare
    const sizeBytes = isLarge ? 130_000 + random() * 200_000 : 100 + random() ** 4 * 60_000
    const line = `${hash('sha256', messageId, 'hex')} .${number}`
    const isReply = number > 0 && random() < 0.4
    const header = [
      'From: Ann <ann@sender.example>',
      `To: ${first.address}`,
      `Subject: Message ${number} of client ${client}`,
      `Message-ID: ${messageId}`,
      ...(isReply ? [`In-Reply-To: <${client}-${number - 1}@crash.example>`] : []),
      'Date: Fri, 20 Nov 2026 09:00:00 +0000',
    ]
    const body = `.${line}\r\n`.repeat(Math.ceil(sizeBytes / (line.length + 3)))
    return {
      messageId,
      inboxIds: targets.map(({ id }) => id),
      to: targets.map(({ address }) => address),
      raw: Buffer.from(`${header.join('\r\n')}\r\n\r\n${body}`),
    }
  }
}

/** Stops the service. All acknowledged messages must be stored once, and whole. */
export async function assertNothingLost(
  service: Service,
  acknowledged: readonly Acknowledged[],
): Promise<void> {
  await service.stopWell()
  compareReceived(acknowledged, (await readStored(service)).received)
}

export function compareReceived(
  acknowledged: readonly Acknowledged[],
  received: readonly ReceivedMessage[],
): void {
  const copiesOf = Map.groupBy(received, (copy) => `${copy.inboxId} ${copy.rfcMessageId}`)
  const losses = { lost: 0, truncated: 0, doubled: received.length - copiesOf.size }
  for (const { messageId, inboxIds, sha256 } of acknowledged) {
    for (const inboxId of inboxIds) {
      const [copy] = copiesOf.get(`${inboxId} ${messageId}`) ?? []
      if (copy === undefined) losses.lost += 1
      else if (copy.sha256 !== sha256) losses.truncated += 1
    }
  }
  assert.deepEqual(losses, { lost: 0, truncated: 0, doubled: 0 })
}
