// Reports of bounces for a service that is killed now and then: mail to report on, and servers that bring the reports.

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Inbox } from '@mailroom/sdk'
import type { Mail } from '#test/peers/sender.ts'
import type { Service } from './service.ts'

/** A recipient with the return path to which a report about it goes. */
export type Reported = { readonly recipient: string; readonly path: string }

const CLIENTS = 8
const RETRY_MS = 20

/** Sends `count` messages to the sandbox, which shows their return paths; resolves when all are `sent`. */
export async function sendToReport(
  { client }: Service,
  inbox: Inbox,
  count: number,
): Promise<Reported[]> {
  const numbers = Array.from({ length: count }, (_, number) => number).values()
  const send = async () => {
    for (const number of numbers) {
      const to = `bob${number}@far.example`
      await client.inboxes.send(inbox.id, { to, subject: 'A subject', body: 'A body.' })
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, send))
  for (let isSent = false; !isSent; ) {
    isSent = true
    for await (const { status } of client.messages.list(inbox.id, { limit: 100 })) {
      isSent &&= status === 'sent'
    }
    await sleep(RETRY_MS)
  }
  const reports: Reported[] = []
  for await (const { to, reversePath } of client.sandbox.list({ limit: 100 })) {
    reports.push({ recipient: to[0] ?? '', path: reversePath })
  }
  assert.equal(reports.length, count)
  return reports
}

/** One transaction: `cut` when a kill ended it, `away` when the service did not take the connection. */
export async function offerMail(
  service: Service,
  mail: Mail,
): Promise<'taken' | 'refused' | 'away' | 'cut'> {
  const sender = await service.sender().catch(() => null)
  if (sender === null) return 'away'
  try {
    return (await sender.send(mail)).code === 250 ? 'taken' : 'refused'
  } catch {
    return 'cut'
  } finally {
    sender.socket.destroy()
  }
}
