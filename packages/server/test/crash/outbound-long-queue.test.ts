// A start on a queue of tens of thousands of due deliveries, of which a killed process leased a thousand: the service is
// ready as if the queue were empty, and sends.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { LONG_LIMIT, sizeOf } from '@mailroom/mail/test/size-of.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { runSql } from '#test/peers/sql.ts'
import { composeNumber, untilSettled } from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { Service } from './service.ts'

const QUEUED = sizeOf('TEST_MAILROOM_LONG_QUEUE', { usual: 10_000, long: 100_000 })
const LEASED = 1_000
const DESTINATIONS = 200
/** Beyond a start on an empty queue; on a busy machine both are slow. */
const MORE_MS_MAX = 10_000
const FIRST_MS_MAX = 20_000
const FURTHER = sizeOf('TEST_MAILROOM_LONG_QUEUE_SENT', { usual: 100, long: 300 })
const FURTHER_MS_MAX = 40_000

suite('a start on a long queue', () => {
  test('on SQLite', LONG_LIMIT, (t) => startOnLongQueue(t))
  test('on PostgreSQL', LONG_LIMIT, async (t) => startOnLongQueue(t, await createTestDatabase()))
})

async function startOnLongQueue(t: TestContext, databaseUrl?: string): Promise<void> {
  const domains = Array.from({ length: DESTINATIONS }, (_, index) => `d${index}.example`)
  const sink = await Sink.open({}, domains)
  t.after(() => sink.close())
  const service = await Service.prepare({ env: sink.environment, databaseUrl })
  t.after(() => service.close())
  const emptyMs = Math.round(await service.start())
  const inbox = await service.client.inboxes.create({})
  await service.client.inboxes.send(inbox.id, { ...composeNumber(sink, 1), cc: [] })
  await untilSettled(service, FIRST_MS_MAX)
  assert.equal((await service.stop()).code, 0)

  const fillingMs = performance.now()
  await fill(service)
  const filledMs = Math.round(performance.now() - fillingMs)
  const begun = sink.begunAtMs.length
  const copies = sink.copies.length
  const startedAtMs = performance.now()
  const readyMs = Math.round(await service.start())
  await sink.until(() => sink.begunAtMs.length > begun, FIRST_MS_MAX)
  const firstMs = Math.round((sink.begunAtMs[begun] ?? Number.POSITIVE_INFINITY) - startedAtMs)
  await sink.until(() => sink.copies.length >= copies + FURTHER, FURTHER_MS_MAX)
  const furtherMs = Math.round(performance.now() - startedAtMs)
  const requestMs = performance.now()
  await service.client.inboxes.send(inbox.id, { ...composeNumber(sink, 2), cc: [] })
  t.diagnostic(
    `${QUEUED} rows written in ${filledMs} ms; ready after ${readyMs} ms (${emptyMs} without them), first attempt after ${firstMs} ms, ${FURTHER} after ${furtherMs} ms, a send took ${Math.round(performance.now() - requestMs)} ms meanwhile`,
  )
  assert.ok(readyMs < emptyMs + MORE_MS_MAX)
  await service.kill()
}

/** Copies the one message and delivery that there are, by SQL that both engines understand. */
async function fill(service: Service): Promise<void> {
  const [message] = await runSql(service, 'select * from messages')
  const [delivery] = await runSql(service, 'select * from deliveries')
  assert.ok(message !== undefined && delivery !== undefined)
  const nowMs = Date.now()
  await copyRow(service, 'messages', message, {
    id: "'msg_queued' || n",
    arrival: 'n + 1',
    status: "'pending'",
    rfc_message_id: "'<' || n || '@queued.example>'",
  })
  await copyRow(service, 'deliveries', delivery, {
    id: "'dlv_queued' || n",
    message_id: "'msg_queued' || n",
    recipient: `'to-' || n || '@d' || (n % ${DESTINATIONS}) || '.example'`,
    lane: `'d' || (n % ${DESTINATIONS}) || '.example'`,
    status: "'deferred'",
    queue_state: `case when n <= ${LEASED} then 'leased' else 'waiting' end`,
    leased_by: `case when n <= ${LEASED} then 'gone' end`,
    lease_until: `case when n <= ${LEASED} then ${nowMs - 1} end`,
    next_attempt_at: `${nowMs} - n`,
    expires_at: `${nowMs + 86_400_000}`,
  })
  await runSql(
    service,
    `update inbox_counters set outbound_count = outbound_count + ${QUEUED}, last_arrival = last_arrival + ${QUEUED}
      where inbox_id = '${message.inbox_id}'`,
  )
  await runSql(
    service,
    `update threads set message_count = message_count + ${QUEUED}
      where id = '${message.thread_id}'`,
  )
  await runSql(service, `update raw_messages set reference_count = reference_count + ${QUEUED}`)
}

/** QUEUED copies of the row, with these columns computed from `n`, which counts from 1. */
async function copyRow(
  service: Service,
  table: string,
  row: Record<string, unknown>,
  changes: Record<string, string>,
): Promise<void> {
  const columns = Object.keys(row)
  const values = columns.map((column) => changes[column] ?? column)
  await runSql(
    service,
    `insert into ${table} (${columns.join(', ')})
      with recursive numbers (n) as (
        select 1 union all select n + 1 from numbers where n < ${QUEUED}
      )
      select ${values.join(', ')} from ${table}, numbers where id = '${row.id}'`,
  )
}
