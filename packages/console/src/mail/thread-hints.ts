// Who wrote last in a thread and how it begins, which the list of threads does not tell: learnt from
// the newest messages of the inbox, from events, and at last from the thread itself.

import type { Thread } from '@mailroom/sdk'
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useLive } from '#data/live.ts'
import { client } from '#data/session.ts'

export type Hint = { at: string; isOwn: boolean; who: string; beginning: string }

export const hints = signal<ReadonlyMap<string, Hint>>(new Map())

const BEGINNING_LENGTH = 140
const HINTS_MAX = 2_000
/** From so many on, messages of the inbox are read at once. */
const MANY = 4
const NEWEST = 40

/** Those of another account are nobody's business. */
export function forgetHints(): void {
  hints.value = new Map()
}

type Told = {
  threadId: string
  direction: 'inbound' | 'outbound'
  fromAddr: string
  toAddr: string
  extractedText: string
  bodyText: string
  createdAt: string
}

/** Reads what is missing for these threads, which are the page of the list that begins there. */
export function useThreadHints(inboxId: string, threads: readonly Thread[], offset: number): void {
  useLive(({ message, thread_id }) => {
    if (message === undefined || thread_id === null) return
    const at = message.received_at ?? message.sent_at
    if (at === undefined) return
    learn([
      {
        threadId: thread_id,
        direction: message.direction,
        fromAddr: message.from,
        toAddr: message.to,
        extractedText: message.extracted_text,
        bodyText: message.body_text,
        createdAt: at,
      },
    ])
  })
  const names = threads.map(({ id, lastMessageAt }) => `${id} ${lastMessageAt}`).join()
  useEffect(() => {
    const leaving = new AbortController()
    readMissing(inboxId, threads, offset, leaving.signal).catch(() => {})
    return () => leaving.abort()
  }, [inboxId, names])
}

async function readMissing(
  inboxId: string,
  threads: readonly Thread[],
  offset: number,
  signal: AbortSignal,
): Promise<void> {
  const missing = () =>
    threads.filter(({ id, lastMessageAt }) => (hints.value.get(id)?.at ?? '') < lastMessageAt)
  if (missing().length >= MANY) {
    // Where most threads are of one message, their messages stand where they do.
    learn((await client.messages.list(inboxId, { limit: NEWEST, offset, signal }).page()).data)
  }
  for (const { id, messageCount } of missing()) {
    const last = Math.max(0, messageCount - 1)
    learn((await client.threads.messages(id, { limit: 1, offset: last, signal })).data)
  }
}

function learn(messages: readonly Told[]): void {
  const known = new Map(hints.value)
  for (const message of messages) {
    const { threadId, direction, createdAt } = message
    if ((known.get(threadId)?.at ?? '') > createdAt) continue
    const isOwn = direction === 'outbound'
    known.delete(threadId)
    known.set(threadId, {
      at: createdAt,
      isOwn,
      who: isOwn ? message.toAddr : message.fromAddr,
      beginning: (message.extractedText || message.bodyText)
        .slice(0, BEGINNING_LENGTH * 4)
        .replaceAll(/\s+/g, ' ')
        .trim()
        .slice(0, BEGINNING_LENGTH),
    })
  }
  const excess = known.size - HINTS_MAX
  if (excess > 0) for (const id of [...known.keys()].slice(0, excess)) known.delete(id)
  hints.value = known
}
