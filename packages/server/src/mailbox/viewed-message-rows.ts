// What a view of messages is made of, out of rows: the messages with bodies as long as a view reads
// them, the address of their inbox, and which of them were the first from their sender.

import { addressKey } from '#platform/email-address.ts'
import type { ReadDb } from '#schema/tables.ts'
import type { Message } from './message.ts'
import { findMessagesCut } from './message-rows.ts'

type Asked = { readonly accountId: string; readonly bodyLengthMax: number }

export type StoredView = {
  readonly message: Message
  readonly inboxAddress: string
  /** Null where it was not noted: before there were notes, and where there is no address. */
  readonly isFirstContact: boolean | null
}

/** A message of the account, or null; also null once its inbox is deleted. */
export async function findViewedMessage(
  db: ReadDb,
  { accountId, messageId, bodyLengthMax }: Asked & { readonly messageId: string },
): Promise<StoredView | null> {
  const read = readViews(db, { accountId, messageIds: [messageId], bodyLengthMax })
  for await (const view of read) return view
  return null
}

/**
 * Messages of a thread behind the first `after`, oldest first, `limit` at most, with bodies as long as
 * `readLength` says when their turn comes. The caller has found the thread in its account.
 */
export async function* listViewedMessages(
  db: ReadDb,
  input: {
    readonly accountId: string
    readonly threadId: string
    readonly after: number
    readonly limit: number
    readLength(): number
  },
): AsyncGenerator<StoredView> {
  const rows = await db.read
    .selectFrom('messages')
    .select('id')
    .where('account_id', '=', input.accountId)
    .where('thread_id', '=', input.threadId)
    .where('thread_position', '>', input.after)
    .where('thread_position', '<=', input.after + input.limit)
    .orderBy('thread_position')
    .execute()
  for (let at = 0; at < rows.length; at += STEP_MESSAGES) {
    const messageIds = rows.slice(at, at + STEP_MESSAGES).map(({ id }) => id)
    const bodyLengthMax = Math.max(1, input.readLength())
    yield* readViews(db, { accountId: input.accountId, messageIds, bodyLengthMax })
  }
}

/** Of the messages of its thread before one of them the nearest `limit`, oldest first, with bodies of a length. */
export async function listEarlierMessages(
  db: ReadDb,
  input: Asked & {
    readonly threadId: string
    readonly messageId: string
    readonly limit: number
  },
): Promise<Message[]> {
  const { accountId, threadId, bodyLengthMax } = input
  const rows = await db.read
    .selectFrom('messages')
    .select('id')
    .where('account_id', '=', accountId)
    .where('thread_id', '=', threadId)
    .where('thread_position', '<', (query) =>
      query
        .selectFrom('messages')
        .select('thread_position')
        .where('account_id', '=', accountId)
        .where('id', '=', input.messageId),
    )
    .orderBy('thread_position', 'desc')
    .limit(input.limit)
    .execute()
  const messageIds = rows.map(({ id }) => id).reverse()
  if (messageIds.length === 0) return []
  const found = new Map<string, Message>()
  for await (const { message } of findMessagesCut(db, {
    accountIds: [accountId],
    messageIds,
    bodyLengthMax,
  })) {
    found.set(message.id, message)
  }
  return messageIds.map((id) => found.get(id)).filter((message) => message !== undefined)
}

/** Short bodies lie in the rows: few enough are read at once. */
const STEP_MESSAGES = 10

/** In the order of the ids. */
async function* readViews(
  db: ReadDb,
  { accountId, messageIds, bodyLengthMax }: Asked & { readonly messageIds: readonly string[] },
): AsyncGenerator<StoredView> {
  const found = new Map<string, Message>()
  const cut = findMessagesCut(db, { accountIds: [accountId], messageIds, bodyLengthMax })
  for await (const { message } of cut) found.set(message.id, message)
  for (const id of messageIds) {
    const message = found.get(id)
    if (message !== undefined) yield { message, ...(await findFacts(db, accountId, message)) }
  }
}

async function findFacts(
  db: ReadDb,
  accountId: string,
  { id, inboxId, fromAddr, direction }: Message,
): Promise<Omit<StoredView, 'message'>> {
  const key = addressKey(/<([^<>]*)>$/.exec(fromAddr)?.[1] ?? fromAddr)
  const row = await db.read
    .selectFrom('inboxes')
    .leftJoin('correspondents', (join) =>
      join
        .onRef('correspondents.inbox_id', '=', 'inboxes.id')
        .on('correspondents.address_key', '=', key),
    )
    .select(['inboxes.address', 'correspondents.first_message_id'])
    .where('inboxes.id', '=', inboxId)
    .where('inboxes.account_id', '=', accountId)
    .executeTakeFirst()
  const first = row?.first_message_id ?? null
  return {
    inboxAddress: row?.address ?? '',
    isFirstContact: direction === 'outbound' || first === null ? null : first === id,
  }
}
