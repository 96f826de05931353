// Waits for a message for any length of time, in requests of at most a minute, without missing a
// message that arrives between two requests.

import type { Message } from '@mailroom/contract/messages.ts'
import type { Api } from './api.ts'
import type { RequestOptions } from './transport.ts'

export type WaitOptions = {
  /** Maximum wait, rounded up to whole seconds; default 30 seconds. */
  timeoutMs?: number
  /** The id of a message or an event; messages that arrived after it match too. */
  after?: string
  /** Only messages whose sender contains this text, ignoring case. */
  from?: string
  /** Only messages whose subject contains this text, ignoring case. */
  subject?: string
  threadId?: string
  /** Only received messages of this category. */
  category?: NonNullable<Message['category']>
  /** Default `inbound`. */
  direction?: Message['direction']
  /** Aborting it rejects with its reason. */
  signal?: AbortSignal
  maxRetries?: number
}

const TIMEOUT_MS_DEFAULT = 30_000
const REQUEST_SECONDS_MAX = 60
/** Messages on one page. */
const SEARCHED_MAX = 100
/** The timeout of a request is this much longer than the wait, for slow networks. */
export const ANSWER_MS = 30_000

/**
 * The first matching message, or null. Without `after`, only messages match that arrive after the
 * call has read the inbox. If you caused the mail before the call, pass `after`, because the
 * message may already have arrived.
 *
 * A sent message matches once its outcome is known. Without `after`, this includes later messages
 * and any of the newest hundred that were pending at the start. An older message matches only if
 * its outcome becomes known during a request, which is nearly always the case.
 */
export async function waitForMessage(
  api: Api,
  inboxId: string,
  { timeoutMs = TIMEOUT_MS_DEFAULT, after, ...wanted }: WaitOptions,
): Promise<Message | null> {
  const endMs = performance.now() + timeoutMs
  const { from, subject, threadId, category, direction = 'inbound' } = wanted
  const options: RequestOptions = { signal: wanted.signal, maxRetries: wanted.maxRetries }
  const before = after === undefined ? await readPage(api, inboxId, direction, options) : []
  // Later messages follow the newest one; outcomes of earlier messages do not.
  let cursor = after ?? (direction === 'inbound' ? before[0]?.id : undefined)
  for (;;) {
    const restSeconds = Math.ceil((endMs - performance.now()) / 1000)
    const timeout = Math.min(Math.max(1, restSeconds), REQUEST_SECONDS_MAX)
    const { message } = await api.call({
      id: 'inboxes.wait',
      path: { id: inboxId },
      query: { timeout, after: cursor, from, subject, thread_id: threadId, category, direction },
      options: { ...options, timeoutMs: timeout * 1000 + ANSWER_MS },
    })
    if (cursor === undefined) {
      // Without a cursor, messages that arrived between two requests are found in the list.
      const added = await readAdded(api, { inboxId, direction, before }, options)
      const first = added.findLast((one) => isMatch(one, wanted))
      if (first !== undefined) return readWhole(api, first, options)
      if (direction === 'inbound') cursor = added[0]?.id
    }
    if (message !== null || performance.now() >= endMs) return message
  }
}

/** Reads the full message, because lists truncate long bodies. */
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
  const limit = direction === 'inbound' ? 1 : SEARCHED_MAX
  return (await api.list('messages.list', { id }, { direction, limit, ...options }).page()).data
}

/** Messages that are new or were pending before, newest first. */
async function readAdded(
  api: Api,
  {
    inboxId,
    direction,
    before,
  }: { inboxId: string; direction: Direction; before: readonly Message[] },
  options: RequestOptions,
): Promise<Message[]> {
  const added: Message[] = []
  const known = new Map(before.map(({ id, status }) => [id, status]))
  const oldest = before.at(-1)
  for await (const one of api.list('messages.list', { id: inboxId }, { direction, ...options })) {
    const was = known.get(one.id)
    if (was === undefined && oldest !== undefined && one.createdAt < oldest.createdAt) break
    if (was === undefined || was === 'pending') added.push(one)
    if (one.id === oldest?.id) break
  }
  return added
}

/** Applies the filters in the same way as the service. */
function isMatch(
  message: Message,
  { from = '', subject = '', threadId, category, direction = 'inbound' }: WaitOptions,
): boolean {
  return (
    message.direction === direction &&
    (category === undefined || message.category === category) &&
    (direction === 'inbound' || message.status !== 'pending') &&
    (threadId === undefined || message.threadId === threadId) &&
    message.fromAddr.toLowerCase().includes(from.toLowerCase()) &&
    message.subject.toLowerCase().includes(subject.toLowerCase())
  )
}
