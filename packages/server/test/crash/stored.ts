// Reads the store of a stopped service and checks everything that must be true of it, whatever happened before.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { databasePath, type OpenStore, openStore, silentObserver } from '#app/open-store.ts'
import { openSqliteConnection } from '#platform/db/sqlite-connection.ts'
import type { Row } from '#store/tables.ts'
import type { Service } from './service.ts'

export type ReceivedMessage = {
  inboxId: string
  rfcMessageId: string | null
  /** Hash of the raw bytes as they are read back now. */
  sha256: string
}

export type SentMessage = {
  id: string
  messageId: string | null
  status: string
  /** Hash of the raw bytes as they are read back now. */
  sha256: string
  deliveries: {
    recipient: string
    status: string
    queue: string | null
    attempts: number
    response: string | null
  }[]
}

export type Stored = { received: ReceivedMessage[]; sent: SentMessage[] }

/** Every message of every inbox. Throws when the store contradicts itself, or `check` finds that it does. */
export async function readStored(
  service: Service,
  check?: (store: OpenStore) => Promise<void>,
): Promise<Stored> {
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
    const messages = await read.selectFrom('messages').selectAll().orderBy('arrival').execute()
    const threads = await read.selectFrom('threads').selectAll().execute()
    const hashes = await checkRawMessages(store, messages)
    checkThreads(threads, messages)
    await checkCounters(store, threads, messages)
    await checkEvents(store, messages)
    const deliveries = await read.selectFrom('deliveries').selectAll().orderBy('id').execute()
    await check?.(store)

    const deliveriesOf = Map.groupBy(deliveries, ({ message_id }) => message_id)
    const stored: Stored = { received: [], sent: [] }
    for (const message of messages) {
      const { id, rfc_message_id: messageId, status } = message
      const sha256 = hashes.get(message.raw_id)
      assert.ok(sha256 !== undefined, `message ${id} has a raw message`)
      if (message.direction === 'inbound') {
        stored.received.push({ inboxId: message.inbox_id, rfcMessageId: messageId, sha256 })
        continue
      }
      const own = (deliveriesOf.get(id) ?? []).map((row) => ({
        recipient: row.recipient,
        status: row.status,
        queue: row.queue_state,
        attempts: row.attempts,
        response: row.response,
      }))
      stored.sent.push({ id, messageId, status, sha256, deliveries: own })
    }
    return stored
  } finally {
    await store.close()
  }
}

function checkIntegrity(path: string): void {
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

type Message = Row<'messages'>
type Thread = Row<'threads'>

/** The hash of each raw message by its id. */
async function checkRawMessages(
  { db: { read }, blobs }: OpenStore,
  messages: readonly Message[],
): Promise<Map<string, string>> {
  const quarantined = await read.selectFrom('quarantined_messages').select('raw_id').execute()
  const referencesOf = Map.groupBy([...messages, ...quarantined], ({ raw_id }) => raw_id)
  const hashes = new Map<string, string>()
  for (const raw of await read.selectFrom('raw_messages').selectAll().execute()) {
    const name = `raw message ${raw.id}`
    const content = raw.content ?? (await blobs?.get(raw.id)) ?? null
    assert.ok(content !== null, `${name} has its bytes`)
    assert.equal(content.length, raw.size_bytes, `${name} has its size`)
    const sha256 = hash('sha256', content, 'hex')
    assert.equal(sha256, Buffer.from(raw.sha256).toString('hex'), `${name} is whole`)
    const references = referencesOf.get(raw.id)?.length ?? 0
    assert.equal(raw.reference_count, references, `${name} counts its references`)
    hashes.set(raw.id, sha256)
  }
  return hashes
}

function checkThreads(threads: readonly Thread[], messages: readonly Message[]): void {
  const messagesOf = Map.groupBy(messages, ({ thread_id }) => thread_id)
  for (const { id, message_count } of threads) {
    const { length } = messagesOf.get(id) ?? []
    assert.equal(length, message_count, `thread ${id} counts its messages`)
    messagesOf.delete(id)
  }
  assert.deepEqual([...messagesOf.keys()], [], 'no message is without its thread')
}

async function checkCounters(
  { db: { read } }: OpenStore,
  threads: readonly Thread[],
  messages: readonly Message[],
): Promise<void> {
  const quarantined = await read.selectFrom('quarantined_messages').select('inbox_id').execute()
  for (const counter of await read.selectFrom('inbox_counters').selectAll().execute()) {
    const name = `inbox ${counter.inbox_id}`
    const isHere = (row: { inbox_id: string }) => row.inbox_id === counter.inbox_id
    const here = messages.filter(isHere)
    const counted = { inbound: counter.inbound_count, outbound: counter.outbound_count }
    for (const direction of ['inbound', 'outbound'] as const) {
      const found = here.filter((message) => message.direction === direction)
      assert.equal(found.length, counted[direction], `${name} counts its messages`)
    }
    assert.deepEqual(
      here.map(({ arrival }) => arrival),
      countTo(counter.last_arrival),
      `${name} has arrival numbers without gap or repeat`,
    )
    assert.equal(threads.filter(isHere).length, counter.thread_count, `${name} counts threads`)
    const unread = threads.filter((thread) => isHere(thread) && thread.is_read === 0)
    assert.equal(unread.length, counter.unread_thread_count, `${name} counts unread threads`)
    const held = quarantined.filter(isHere)
    assert.equal(held.length, counter.quarantined_count, `${name} counts its quarantine`)
  }
}

async function checkEvents(
  { db: { read } }: OpenStore,
  messages: readonly Message[],
): Promise<void> {
  const events = await read.selectFrom('events').select(['kind', 'message_id']).execute()
  const idsOf = (kind: string) =>
    events.filter((event) => event.kind === kind).map(({ message_id }) => message_id)
  const received = messages.filter(({ direction }) => direction === 'inbound').map(({ id }) => id)
  assert.deepEqual(
    idsOf('message.received').sort(),
    received.sort(),
    'each received message has one event',
  )
  // A report may have come for a message that was sent: it has failed now.
  const failed = new Set(messages.filter(({ status }) => status === 'failed').map(({ id }) => id))
  const sent = messages.filter(({ status }) => status === 'sent').map(({ id }) => id)
  assert.deepEqual(
    idsOf('message.sent')
      .filter((id) => !failed.has(id ?? ''))
      .sort(),
    sent.sort(),
    'each sent message has one event',
  )
}

function countTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}
