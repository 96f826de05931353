import { renewSummaries } from '#mailbox/threads/store/summaries.ts'
import type { Tx } from '#store/tables.ts'
import type { Additions } from './add-message.ts'
import { changeInboxes, insertMessages, type NewRows } from './write-messages.ts'

/** Writes the plan of `addMessage`. The caller must have stored long bodies. */
export async function insertAdditions(
  tx: Tx,
  { inboxes, started, continued, messages, unordered }: Additions,
  rows: Partial<Omit<NewRows, 'threads' | 'messages'>>,
): Promise<void> {
  const threads = [...continued.values()]
  await changeInboxes(tx, {
    counters: [...inboxes.values()]
      .map(({ change }) => change)
      .filter((one) => one.inbound_count + one.outbound_count + one.quarantined_count > 0),
    threads,
    facets: threads
      .filter(({ facet_count }) => facet_count > 0)
      .map(({ id, last_message_at }) => ({ thread_id: id, last_message_at })),
  })
  await insertMessages(tx, { ...rows, threads: [...started.values()], messages })
  if (unordered.size > 0) await renewSummaries(tx, [...unordered])
}
