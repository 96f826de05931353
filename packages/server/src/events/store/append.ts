// Adds events to the log, never before an offset that was already read. Erased events keep their
// offset.

import { forEachRow, rowInsert } from '#platform/db/statement.ts'
import type { NewRow, Tables, Tx } from '#store/tables.ts'

/** An event without content. An erased event of an inbox reports that its list gained threads. */
export const ERASED = 'erased'

/** Reports threads that were added without an event, so that waiting claims look for them. */
export async function reportAddedThreads(
  tx: Tx,
  report: { id: string; accountId: string; inboxId: string; nowMs: number },
): Promise<void> {
  await insertEvent(tx, {
    id: report.id,
    kind: ERASED,
    account_id: report.accountId,
    pod_id: null,
    inbox_id: report.inboxId,
    thread_id: null,
    message_id: null,
    occurred_at: report.nowMs,
    details: null,
  })
}

export function reportsAddedThreads({
  kind,
  inboxId,
}: {
  kind: string
  inboxId: string | null
}): boolean {
  return kind === ERASED && inboxId !== null
}

export type NewEvent = Omit<
  NewRow<'events'>,
  'sequence' | 'transaction_id' | 'trace_parent' | 'category'
>

export type TracedEvent = NewEvent & {
  trace_parent: string | null
  category: string | null
}

export async function insertEvent(tx: Tx, event: NewEvent): Promise<void> {
  await insertEvents(tx, [{ ...event, trace_parent: tx.traceParent ?? null, category: null }])
}

export const EVENTS = rowInsert<Tables, TracedEvent>('events', [
  'id',
  'kind',
  'account_id',
  'pod_id',
  'inbox_id',
  'thread_id',
  'message_id',
  'occurred_at',
  'details',
  'trace_parent',
  'category',
])

export const insertEvents = forEachRow(EVENTS)
