// Prints threads and messages: for people, as Markdown for models, or raw.

import type { BodyOf } from '@mailroom/contract/operations.ts'
import { Failure } from '#base/failure.ts'
import { openOutput } from '#base/output.ts'
import { plainBlock } from '#base/plain-text.ts'
import { readTime } from '#base/read-input.ts'
import { openSession, type Session } from '#base/session.ts'
import { showItem, showMessage, showMessages } from '#base/show.ts'
import { type CommonOptions, writeContent } from './run-operation.ts'

type ViewOptions = CommonOptions & {
  readonly view?: true
  readonly maxChars?: string
  readonly offset?: string
}

export type ReadOptions = ViewOptions & { readonly raw?: true }

export async function readMessage(id: string, options: ReadOptions): Promise<void> {
  const session = await openSession(options)
  if (options.view) return printView(session, 'messages.view', id, options)
  const output = openOutput({ isColored: options.color })
  if (options.raw) return writeContent(output, (await session.client.messages.raw(id)).content)
  const message = await session.client.messages.get(id)
  if (options.json) output.json(message)
  else showMessage(output, message)
}

export async function readThread(id: string, options: ViewOptions): Promise<void> {
  const session = await openSession(options)
  if (options.view) return printView(session, 'threads.view', id, options)
  const output = openOutput({ isColored: options.color })
  const thread = await session.client.threads.messages(id)
  if (options.json) output.json(thread)
  else showMessages(output, thread)
}

/** Reports each thread as soon as it is marked. */
export async function markThreads(
  ids: readonly string[],
  isRead: boolean,
  options: CommonOptions,
): Promise<void> {
  const session = await openSession(options)
  const output = openOutput({ isColored: options.color })
  for (const id of ids) {
    const thread = await session.client.threads.update(id, { is_read: isRead })
    if (options.json) output.json(thread)
    else if (output.isTerminal) output.note(`${id} is ${isRead ? 'read' : 'unread'}.`)
  }
}

export async function updateThread(
  id: string,
  change: BodyOf<'threads.update'>,
  options: CommonOptions,
): Promise<void> {
  const session = await openSession(options)
  const thread = await session.client.threads.update(id, change)
  const output = openOutput({ isColored: options.color })
  if (options.json) output.json(thread)
  else showItem(output, thread)
}

/** `until` is a time or a duration; null ends the snooze. */
export async function snoozeThread(
  id: string,
  until: string | null,
  options: CommonOptions,
): Promise<void> {
  const snoozedUntil = until === null ? null : readTime(until, { isPast: false })
  await updateThread(id, { snoozedUntil }, options)
}

type LabelOptions = CommonOptions & { readonly add?: string[]; readonly remove?: string[] }

export async function labelMail(
  kind: 'thread' | 'message',
  id: string,
  { add, remove, ...options }: LabelOptions,
): Promise<void> {
  if (add === undefined && remove === undefined) {
    throw new Failure('usage', 'There is nothing to change.', 'Give --add or --remove.')
  }
  const change = { addLabels: add, removeLabels: remove }
  if (kind === 'thread') return updateThread(id, change, options)
  const session = await openSession(options)
  const { labels } = await session.client.messages.update(id, change)
  const output = openOutput({ isColored: options.color })
  if (options.json) output.json({ id, labels })
  else showItem(output, { id, labels })
}

async function printView(
  { transport }: Session,
  operation: 'messages.view' | 'threads.view',
  id: string,
  { maxChars, offset, color }: ViewOptions,
): Promise<void> {
  const output = openOutput({ isColored: color })
  const { headers, bytes } = await transport.send({
    id: operation,
    path: { id },
    query: { max_chars: maxChars, offset },
  })
  output.write(plainBlock(new TextDecoder().decode(bytes)))
  const next = headers.get('x-view-next-offset')
  if (next !== null) {
    const total = headers.get('x-view-total-chars')
    output.note(`Continue with --offset ${next}; ${total} characters in total.`)
  }
}
