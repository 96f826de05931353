// Whether the lists of an inbox agree with each other, read to their ends.

import assert from 'node:assert/strict'
import type { Mailroom } from '@mailroom/sdk'

export type InboxLists = { live: number; trashed: number; threads: number; trashedThreads: number }

/** The numbers of messages and threads; fails where a total, a page or an unread count differs from the rest. */
export async function checkLists(client: Mailroom, inboxId: string): Promise<InboxLists> {
  const messages = await Array.fromAsync(client.messages.list(inboxId, { limit: 100 }))
  const { total } = await client.messages.list(inboxId, { limit: 1 }).page()
  assert.equal(total, messages.length)
  assert.equal(new Set(messages.map(({ id }) => id)).size, messages.length)
  const byThread = Map.groupBy(messages, ({ threadId }) => threadId)
  const threads = await Array.fromAsync(client.threads.list(inboxId, { limit: 100 }))
  assert.equal((await client.threads.list(inboxId, { limit: 1 }).page()).total, threads.length)
  assert.deepEqual(
    threads.map(({ id, messageCount }) => [id, messageCount]),
    threads.map(({ id }) => [id, byThread.get(id)?.length]),
  )
  assert.equal(byThread.size, threads.length)
  const unread = threads.filter(({ isRead }) => !isRead).length
  assert.equal((await client.inboxes.get(inboxId)).unreadThreads, unread)
  const trash = client.threads.list(inboxId, { trashed: true, limit: 100 })
  const trashedThreads = await Array.fromAsync(trash)
  const { total: inTrash } = await client.threads.list(inboxId, { trashed: true, limit: 1 }).page()
  assert.equal(inTrash, trashedThreads.length)
  let trashed = 0
  for (const { id, messageCount } of trashedThreads) {
    assert.equal((await client.threads.messages(id)).data.length, messageCount)
    trashed += messageCount
  }
  return {
    live: messages.length,
    trashed,
    threads: threads.length,
    trashedThreads: trashedThreads.length,
  }
}
