// Outcomes of one account that come while others of it are being recorded share a transaction on
// PostgreSQL: what a server has taken and nobody noted yet is sent again after a crash, so that it should
// not wait for as many commits as there are attempts under way. Statements cost the same for one and fifty.

import { sql } from 'kysely'
import type { EventKind } from '#events/event.ts'
import { eventRow, type NewEventRow } from '#events/event-rows.ts'
import { type GroupedInput, transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { rowsInsert } from '#platform/db/rows-insert.ts'
import { statement } from '#platform/db/statement.ts'
import type { Tables, Tx } from '#schema/tables.ts'
import { changeOf, type RecipientRow, type SettledMessage } from './message-outcome-rows.ts'
import {
  type DeliveryChange,
  deliveryChange,
  type SettleInput,
  settleAlone,
} from './settle-deliveries-rows.ts'

type Grouped = readonly GroupedInput<SettleInput>[]

export const settleDeliveries = transaction({
  name: 'settleDeliveries',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  group: {
    /** Suppressions, complaints and what the sandbox takes are rare, or quick: each goes alone. */
    sizeOf({ deliveries, captured }: SettleInput) {
      const isPlain = deliveries.every(
        ({ suppression, complaintEventId }) => suppression === null && complaintEventId === null,
      )
      return captured === null && isPlain ? deliveries.length * OUTCOME_LENGTH : null
    },
    run: settleTogether,
  },
  run: settleAlone,
})

/** About what a recipient's outcome has with a server's words. */
const OUTCOME_LENGTH = 1_500

async function settleTogether(tx: Tx, writes: Grouped): Promise<string[][]> {
  const messageIds = [...new Set(writes.map(({ input }) => input.messageId))]
  const locked = await lockMessages(tx, { ids: messageIds })
  const messages = new Map(locked.map((message) => [message.id, message]))
  const seen = new Set<string>()
  const together = writes.filter(({ input: { messageId, accountId, deliveries } }) => {
    const isHere = messages.get(messageId)?.account_id === accountId
    // One whose lease was lost may have been attempted twice: the first outcome stands.
    const isFirst = deliveries.every(({ id }) => !seen.has(id))
    for (const { id } of deliveries) seen.add(id)
    return isHere && isFirst
  })
  const recorded = await recordAll(tx, together, messages)
  const results: string[][] = []
  for (const write of writes) {
    const { input } = write
    results.push(
      together.includes(write)
        ? input.deliveries.map(({ id }) => id).filter((id) => recorded.has(id))
        : await settleAlone(tx, input),
    )
  }
  return results
}

/** Records the outcomes, and what follows for the messages; returns the ids of the deliveries that it changed. */
async function recordAll(
  tx: Tx,
  writes: Grouped,
  messages: ReadonlyMap<string, LockedMessage>,
): Promise<ReadonlySet<string>> {
  const changes = new Map<string, DeliveryChange>()
  const writeOf = new Map<string, GroupedInput<SettleInput>>()
  for (const write of writes) {
    writeOf.set(write.input.messageId, write)
    for (const delivery of write.input.deliveries) {
      changes.set(delivery.id, wellFormed(deliveryChange(delivery, write.input)))
    }
  }
  if (changes.size === 0) return new Set()
  const rows = await updateDeliveries(tx, {
    changes: JSON.stringify([...changes.values()]),
    messageIds: [...writeOf.keys()],
  })
  const recorded = new Set(rows.filter(({ is_recorded }) => is_recorded).map(({ id }) => id))
  // The rows are as they were before.
  const now = rows.map((row) => (recorded.has(row.id) ? { ...row, ...changes.get(row.id) } : row))
  const changed: NewState[] = []
  const events: NewEventRow[] = []
  for (const [messageId, recipients] of Map.groupBy(now, (row) => row.message_id)) {
    const message = messages.get(messageId)
    const write = writeOf.get(messageId)
    const isOver = recipients.some(({ id, status }) => recorded.has(id) && status !== 'deferred')
    if (message === undefined || write === undefined || !isOver) continue
    const change = changeOf(message, recipients)
    if (change === null) continue
    const { kind, ...state } = change
    changed.push({
      id: messageId,
      status: state.status,
      failure_reason: state.failure_reason?.toWellFormed() ?? null,
    })
    if (kind !== null && message.pod_id !== null) events.push(eventOf(message, { kind, write }))
  }
  if (changed.length > 0) {
    const states = JSON.stringify(changed)
    await writeStates(tx, { states, events: JSON.stringify(events) })
  }
  return recorded
}

/** A server's words may hold half of a surrogate pair, which JSON has a form for and PostgreSQL has not. */
function wellFormed(change: DeliveryChange): DeliveryChange {
  return { ...change, response: change.response?.toWellFormed() ?? null }
}

function eventOf(
  message: LockedMessage,
  { kind, write }: { kind: EventKind; write: GroupedInput<SettleInput> },
): NewEventRow {
  return {
    id: write.input.eventId,
    kind,
    account_id: message.account_id,
    pod_id: message.pod_id ?? '',
    inbox_id: message.inbox_id,
    thread_id: message.thread_id,
    message_id: message.id,
    occurred_at: write.input.nowMs,
    details: null,
    trace_parent: write.traceParent ?? null,
  }
}

type LockedMessage = SettledMessage & { pod_id: string | null }

/** In the order of their ids, so that no two groups wait for each other. */
const lockMessages = statement<Tables, { ids: string[] }, LockedMessage>((query, place, engine) =>
  lockRows(
    { engine },
    query
      .selectFrom('messages')
      .select(['id', 'account_id', 'inbox_id', 'thread_id', 'status', 'failure_reason'])
      .select((row) =>
        row
          .selectFrom('inboxes')
          .select('inboxes.pod_id')
          .whereRef('inboxes.id', '=', 'messages.inbox_id')
          .as('pod_id'),
      )
      .where('id', '=', sql<string>`any(${place('ids')})`)
      .orderBy('id'),
  ),
)

/**
 * As `updateDelivery` of settle-deliveries.ts, for a list of changes. Returns all recipients of the
 * messages as they were before, and which of them it changed.
 */
const updateDeliveries = statement<
  Tables,
  { changes: string; messageIds: string[] },
  RecipientRow & { id: string; message_id: string; is_recorded: boolean }
>((query, place) => ({
  compile: () =>
    sql<never>`
      with changed as (
        update deliveries set
          queue_state = change.queue_state, status = change.status,
          next_attempt_at = change.next_attempt_at,
          ambiguous_attempts = deliveries.ambiguous_attempts + change.ambiguous,
          leased_by = null, lease_until = null,
          host = change.host, tls = change.tls,
          response_code = change.response_code, enhanced_code = change.enhanced_code,
          response = change.response
        from json_to_recordset(${place('changes')}::json) as change(
          id text, account_id text, worker text, queue_state text, status text,
          next_attempt_at bigint, ambiguous bigint, host text, tls text,
          response_code bigint, enhanced_code text, response text
        )
        where deliveries.id = change.id and deliveries.account_id = change.account_id
          -- 'ready': its lease ended, and nobody has taken it up: better known than sent again.
          and (deliveries.leased_by = change.worker or deliveries.queue_state = 'ready')
        returning deliveries.id
      )
      select deliveries.id, message_id, recipient, status, response_code, enhanced_code, response,
        deliveries.id in (select id from changed) as is_recorded
      from deliveries where message_id = any(${place('messageIds')}) order by deliveries.id
    `.compile(query),
}))

type NewState = { id: string; status: string; failure_reason: string | null }

const EVENT = rowsInsert('events', eventRow)

const writeStates = statement<Tables, { states: string; events: string }, never>(
  (query, place) => ({
    compile: () =>
      sql<never>`
        with changed as (
          update messages set status = change.status, failure_reason = change.failure_reason
          from json_to_recordset(${place('states')}::json)
            as change(id text, status text, failure_reason text)
          where messages.id = change.id
        )
        ${sql.raw(EVENT.sql.slice(0, EVENT.sql.indexOf('$)')))}${place('events')}::json)
      `.compile(query),
  }),
)
