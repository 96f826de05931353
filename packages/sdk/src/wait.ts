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
/** A page of messages. */
const LOOKED_MAX = 100
/** On top of what the service waits: for a slow way there and back. */
export const ANSWER_MS = 30_000

/**
 * The first message that matches, or null. Without `after` it begins by asking what the inbox has; what
 * comes once that was answered counts, however many requests the wait takes. Whoever has done something
 * beforehand that mail may come of gives `after`, since the answer may be quicker.
 *
 * A sent message counts once it is known what became of it. Without `after` those of the newest hundred
 * count that were still under way at the beginning, and all that are sent later; an older one only if
 * it is settled while the service is being asked, which is nearly always.
 */
export async function waitForMessage(
  api: Api,
  inboxId: string,
  { timeoutMs = TIMEOUT_MS_DEFAULT, after, ...wanted }: WaitOptions,
): Promise<Message | null> {
  const endMs = performance.now() + timeoutMs
  const { from, subject, threadId, direction = 'inbound' } = wanted
  const options: RequestOptions = { signal: wanted.signal, maxRetries: wanted.maxRetries }
  const before = after === undefined ? await readPage(api, inboxId, direction, options) : []
  // Behind the newest message lies what was received later, but not what becomes of those before it.
  let cursor = after ?? (direction === 'inbound' ? before[0]?.id : undefined)
  for (;;) {
    const restSeconds = Math.ceil((endMs - performance.now()) / 1000)
    const timeout = Math.min(Math.max(1, restSeconds), REQUEST_SECONDS_MAX)
    const { message } = await api.call({
      id: 'inboxes.wait',
      path: { id: inboxId },
      query: { timeout, after: cursor, from, subject, thread_id: threadId, direction },
      options: { ...options, timeoutMs: timeout * 1000 + ANSWER_MS },
    })
    if (cursor === undefined) {
      // There was nothing to go on from: what came while nobody asked is found by looking.
      const news = await readNews(api, { inboxId, direction, before }, options)
      const first = news.findLast((one) => isMatch(one, wanted))
      if (first !== undefined) return readWhole(api, first, options)
      if (direction === 'inbound') cursor = news[0]?.id
    }
    if (message !== null || performance.now() >= endMs) return message
  }
}

/** Lists cut long bodies. */
async function readWhole(api: Api, listed: Message, options: RequestOptions): Promise<Message> {
  return listed.isTruncated
    ? await api.call({ id: 'messages.get', path: { id: listed.id }, options })
    : listed
}

type Direction = Message['direction']

async function readPage(
  api: Api,
  id: string,
  direction: Direction,
  options: RequestOptions,
): Promise<readonly Message[]> {
  const limit = direction === 'inbound' ? 1 : LOOKED_MAX
  return (await api.list('messages.list', { id }, { direction, limit, ...options }).page()).data
}

/** Newest first: what was not there before, or was still under way. */
async function readNews(
  api: Api,
  {
    inboxId,
    direction,
    before,
  }: { inboxId: string; direction: Direction; before: readonly Message[] },
  options: RequestOptions,
): Promise<Message[]> {
  const news: Message[] = []
  const known = new Map(before.map(({ id, status }) => [id, status]))
  const oldest = before.at(-1)
  for await (const one of api.list('messages.list', { id: inboxId }, { direction, ...options })) {
    const was = known.get(one.id)
    if (was === undefined && oldest !== undefined && one.createdAt < oldest.createdAt) break
    if (was === undefined || was === 'pending') news.push(one)
    if (one.id === oldest?.id) break
  }
  return news
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
