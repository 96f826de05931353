// The queue of webhook deliveries as its database has it, the time that passes for it, and the log of
// events as the API tells it.

import assert from 'node:assert/strict'
import type { Inbox } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import type { Service } from './service.ts'
import { digest } from './webhook-sink.ts'

/** Waits after the first attempt, the second and so on, in seconds. */
const WAITS_S = [30, 60, 120, 240, 900, 3_600, 14_400, 43_200, 86_400]
/** An attempt takes fifteen seconds at most, and a while until it is noted. */
const ATTEMPT_MS_MAX = 28_000
const EARLY_MS_MAX = 50

/**
 * Makes what waits for its next attempt due, as if the hours had passed; that it was to wait as long as
 * it should is checked before. The service must be running.
 */
export async function passTime(service: Service): Promise<void> {
  const rows = await runSql(
    service,
    `select id, attempts, last_attempt_at, next_attempt_at from webhook_deliveries
      where queue_state = 'waiting' and next_attempt_at > 0`,
  )
  if (rows.length === 0) return
  for (const row of rows) {
    const [attempts, lastMs, nextMs] = [
      Number(row.attempts),
      Number(row.last_attempt_at),
      Number(row.next_attempt_at),
    ]
    const lateMs = nextMs - lastMs - 1_000 * (WAITS_S[attempts - 1] ?? 0)
    const isRight = lateMs > -EARLY_MS_MAX && lateMs < ATTEMPT_MS_MAX
    assert.ok(isRight, `attempt ${attempts} of ${row.id} is ${lateMs} ms late`)
  }
  await runSql(
    service,
    "update webhook_deliveries set next_attempt_at = 0 where queue_state = 'waiting'",
  )
}

export class QueueOfWebhooks {
  readonly #service: Service

  constructor(service: Service) {
    this.#service = service
  }

  /** Whether all events were read for webhooks and all deliveries have succeeded. */
  async isEmpty(): Promise<boolean> {
    const [open] = await runSql(
      this.#service,
      "select count(*) as count from webhook_deliveries where status <> 'succeeded'",
    )
    const [unread] = await runSql(
      this.#service,
      `select count(*) as count from events, event_readers
        where event_readers.name = 'webhooks'
          and (events.transaction_id > event_readers.transaction_id
            or (events.transaction_id = event_readers.transaction_id
              and events.sequence > event_readers.sequence))`,
    )
    return Number(open?.count) === 0 && Number(unread?.count) === 0
  }

  /** What was given up. */
  async listFailed(): Promise<{ id: string; webhookId: string }[]> {
    const rows = await runSql(
      this.#service,
      "select id, lane from webhook_deliveries where status = 'failed' and queue_state is null",
    )
    return rows.map(({ id, lane }) => ({ id: String(id), webhookId: String(lane) }))
  }

  async describe(): Promise<string> {
    const rows = await runSql(
      this.#service,
      `select queue_state, status, min(error) as error, max(attempts) as attempts, count(*) as count
        from webhook_deliveries group by queue_state, status`,
    )
    return JSON.stringify(rows)
  }
}

export type TestLog = {
  /** In the order of the log. */
  readonly events: readonly LogEntry[]
  /** Of the messages that the inboxes list. */
  readonly messageIds: ReadonlySet<string>
}

export type LogEntry = { id: string; inboxId: string; messageId: string; sha256: string }

/** All that the API tells of events and messages. */
export async function readLog(service: Service, inboxes: readonly Inbox[]): Promise<TestLog> {
  const { client } = service
  const events: LogEntry[] = []
  for await (const event of client.events.list({ limit: 100 })) {
    const { event_id: id, inbox_id: inboxId, message } = event
    events.push({ id, inboxId: inboxId ?? '', messageId: message?.id ?? '', sha256: digest(event) })
  }
  const messageIds = new Set<string>()
  for (const inbox of inboxes) {
    for await (const { id } of client.messages.list(inbox.id, { limit: 100 })) messageIds.add(id)
  }
  return { events, messageIds }
}
