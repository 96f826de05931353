// What a stopped service holds of outgoing mail, read beside it, and everything that has to be true of
// it whatever happened before.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { runSql } from '#test/peers/sql.ts'
import { databasePath, openStore, silentObserver } from '#wiring/store.ts'
import type { Service } from './service.ts'
import { checkIntegrity } from './stored.ts'

export type OutboundMessage = {
  id: string
  messageId: string | null
  status: string
  /** Of the raw bytes as they are read back now. */
  sha256: string
  deliveries: {
    recipient: string
    status: string
    queue: string | null
    attempts: number
    ambiguousAttempts: number
    nextAttemptAtMs: number | null
    response: string | null
  }[]
}

export type OutboundState = { messages: OutboundMessage[] }

/** Every message of every inbox, which all must be outgoing. Throws when the store contradicts itself. */
export async function readOutbound(service: Service): Promise<OutboundState> {
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
    const deliveries = await read.selectFrom('deliveries').selectAll().orderBy('id').execute()
    const deliveriesOf = Map.groupBy(deliveries, ({ message_id }) => message_id)
    const hashes = new Map<string, string>()
    for (const raw of await read.selectFrom('raw_messages').selectAll().execute()) {
      const content = raw.content ?? (await store.blobs?.get(raw.id)) ?? null
      assert.ok(content !== null, `raw message ${raw.id} has its bytes`)
      const sha256 = hash('sha256', content, 'hex')
      assert.equal(
        sha256,
        Buffer.from(raw.sha256).toString('hex'),
        `raw message ${raw.id} is whole`,
      )
      hashes.set(raw.id, sha256)
    }
    const events = await read.selectFrom('events').select(['kind', 'message_id']).execute()
    checkEvents(events, messages)
    for (const counter of await read.selectFrom('inbox_counters').selectAll().execute()) {
      const positions = messages
        .filter(({ inbox_id }) => inbox_id === counter.inbox_id)
        .map(({ position }) => position)
      const counted = Array.from({ length: counter.outbound_count }, (_, index) => index + 1)
      assert.deepEqual(positions, counted, `inbox ${counter.inbox_id} has dense positions`)
    }
    return {
      messages: messages.map((message) => ({
        id: message.id,
        messageId: message.rfc_message_id,
        status: message.status,
        sha256: hashes.get(message.raw_id) ?? '',
        deliveries: (deliveriesOf.get(message.id) ?? []).map((row) => ({
          recipient: row.recipient,
          status: row.status,
          queue: row.queue_state,
          attempts: row.attempts,
          ambiguousAttempts: row.ambiguous_attempts,
          nextAttemptAtMs: row.next_attempt_at,
          response: row.response,
        })),
      })),
    }
  } finally {
    await store.close()
  }
}

/** A message that is sent has been told about once, and no other. */
function checkEvents(
  events: { kind: string; message_id: string | null }[],
  messages: { id: string; status: string }[],
): void {
  const told = events
    .filter(({ kind }) => kind === 'message.sent')
    .map(({ message_id }) => message_id)
  const sent = messages.filter(({ status }) => status === 'sent').map(({ id }) => id)
  assert.deepEqual(told.sort(), sent.sort(), 'each sent message has one event of it')
}

/** Waits until no delivery is ready, waiting or leased. */
export async function untilSettled(service: Service, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs
  for (;;) {
    const rows = await runSql(service, QUEUED)
    if (rows.length === 0) return
    if (performance.now() > endMs) throw new Error(`Still queued: ${JSON.stringify(rows)}`)
    await sleep(LOOK_MS)
  }
}

const LOOK_MS = 50

const QUEUED = `select queue_state, status, min(response) as response, count(*) as count
  from deliveries where queue_state is not null group by queue_state, status`
