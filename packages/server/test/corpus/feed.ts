// Feeds a folder of messages to a service of its own by SMTP and reads them back over the API. It does not know the
// expected results.

import { hash } from 'node:crypto'
import {
  asClientSends,
  type MessageFile,
  messageFiles,
} from '@mailroom/mail-reading/test/corpus/message-files.ts'
import type { Mailroom } from '@mailroom/sdk'
import { openSender } from '#test/peers/sender.ts'
import { clientOf, emptyPlace, type ServiceProcess } from '#test/scenarios/service-process.ts'
import { ENVELOPE_SENDER, type FedBack, readBack } from './feed-read-back.ts'

export type FedMessage = {
  readonly path: string
  /** SHA-256 of the octets as the client sent them. */
  readonly sha256: string
  readonly outcome: 'accepted' | 'loop' | 'refused'
  /** Code and text of the reply to the final dot. */
  readonly reply: string
  /** From MAIL to the reply to the final dot. */
  readonly intakeMs: number
  readonly hadBareCarriageReturn: boolean
}

export type Feed = {
  readonly fed: readonly FedMessage[]
  /** What the API says, by the SHA-256 of the raw message. */
  readonly read: ReadonlyMap<string, FedBack>
  /** The output of the service if it ended early; null otherwise. */
  readonly crash: string | null
  readonly feedMs: number
  readonly readMs: number
}

const KEY = 'key-of-the-corpus-run-0123456789'
const CONNECTIONS = 2

/** Starts `serve` on an empty data directory and free ports; stops it and removes its files. */
export async function feedFolder(folder: string): Promise<Feed> {
  const place = await emptyPlace('sqlite')
  const service = place.start({
    MAILROOM_BOOTSTRAP_API_KEY: KEY,
    MAILROOM_LIMIT_API_PER_MINUTE: '1000000',
    MAILROOM_LOG_LEVEL: 'info',
    // Refuses at once: real domains of the senders may want such copies of their mail refused.
    MAILROOM_DNS_SERVERS: '127.0.0.1:9',
  })
  try {
    const { http, smtpPort } = await service.ready
    return await feedInto(service, folder, clientOf(http, KEY), smtpPort)
  } finally {
    await place.remove()
  }
}

async function feedInto(
  service: ServiceProcess,
  folder: string,
  client: Mailroom,
  smtpPort: number,
): Promise<Feed> {
  const inbox = await client.inboxes.create()
  const fed: FedMessage[] = []
  let crash: string | null = null
  const startMs = performance.now()
  let feedMs = 0
  let read: ReadonlyMap<string, FedBack> = new Map()
  try {
    const files = messageFiles(folder)
    const streams = Array.from({ length: CONNECTIONS }, () =>
      feedStream(files, smtpPort, inbox.address, fed),
    )
    await Promise.all(streams)
    feedMs = performance.now() - startMs
    read = await readBack(client, inbox.id)
    const code = await service.stop()
    if (code !== 0) crash = `It ended with ${code}:\n${service.output()}`
  } catch (error) {
    const hasEnded = await Promise.race([
      service.ended.then(() => true),
      settled().then(() => false),
    ])
    if (!hasEnded) throw error
    crash = service.output()
  }
  return { fed, read, crash, feedMs, readMs: performance.now() - startMs - feedMs }
}

/** Takes the next file as long as there is one; several streams share the files. */
async function feedStream(
  files: Iterator<MessageFile> & Iterable<MessageFile>,
  port: number,
  recipient: string,
  fed: FedMessage[],
): Promise<void> {
  const sender = await openSender(port)
  for (let next = files.next(); next.done !== true; next = files.next()) {
    const { path, raw } = next.value
    const octets = asClientSends(raw)
    const startMs = performance.now()
    const reply = await sender.send({ from: ENVELOPE_SENDER, to: recipient, raw: octets })
    const text = `${reply.code} ${reply.lines.join(' ')}`
    fed.push({
      path,
      sha256: hash('sha256', octets),
      outcome: outcomeOf(text),
      reply: text,
      intakeMs: performance.now() - startMs,
      hadBareCarriageReturn: /\r(?!\n)/.test(Buffer.from(raw).toString('latin1')),
    })
  }
  await sender.quit()
}

function outcomeOf(reply: string): FedMessage['outcome'] {
  if (reply.startsWith('250 ')) return 'accepted'
  return reply.startsWith('554 5.4.6') ? 'loop' : 'refused'
}

/** Long enough to notice that the process has ended already. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 500))
}
