// The category of messages that programs of before received, in small steps in the background.

import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { PURGE_STEP_ROWS } from '#schema/purge-steps.ts'
import type { Tx } from '#schema/tables.ts'
import { categoryOfOld } from './message-kind.ts'

/** Gives up to PURGE_STEP_ROWS messages, the newest first, their category, and their threads theirs. */
export const fillCategoriesStep = transaction({
  name: 'fillCategoriesStep',
  accountOf: () => null,
  async run(tx: Tx, _: Record<never, never>): Promise<{ isDone: boolean }> {
    const unfilled = tx.query
      .selectFrom('messages')
      .select(['id', 'inbox_id', 'thread_id', 'automatic_reason', 'from_addr'])
      .where('category', 'is', null)
      .where('direction', '=', 'inbound')
      .orderBy('id', 'desc')
      .limit(PURGE_STEP_ROWS)
    const messages = await unfilled.execute()
    if (messages.length === 0) return { isDone: true }
    // As arriving mail does, which changes the same threads.
    const inboxIds = [...new Set(messages.map(({ inbox_id }) => inbox_id))].sort()
    const counters = tx.query.selectFrom('inbox_counters').select('inbox_id').orderBy('inbox_id')
    await lockRows(tx, counters.where('inbox_id', 'in', inboxIds)).execute()
    for (const [category, some] of Map.groupBy(messages, categoryOfOld)) {
      const ids = some.map(({ id }) => id)
      await tx.query.updateTable('messages').set({ category }).where('id', 'in', ids).execute()
    }
    const threadIds = [...new Set(messages.map(({ thread_id }) => thread_id))]
    await tx.query
      .updateTable('threads')
      .set((row) => ({
        category: row
          .selectFrom('messages')
          .select('messages.category')
          .whereRef('messages.thread_id', '=', 'threads.id')
          .where('messages.direction', '=', 'inbound')
          .orderBy('messages.thread_position', 'desc')
          .limit(1),
      }))
      .where('id', 'in', threadIds)
      .execute()
    return { isDone: messages.length < PURGE_STEP_ROWS }
  },
})
