import type { ReceivedContent } from '#inbound/receive/store/plan.ts'
import { receiveKept } from '#inbound/receive/store/receive-messages.ts'
import type { ReceivedMentions } from '#mailbox/messages/store/mentions.ts'
import { dropRawReferences } from '#mailbox/messages/store/raw-messages.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { statement } from '#platform/db/statement.ts'
import { DAY_MS } from '#platform/units.ts'
import { SENDER_PROOFS } from '#policy/store/send-policies.ts'
import { idsOf } from '#queue/leased-queue.ts'
import { type Quarantined, quarantinedMessages } from '#store/nouns.ts'
import { PURGE_STEP_ROWS } from '#store/purge-steps.ts'
import type { ReadDb, Tables, Tx } from '#store/tables.ts'

export const QUARANTINE_MS = 30 * DAY_MS

export type OfAccount = { accountId: string; quarantinedId: string }

/** Lists quarantined messages, newest first. */
export async function listQuarantined(
  db: ReadDb,
  input: { accountId: string; inboxId: string | null; limit: number; offset: number },
): Promise<{ quarantined: Quarantined[]; total: number }> {
  const total = await countQuarantined(db, input)
  const limit = Math.min(input.limit, total - input.offset)
  if (limit <= 0) return { quarantined: [], total }
  let query = selectShown(db, input.accountId)
  if (input.inboxId !== null) query = query.where('inbox_id', '=', input.inboxId)
  const rows = await query
    .orderBy('quarantined_messages.id', 'desc')
    .limit(limit)
    .offset(input.offset)
    .execute()
  return { quarantined: rows.map(quarantinedMessages.read), total }
}

/** Returns null if the account has no such message or its inbox is deleted. */
export async function findQuarantined(
  db: ReadDb,
  { accountId, quarantinedId }: OfAccount,
): Promise<Quarantined | null> {
  const row = await selectShown(db, accountId)
    .where('quarantined_messages.id', '=', quarantinedId)
    .executeTakeFirst()
  return row === undefined ? null : quarantinedMessages.read(row)
}

function selectShown(db: ReadDb, accountId: string) {
  return db.read
    .selectFrom('quarantined_messages')
    .selectAll()
    .where('account_id', '=', accountId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('inboxes')
          .select('inboxes.id')
          .whereRef('inboxes.id', '=', 'quarantined_messages.inbox_id'),
      ),
    )
}

async function countQuarantined(
  db: ReadDb,
  input: { accountId: string; inboxId: string | null },
): Promise<number> {
  let query = db.read
    .selectFrom('inboxes')
    .innerJoin('inbox_counters', 'inbox_counters.inbox_id', 'inboxes.id')
    .select('quarantined_count')
    .where('inboxes.account_id', '=', input.accountId)
  if (input.inboxId !== null) query = query.where('inboxes.id', '=', input.inboxId)
  const rows = await query.execute()
  return rows.reduce((total, row) => total + row.quarantined_count, 0)
}

/** The caller becomes the owner of the reference to the raw message. */
async function takeQuarantined(tx: Tx, input: OfAccount): Promise<Quarantined | null> {
  const known = await tx.query
    .selectFrom('quarantined_messages')
    .select('inbox_id')
    .where('account_id', '=', input.accountId)
    .where('id', '=', input.quarantinedId)
    .executeTakeFirst()
  if (known === undefined) return null
  // The inbox is locked before the row, as in all transactions on its messages.
  if (!(await countInInbox(tx, known.inbox_id, { by: 0, bytes: 0 }))) return null
  const row = await tx.query
    .deleteFrom('quarantined_messages')
    .where('account_id', '=', input.accountId)
    .where('id', '=', input.quarantinedId)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return null
  await countInInbox(tx, row.inbox_id, { by: -1, bytes: -row.size_bytes })
  return quarantinedMessages.read(row)
}

type ReleaseInput = {
  accountId: string
  quarantinedId: string
  content: ReceivedContent
  parentKeys: string[]
  senderKey: string | null
  messageId: string
  threadId: string
  eventId: string
  readsFiles: boolean
  mentions: ReceivedMentions
  nowMs: number
}

type ReleaseOutcome = {
  /** The id of the message in the inbox, whether new or already stored. */
  messageId: string
  isNew: boolean
  blobIds: string[]
}

/** Returns null if the account has no such message in quarantine. */
export const storeReleased = transaction({
  name: 'releaseQuarantined',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: ReleaseInput): Promise<ReleaseOutcome | null> {
    const taken = await takeQuarantined(tx, input)
    if (taken === null) return null
    const { rawId } = taken
    const { messageId, threadId, eventId, ...arrival } = input
    const result = await receiveKept(tx, {
      ...arrival,
      // A signature must not make a correspondent of a sender whom a policy blocks.
      senderProof: SENDER_PROOFS.none,
      raw: { id: rawId, size_bytes: await sizeOf(tx, rawId), reverse_path: taken.reversePath },
      receipts: [{ ...taken, messageId, threadId, eventId }],
    })
    // The message now owns the quarantine's reference to the raw message.
    if (result?.kind === 'stored') return { messageId, isNew: true, blobIds: [] }
    if (result?.kind !== 'duplicate' || result.messageId === null) {
      throw new Error('An inbox with quarantined mail does not exist.')
    }
    const blobIds = await dropRawReferences(tx, [rawId])
    return { messageId: result.messageId, isNew: false, blobIds }
  },
})

async function sizeOf(tx: Tx, rawId: string): Promise<number> {
  const raw = await tx.query
    .selectFrom('raw_messages')
    .select('size_bytes')
    .where('id', '=', rawId)
    .executeTakeFirstOrThrow()
  return raw.size_bytes
}

/** Returns null if the account has no such message in quarantine. */
export const removeQuarantined = transaction({
  name: 'deleteQuarantined',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(tx: Tx, input: OfAccount): Promise<{ blobIds: string[] } | null> {
    const taken = await takeQuarantined(tx, input)
    return taken === null ? null : { blobIds: await dropRawReferences(tx, [taken.rawId]) }
  },
})

/** Removes up to `PURGE_STEP_ROWS` messages and returns the ids of their raw messages. */
export async function purgeQuarantined(tx: Tx, untilMs: number): Promise<string[]> {
  const expired = await tx.query
    .selectFrom('quarantined_messages')
    .select(['id', 'inbox_id'])
    .where('created_at', '<=', untilMs)
    .orderBy('created_at')
    .limit(PURGE_STEP_ROWS)
    .execute()
  if (expired.length === 0) return []
  const inboxIds = [...new Set(expired.map((row) => row.inbox_id))].sort()
  const counters = tx.query.selectFrom('inbox_counters').select('inbox_id').orderBy('inbox_id')
  await lockRows(tx, counters.where('inbox_id', 'in', inboxIds)).execute()
  const removed = await tx.query
    .deleteFrom('quarantined_messages')
    .where('id', 'in', idsOf(expired))
    .returning(['inbox_id', 'raw_id', 'size_bytes'])
    .execute()
  for (const inboxId of inboxIds) {
    const gone = removed.filter((row) => row.inbox_id === inboxId)
    const bytes = gone.reduce((sum, row) => sum + row.size_bytes, 0)
    if (gone.length > 0) await countInInbox(tx, inboxId, { by: -gone.length, bytes: -bytes })
  }
  return removed.map((row) => row.raw_id)
}

/** Counters are not updated, because a deleted inbox no longer has any. */
export async function purgeQuarantinedOf(tx: Tx, inboxId: string): Promise<string[]> {
  const removed = await tx.query
    .deleteFrom('quarantined_messages')
    .where('id', 'in', (row) =>
      row
        .selectFrom('quarantined_messages')
        .select('id')
        .where('inbox_id', '=', inboxId)
        .limit(PURGE_STEP_ROWS),
    )
    .returning('raw_id')
    .execute()
  return removed.map((row) => row.raw_id)
}

/** Returns false if the inbox is deleted. */
async function countInInbox(
  tx: Tx,
  inboxId: string,
  added: { by: number; bytes: number },
): Promise<boolean> {
  return (await addToCount(tx, { inboxId, ...added })).length > 0
}

const addToCount = statement<
  Tables,
  { inboxId: string; by: number; bytes: number },
  { inbox_id: string }
>((query, given) =>
  query
    .updateTable('inbox_counters')
    .set((row) => ({
      quarantined_count: row('quarantined_count', '+', given('by')),
      quarantined_bytes: row('quarantined_bytes', '+', given('bytes')),
    }))
    .where('inbox_id', '=', given('inboxId'))
    .returning('inbox_id'),
)
