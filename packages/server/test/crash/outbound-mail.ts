// Messages handed to the service through its API, remembered with what was promised about each, and
// the comparison of these promises with what the far end got and the store holds.

import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Inbox, MailroomError, type MessageToSend } from '@mailroom/sdk'
import type { Copy, Sink } from './outbound-sink.ts'
import { type OutboundState, readOutbound } from './outbound-stored.ts'
import type { Service } from './service.ts'

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

/** What is put off because the machine is busy is asked for again, under its key. */
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
    recipients: [message.to, ...(message.cc ?? [])],
    inboxId: answer.inboxId,
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

export type Report = {
  /** Recipients that never had a message that was promised to them. */
  lost: number
  /** Copies beyond the first of a message for a recipient. */
  doubled: number
  /** Copies whose octets are not those of the store. */
  altered: number
  /** Copies of messages that nobody was promised. */
  unknown: number
}

export type Compared = Report & {
  /** Each copy beyond the first, with the copy before it. */
  repeats: { first: Copy; second: Copy }[]
  state: OutboundState
}

/** Of a stopped service. Checks that the store agrees with itself on the way. */
export async function compareOutbound(
  service: Service,
  sink: Sink,
  promised: readonly Promised[],
): Promise<Compared> {
  const state = await readOutbound(service)
  const report: Report = { lost: 0, doubled: 0, altered: 0, unknown: 0 }
  const repeats: Compared['repeats'] = []
  for (const { messageId, recipients } of promised) {
    for (const recipient of recipients) {
      const copies = sink.copiesOf(messageId, recipient)
      if (copies.length === 0) report.lost += 1
      copies.forEach((second, index) => {
        const first = copies[index - 1]
        if (first === undefined) return
        report.doubled += 1
        repeats.push({ first, second })
      })
    }
  }
  const sha256Of = new Map(state.messages.map((message) => [message.messageId, message.sha256]))
  const known = new Set(promised.map(({ messageId }) => messageId))
  for (const { messageId, sha256 } of sink.copies) {
    if (!known.has(messageId)) report.unknown += 1
    if (sha256Of.get(messageId) !== sha256) report.altered += 1
  }
  return { ...report, repeats, state }
}

/** Every promise is kept: one message each, `sent`, every recipient accepted, nothing waits. */
export function assertAllSent({ state }: Compared, promised: readonly Promised[]): void {
  const stored = new Map(state.messages.map((message) => [message.id, message]))
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

export function reportOf({ lost, doubled, altered, unknown }: Compared): Report {
  return { lost, doubled, altered, unknown }
}
