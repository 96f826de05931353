// A receiver for tests of the engine: one invented domain, and a record of received messages.

import { type Reply, reply } from '@mailroom/mail/smtp/reply.ts'
import type {
  Client,
  Envelope,
  MailReceiver,
  ReceivedContent,
} from '@mailroom/smtp/server/session.ts'

export type Received = {
  readonly content: Buffer
  readonly bareLineFeeds: number
  readonly envelope: Envelope
  readonly client: Client
}

const ACCEPTED = reply(250, '2.1.5', 'Recipient OK')
const STORED = reply(250, '2.0.0', 'Stored')

export class RecordingReceiver implements MailReceiver {
  readonly received: Received[] = []
  readonly checked: string[] = []
  /** Answers wait for this promise if it is set. */
  gate: Promise<void> | null = null

  checkRecipient(recipient: string): Reply | Promise<Reply> {
    this.checked.push(recipient)
    if (/^crash@/.test(recipient)) throw new Error('the receiver broke')
    return this.#answer(judgeRecipient(recipient))
  }

  receiveMessage(
    content: ReceivedContent,
    envelope: Envelope,
    client: Client,
  ): Reply | Promise<Reply> {
    const bytes = Buffer.concat(content.chunks)
    if (bytes.length !== content.sizeBytes) throw new Error('sizeBytes is not the size')
    if (bytes.includes('REFUSE')) return this.#answer(reply(550, '5.7.1', 'Refused'))
    if (bytes.includes('CRASH')) return Promise.reject(new Error('the receiver broke'))
    const { bareLineFeeds } = content
    this.received.push({ content: bytes, bareLineFeeds, envelope, client })
    return this.#answer(STORED)
  }

  #answer(answer: Reply): Reply | Promise<Reply> {
    return this.gate === null ? answer : this.gate.then(() => answer)
  }
}

/** The answer of this receiver to a recipient. */
export function judgeRecipient(recipient: string): Reply {
  if (/^busy@/.test(recipient)) return reply(450, '4.2.1', 'Mailbox busy')
  if (/^postmaster$/i.test(recipient) || /^u.*@x\.example$/i.test(recipient)) return ACCEPTED
  if (/^(ü|用户).*@x\.example$/.test(recipient)) return ACCEPTED
  if (/@x\.example$/i.test(recipient)) return reply(550, '5.1.1', 'No such mailbox')
  return reply(550, '5.7.1', 'Relaying denied')
}
