import type { ThreadState } from '@mailroom/contract/vocabulary.ts'
import { hiddenRecipientsOf } from '#mailbox/messages/store/messages.ts'
import { stateOf } from '#mailbox/threads/store/newest-message.ts'
import type { ReadDb } from '#store/tables.ts'

export type ExportedMessage = {
  id: string
  threadId: string
  rawId: string
  arrival: number
  sizeBytes: number
  /** Null if the message is in the blob store. */
  content: Uint8Array | null
  /** Empty for the null reverse-path. */
  reversePath: string
  direction: 'inbound' | 'outbound'
  status: string
  failureReason: string | null
  state: ThreadState
  fromAddr: string
  toAddr: string
  recipient: string | null
  bcc: string[]
  to: string[] | null
  isRead: boolean
  labels: string[]
  threadLabels: string[]
  createdAtMs: number
}

const STEP_MESSAGES = 200

/** Reads at least one message, and up to `bytesMax` bytes in total. */
export async function readExported(
  db: ReadDb,
  input: {
    accountId: string
    inboxId: string
    after: number
    until: number
    bytesMax: number
  },
): Promise<ExportedMessage[]> {
  const heads = await db.read
    .selectFrom('messages')
    .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
    .select(['messages.arrival', 'raw_messages.size_bytes'])
    .where('messages.account_id', '=', input.accountId)
    .where('messages.inbox_id', '=', input.inboxId)
    .where('messages.arrival', '>', input.after)
    .where('messages.arrival', '<=', input.until)
    .where('messages.is_trashed', '=', 0)
    .orderBy('messages.arrival')
    .limit(STEP_MESSAGES)
    .execute()
  let bytes = 0
  const taken = heads.filter(({ size_bytes }, index) => {
    bytes += size_bytes
    return index === 0 || bytes <= input.bytesMax
  })
  const last = taken.at(-1)
  if (last === undefined) return []
  const rows = await messagesWithContent(db, input)
    .where('messages.arrival', '<=', last.arrival)
    .where('messages.is_trashed', '=', 0)
    .orderBy('messages.arrival')
    .execute()
  return rows.map(({ bcc, to_addrs, is_read, direction, labels, thread_labels, ...row }) => ({
    ...row,
    state: stateOf({ ...row, direction, failure_reason: row.failureReason }),
    direction: direction as ExportedMessage['direction'],
    bcc: hiddenRecipientsOf({ direction, bcc }),
    to: to_addrs === null ? null : (JSON.parse(to_addrs) as string[]),
    isRead: is_read === 1,
    labels: labels === null ? [] : (JSON.parse(labels) as string[]),
    threadLabels: thread_labels === null ? [] : (JSON.parse(thread_labels) as string[]),
  }))
}

function messagesWithContent(
  db: ReadDb,
  input: { accountId: string; inboxId: string; after: number },
) {
  return db.read
    .selectFrom('messages')
    .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
    .innerJoin('threads', 'threads.id', 'messages.thread_id')
    .leftJoin('waiting_sends', 'waiting_sends.message_id', 'messages.id')
    .select([
      'messages.id',
      'messages.thread_id as threadId',
      'messages.raw_id as rawId',
      'messages.arrival',
      'raw_messages.size_bytes as sizeBytes',
      'raw_messages.content',
      'raw_messages.reverse_path as reversePath',
      'messages.direction',
      'messages.status',
      'messages.failure_reason as failureReason',
      'messages.from_addr as fromAddr',
      'messages.to_addr as toAddr',
      'waiting_sends.review_id',
      'waiting_sends.release_at',
      'messages.recipient',
      'messages.bcc',
      'messages.to_addrs',
      'threads.is_read',
      'messages.labels',
      'threads.labels as thread_labels',
      'messages.created_at as createdAtMs',
    ])
    .where('messages.account_id', '=', input.accountId)
    .where('messages.inbox_id', '=', input.inboxId)
    .where('messages.arrival', '>', input.after)
}
