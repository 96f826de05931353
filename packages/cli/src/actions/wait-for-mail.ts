// Waits for a message, or for a message with a code. Also finds mail that arrives between requests.

import type { MessageCategory } from '@mailroom/contract/vocabulary.ts'
import type { Mailroom, Message } from '@mailroom/sdk'
import { Failure } from '#base/failure.ts'
import { openOutput } from '#base/output.ts'
import { plainLine } from '#base/plain-text.ts'
import { readDurationMs, readTime } from '#base/read-input.ts'
import { findInbox, openSession } from '#base/session.ts'
import { showMessage } from '#base/show.ts'
import type { CommonOptions } from './run-operation.ts'

export type WaitOptions = CommonOptions & {
  readonly inbox?: string
  readonly from?: string
  readonly subject?: string
  readonly thread?: string
  readonly category?: MessageCategory
  readonly after?: string
  readonly since?: string
  readonly timeout: string
  readonly code?: true
}

export async function waitForMail(options: WaitOptions): Promise<void> {
  const timeoutMs = readDurationMs(options.timeout)
  const { since } = options
  const sinceAtMs = since === undefined ? null : Date.parse(readTime(since, { isPast: true }))
  const output = openOutput({ isColored: options.color })
  const session = await openSession(options)
  const { client } = session
  const inboxId = await findInbox(session, options.inbox)
  output.progress('Waiting for mail …')
  const wanted = { ...options, timeoutMs, sinceAtMs, inboxId }
  for await (const message of messagesOf(client, wanted)) {
    const code = bestCode(message)
    if (options.code && code === null) continue
    if (options.json) output.json(message)
    else if (options.code) output.write(`${plainLine(code ?? '')}\n`)
    else showMessage(output, message)
    return
  }
  const what = options.code ? 'No message with a code' : 'No message'
  const fix = 'Wait longer with --timeout, or include earlier mail with --since 10m.'
  throw new Failure('timeout', `${what} arrived within ${options.timeout}.`, fix)
}

type Wanted = Omit<WaitOptions, 'timeout' | 'since'> & {
  readonly inboxId: string
  readonly timeoutMs: number
  readonly sinceAtMs: number | null
}

async function* messagesOf(client: Mailroom, wanted: Wanted): AsyncGenerator<Message> {
  const endMs = performance.now() + wanted.timeoutMs
  const { from, subject, thread: threadId, category, inboxId, sinceAtMs } = wanted
  let { after } = wanted
  if (sinceAtMs !== null) {
    let earlier = await readEarlier(client, inboxId, sinceAtMs)
    while (earlier.length === 0 && performance.now() < endMs) {
      // An empty inbox has no message to wait after, so its list is read again.
      const timeout = Math.min(POLL_SECONDS, Math.ceil((endMs - performance.now()) / 1000))
      await client.inboxes.wait(inboxId, { timeout })
      earlier = await readEarlier(client, inboxId, sinceAtMs)
    }
    for (const message of earlier) {
      if (Date.parse(message.createdAt) < sinceAtMs || !isMatch(message, wanted)) continue
      // Lists truncate long bodies.
      yield message.isTruncated ? await client.messages.get(message.id) : message
    }
    after = earlier.at(-1)?.id ?? after
  }
  for (;;) {
    const timeoutMs = endMs - performance.now()
    if (timeoutMs <= 0) return
    const filters = { from, subject, threadId, category, after, timeoutMs }
    const message = await client.inboxes.waitForMessage(inboxId, filters)
    if (message === null) return
    yield message
    after = message.id
  }
}

const POLL_SECONDS = 5

/** Messages received since the given time, oldest first, preceded by the last earlier one. */
async function readEarlier(client: Mailroom, inboxId: string, sinceAtMs: number) {
  const found: Message[] = []
  for await (const message of client.messages.list(inboxId, { direction: 'inbound' })) {
    found.unshift(message)
    if (Date.parse(message.createdAt) < sinceAtMs) break
  }
  return found
}

/** Applies the filters in the same way as the service. */
function isMatch(message: Message, { from = '', subject = '', thread, category }: Wanted): boolean {
  return (
    (category === undefined || message.category === category) &&
    (thread === undefined || message.threadId === thread) &&
    message.fromAddr.toLowerCase().includes(from.toLowerCase()) &&
    message.subject.toLowerCase().includes(subject.toLowerCase())
  )
}

function bestCode(message: Message): string | null {
  return message.extracted?.codes[0]?.value ?? null
}
