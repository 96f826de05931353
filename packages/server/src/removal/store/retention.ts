import { retentionOf } from '#inboxes/store/inboxes.ts'
import { transaction } from '#platform/db/db.ts'
import { lowestIdAt } from '#platform/ids.ts'
import { DAY_MS } from '#platform/units.ts'
import { type ReadDb, readIn, type Tx } from '#store/tables.ts'
import { lockInbox, REMOVE_STEP_MESSAGES, removeMessages } from './remove-mail.ts'

const RETAINED_STEP_INBOXES = 500

export type RetainedInbox = { accountId: string; inboxId: string; retentionDays: number }

/** Lists the next page of inboxes with a retention; `last` is null at the end. */
export async function listRetained(
  db: ReadDb,
  after: string,
): Promise<{ inboxes: RetainedInbox[]; last: string | null }> {
  const rows = await selectRetention(db)
    .where('inboxes.id', '>', after)
    .orderBy('inboxes.id')
    .limit(RETAINED_STEP_INBOXES)
    .execute()
  const last = rows.length < RETAINED_STEP_INBOXES ? null : (rows.at(-1)?.id ?? null)
  return {
    inboxes: rows.flatMap(
      ({ account_id: accountId, id: inboxId, effective_days: retentionDays }) =>
        retentionDays === null ? [] : [{ accountId, inboxId, retentionDays }],
    ),
    last,
  }
}

function selectRetention(db: ReadDb) {
  return db.read
    .selectFrom('inboxes')
    .innerJoin('accounts', 'accounts.id', 'inboxes.account_id')
    .innerJoin('pods', 'pods.id', 'inboxes.pod_id')
    .select(['inboxes.account_id', 'inboxes.id', retentionOf()])
}

/** Lists messages by the time in their ids, as `created_at` may be a date from outside. */
export async function listOverdue(
  db: ReadDb,
  { inboxId, retentionDays, nowMs }: Omit<RetainedInbox, 'accountId'> & { nowMs: number },
): Promise<string[]> {
  const before = lowestIdAt('msg', nowMs - retentionDays * DAY_MS)
  const oldest = await db.read
    .selectFrom('messages')
    .select('id')
    .where('inbox_id', '=', inboxId)
    // A pending message is removed after it is sent.
    .where('status', '!=', 'pending')
    .orderBy('arrival')
    .limit(REMOVE_STEP_MESSAGES)
    .execute()
  const younger = oldest.findIndex(({ id }) => id >= before)
  return (younger < 0 ? oldest : oldest.slice(0, younger)).map(({ id }) => id)
}

/** Reads the retention again, because it may have changed. Must be called until it is done. */
export const removeOverdueStep = transaction({
  name: 'removeOverdueStep',
  accountOf: () => null,
  erasing: true,
  async run(
    tx: Tx,
    input: { accountId: string; inboxId: string; nowMs: number },
  ): Promise<{ isDone: boolean; blobIds: string[] }> {
    const inbox = await lockInbox(tx, input)
    const found = await selectRetention(readIn(tx))
      .where('inboxes.id', '=', input.inboxId)
      .executeTakeFirst()
    const retentionDays = found?.effective_days ?? null
    if (inbox === null || retentionDays === null) return { isDone: true, blobIds: [] }
    const ids = await listOverdue(readIn(tx), { ...input, retentionDays })
    const blobIds = await removeMessages(tx, inbox, { ids, nowMs: input.nowMs })
    return { isDone: ids.length === 0, blobIds }
  },
})
