// What a stopped service left in its store, read beside it, and everything that has to be true of it
// whatever happened before.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { openSqliteConnection } from '#platform/db/sqlite-connection.ts'
import { databasePath, openStore, silentObserver } from '#wiring/store.ts'
import type { Service } from './service.ts'

export type StoredMessage = {
  inboxId: string
  rfcMessageId: string | null
  /** Of the raw bytes as they are read back now. */
  sha256: string
}

/** Every message with the hash of its bytes. Throws when the store contradicts itself. */
export async function readStored(service: Service): Promise<StoredMessage[]> {
  const { settings } = service
  if (settings.databaseUrl === null) checkIntegrity(databasePath(settings))
  const store = await openStore({
    settings,
    as: 'command',
    observer: silentObserver,
    onError: () => {},
  })
  try {
    const { read } = store.db
    const messages = await read.selectFrom('messages').selectAll().orderBy('position').execute()
    const messagesOf = Map.groupBy(messages, ({ raw_id }) => raw_id)
    const hashes = new Map<string, string>()
    for (const raw of await read.selectFrom('raw_messages').selectAll().execute()) {
      const content = raw.content ?? (await store.blobs?.get(raw.id)) ?? null
      assert.ok(content !== null, `raw message ${raw.id} has its bytes`)
      assert.equal(content.length, raw.size_bytes, `raw message ${raw.id} has its size`)
      const sha256 = hash('sha256', content, 'hex')
      assert.equal(
        sha256,
        Buffer.from(raw.sha256).toString('hex'),
        `raw message ${raw.id} is whole`,
      )
      const references = messagesOf.get(raw.id)?.length ?? 0
      assert.equal(raw.reference_count, references, `raw message ${raw.id} counts its references`)
      hashes.set(raw.id, sha256)
    }
    checkThreads(await read.selectFrom('threads').selectAll().execute(), messages)
    checkCounters(
      await read.selectFrom('inbox_counters').selectAll().execute(),
      await read.selectFrom('threads').selectAll().execute(),
      messages,
    )
    const events = await read
      .selectFrom('events')
      .select('message_id')
      .where('kind', '=', 'message.received')
      .execute()
    assert.deepEqual(
      events.map(({ message_id }) => message_id).sort(),
      messages.map(({ id }) => id).sort(),
      'each message has one event',
    )
    return messages.map((message) => {
      const sha256 = hashes.get(message.raw_id)
      assert.ok(sha256 !== undefined, `message ${message.id} has a raw message`)
      return { inboxId: message.inbox_id, rfcMessageId: message.rfc_message_id, sha256 }
    })
  } finally {
    await store.close()
  }
}

/** SQLite's own opinion of the file. */
export function checkIntegrity(path: string): void {
  const connection = openSqliteConnection({ path, mode: 'read' })
  try {
    const rows = connection.rows('PRAGMA integrity_check')
    assert.deepEqual(
      rows.map((row) => row.integrity_check),
      ['ok'],
    )
  } finally {
    connection.close()
  }
}

type ThreadRow = { id: string; inbox_id: string; message_count: number; is_read: number }
type MessageRow = {
  id: string
  inbox_id: string
  thread_id: string
  position: number
  thread_position: number
}

function checkThreads(threads: ThreadRow[], messages: MessageRow[]): void {
  const positions = new Map<string, number[]>()
  for (const { thread_id, thread_position } of messages) {
    positions.set(thread_id, [...(positions.get(thread_id) ?? []), thread_position])
  }
  for (const { id, message_count } of threads) {
    const found = (positions.get(id) ?? []).sort((a, b) => a - b)
    assert.deepEqual(found, countTo(message_count), `thread ${id} counts its messages`)
    positions.delete(id)
  }
  assert.deepEqual([...positions.keys()], [], 'no message is without its thread')
}

type CounterRow = {
  inbox_id: string
  inbound_count: number
  thread_count: number
  unread_thread_count: number
}

function checkCounters(counters: CounterRow[], threads: ThreadRow[], messages: MessageRow[]): void {
  for (const counter of counters) {
    const isHere = (row: { inbox_id: string }) => row.inbox_id === counter.inbox_id
    const positions = messages.filter(isHere).map(({ position }) => position)
    const name = `inbox ${counter.inbox_id}`
    assert.deepEqual(positions, countTo(counter.inbound_count), `${name} has dense positions`)
    assert.equal(threads.filter(isHere).length, counter.thread_count, `${name} counts threads`)
    const unread = threads.filter((thread) => isHere(thread) && thread.is_read === 0)
    assert.equal(unread.length, counter.unread_thread_count, `${name} counts unread threads`)
  }
}

function countTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}
