import { readCounters } from '#mailbox/messages/store/messages.ts'
import { idsOf } from '#queue/leased-queue.ts'
import type { ReadDb, Row } from '#store/tables.ts'

const SCAN_STEP = 500

export type Addressed = Pick<
  Row<'messages'>,
  'id' | 'from_addr' | 'to_addr' | 'to_addrs' | 'header_to' | 'cc' | 'bcc' | 'recipient'
> &
  Pick<Row<'raw_messages'>, 'reverse_path'>

/** Includes the trash. Returns null at the end. */
export async function scanMessages(
  db: ReadDb,
  { accountId, inboxId, after }: { accountId: string; inboxId: string; after: number },
): Promise<{ messages: Addressed[]; last: number } | null> {
  const counters = await readCounters(db, accountId, inboxId)
  if (counters === null || after >= counters.last_arrival) return null
  const last = after + SCAN_STEP
  const messages = await db.read
    .selectFrom('messages')
    .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
    .select([
      'messages.id',
      'from_addr',
      'to_addr',
      'to_addrs',
      'header_to',
      'cc',
      'bcc',
      'recipient',
      'reverse_path',
    ])
    .where('inbox_id', '=', inboxId)
    .where('arrival', '>', after)
    .where('arrival', '<=', last)
    .execute()
  return { messages, last }
}

export function scanQuarantined(
  db: ReadDb,
  accountId: string,
  after: string,
): Promise<Pick<Row<'quarantined_messages'>, 'id' | 'raw_id' | 'from_addr' | 'reverse_path'>[]> {
  return db.read
    .selectFrom('quarantined_messages')
    .select(['id', 'raw_id', 'from_addr', 'reverse_path'])
    .where('account_id', '=', accountId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(SCAN_STEP)
    .execute()
}

export function scanDrafts(
  db: ReadDb,
  accountId: string,
  after: string,
): Promise<Pick<Row<'drafts'>, 'id' | 'content'>[]> {
  return db.read
    .selectFrom('drafts')
    .select(['id', 'content'])
    .where('account_id', '=', accountId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(SCAN_STEP)
    .execute()
}

export async function listAccountInboxes(db: ReadDb, accountId: string): Promise<string[]> {
  const rows = await db.read
    .selectFrom('inboxes')
    .select('id')
    .where('account_id', '=', accountId)
    .orderBy('id')
    .execute()
  return idsOf(rows)
}
