import { changeAccountCounters, readAccountCounters } from '#accounts/store/accounts.ts'
import { findMessage, type Message } from '#mailbox/messages/store/messages.ts'
import { transaction } from '#platform/db/db.ts'
import { statement } from '#platform/db/statement.ts'
import type { NewRow, ReadDb, Row, Tables, Tx } from '#store/tables.ts'

/** A message that the sandbox stored instead of sending it. */
export type Captured = {
  id: string
  recipients: string[]
  /** An empty string is the null reverse-path. */
  reversePath: string
  capturedAtMs: number
  message: Message
  inReplyTo: string | null
}

export type NewCaptured = NewRow<'captured_messages'>

export async function addCaptured(tx: Tx, input: NewCaptured): Promise<void> {
  await insertCaptured(tx, input)
  await changeAccountCounters(tx, input.account_id, { captured: 1 })
}

/** Lists messages newest first, with up to `bodyLengthMax` characters of long bodies. */
export async function listCaptured(
  db: ReadDb,
  input: {
    accountId: string
    /** Null for all inboxes. */
    inboxIds: readonly string[] | null
    limit: number
    offset: number
    bodyLengthMax: number
  },
): Promise<{ captured: AsyncIterable<Captured>; total: number }> {
  const { accountId, inboxIds } = input
  const all = db.read
    .selectFrom('captured_messages')
    .where('captured_messages.account_id', '=', accountId)
  const some =
    inboxIds === null
      ? all
      : all.where('message_id', 'in', (messages) =>
          messages
            .selectFrom('messages')
            .select('id')
            .where('account_id', '=', accountId)
            .where('inbox_id', 'in', inboxIds),
        )
  const total =
    inboxIds === null
      ? (await readAccountCounters(db, accountId)).captured_count
      : (await some.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow())
          .count
  const rows = await some
    .selectAll()
    .orderBy('id', 'desc')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  return { captured: withMessages(db, rows, input.bodyLengthMax), total }
}

async function* withMessages(
  db: ReadDb,
  rows: Row<'captured_messages'>[],
  lengthMax: number,
): AsyncGenerator<Captured> {
  for (const row of rows) {
    const message = await findMessage(db, row.account_id, row.message_id, { lengthMax })
    if (message === null) continue
    const recipients = JSON.parse(row.recipients) as string[]
    const inReplyTo = message.references.at(-1) ?? null
    const { id, reverse_path: reversePath, created_at: capturedAtMs } = row
    yield { id, recipients, reversePath, capturedAtMs, message, inReplyTo }
  }
}

export const removeCaptured = transaction({
  name: 'clearCaptured',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(tx: Tx, input: { accountId: string; limit: number }): Promise<number> {
    const removed = await tx.query
      .deleteFrom('captured_messages')
      .where('id', 'in', (row) =>
        row
          .selectFrom('captured_messages')
          .select('id')
          .where('account_id', '=', input.accountId)
          .limit(input.limit),
      )
      .returning('id')
      .execute()
    if (removed.length > 0) {
      await changeAccountCounters(tx, input.accountId, { captured: -removed.length })
    }
    return removed.length
  },
})

const insertCaptured = statement<Tables, NewCaptured, never>((query, given) =>
  query.insertInto('captured_messages').values({
    id: given('id'),
    account_id: given('account_id'),
    message_id: given('message_id'),
    recipients: given('recipients'),
    reverse_path: given('reverse_path'),
    created_at: given('created_at'),
  }),
)
