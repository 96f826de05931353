// Waiting for a message for any length of time, in requests of a minute at most, without missing one
// that comes between two of them.

import type { Message } from '@mailroom/contract/shapes/message.ts'
import type { Api } from './api.ts'
import type { RequestOptions } from './transport.ts'

export type WaitOptions = {
  /** How long at most; rounded up to whole seconds, default 30. */
  timeoutMs?: number
  /** The id of a message or an event: a message that came after it counts, too. */
  after?: string
  /** Only messages with this text in their sender, in any case of letters. */
  from?: string
  /** Only messages with this text in their subject, in any case of letters. */
  subject?: string
  threadId?: string
  /** Default `inbound`. */
  direction?: Message['direction']
  /** What waits rejects with its reason. */
  signal?: AbortSignal
  maxRetries?: number
}

const TIMEOUT_MS_DEFAULT = 30_000
const REQUEST_SECONDS_MAX = 60
/** On top of what the service waits: for a slow way there and back. */
export const ANSWER_MS = 30_000

/**
 * The first message that matches, or null. Without `after` the newest message of the inbox is looked
 * up first and everything behind it counts, so each request goes on where the one before began. An
 * inbox without messages has nothing to go on from: there, everything that it holds after a request
 * came during the wait, and is looked through.
 */
export async function waitForMessage(
  api: Api,
  inboxId: string,
  { timeoutMs = TIMEOUT_MS_DEFAULT, after, ...wanted }: WaitOptions,
): Promise<Message | null> {
  const endMs = performance.now() + timeoutMs
  const options: RequestOptions = { signal: wanted.signal, maxRetries: wanted.maxRetries }
  let cursor = after ?? (await findNewest(api, inboxId, options))
  for (;;) {
    const restSeconds = Math.ceil((endMs - performance.now()) / 1000)
    const timeout = Math.min(Math.max(1, restSeconds), REQUEST_SECONDS_MAX)
    const { from, subject, threadId, direction } = wanted
    const { message } = await api.call({
      id: 'inboxes.wait',
      path: { id: inboxId },
      query: { timeout, after: cursor, from, subject, thread_id: threadId, direction },
      options: { ...options, timeoutMs: timeout * 1000 + ANSWER_MS },
    })
    if (cursor === undefined) {
      const held = await readAll(api, inboxId, options)
      const first = held.findLast((one) => isMatch(one, wanted))
      if (first !== undefined) return first
      cursor = held[0]?.id
    }
    if (message !== null || performance.now() >= endMs) return message
  }
}

async function findNewest(
  api: Api,
  inboxId: string,
  options: RequestOptions,
): Promise<string | undefined> {
  const list = api.list('messages.list', { id: inboxId }, { limit: 1, ...options })
  return (await list.page()).data[0]?.id
}

/** Newest first. */
async function readAll(api: Api, inboxId: string, options: RequestOptions): Promise<Message[]> {
  const held: Message[] = []
  for await (const one of api.list('messages.list', { id: inboxId }, options)) held.push(one)
  return held
}

/** As the service matches. */
function isMatch(
  message: Message,
  { from = '', subject = '', threadId, direction = 'inbound' }: WaitOptions,
): boolean {
  return (
    message.direction === direction &&
    (direction === 'inbound' || message.status !== 'pending') &&
    (threadId === undefined || message.threadId === threadId) &&
    message.fromAddr.toLowerCase().includes(from.toLowerCase()) &&
    message.subject.toLowerCase().includes(subject.toLowerCase())
  )
}
