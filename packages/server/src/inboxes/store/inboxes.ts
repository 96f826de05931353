import { COUNTED_MAX, type FilterMode } from '@mailroom/contract/vocabulary.ts'
import { sql } from 'kysely'
import {
  type Inbox,
  inboxAddressOf,
  type ReachedInbox,
  type Screening,
  type ShownInbox,
} from '#inboxes/model.ts'
import { statement } from '#platform/db/statement.ts'
import { unquote } from '#platform/email-address.ts'
import type { StoredOf } from '#store/columns.ts'
import { inboxes } from '#store/nouns.ts'
import type { ReadDb, Tables } from '#store/tables.ts'

type InboxFilter = {
  readonly accountId: string
  readonly podId: string | null
  readonly inboxId?: string | undefined
  /** Lists only these; null for all. */
  readonly inboxIds?: readonly string[] | null
  readonly facets?: readonly string[]
}

/** Newest first. Lists only inboxes of the given pod that have all of the metadata. */
export async function listInboxes(
  db: ReadDb,
  input: InboxFilter & { limit: number; offset: number },
): Promise<{ inboxes: ShownInbox[]; total: number }> {
  const { facets = [], inboxId, inboxIds = null } = input
  let query = selectShown(db).where('inboxes.account_id', '=', input.accountId)
  if (input.podId !== null) query = query.where('inboxes.pod_id', '=', input.podId)
  if (inboxId !== undefined) query = query.where('inboxes.id', '=', inboxId)
  if (inboxIds !== null) query = query.where('inboxes.id', 'in', inboxIds)
  for (const facet of facets) query = query.where('inboxes.id', 'in', withFacet(db, input, facet))
  const rows = await query
    .orderBy('inboxes.id', 'desc')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  const shown = rows.map(toShownInbox)
  if (facets.length > 0 || inboxId !== undefined || inboxIds !== null) {
    return { inboxes: shown, total: await countMatches(db, input) }
  }
  const counted =
    input.podId === null
      ? db.read.selectFrom('accounts').select('inbox_count').where('id', '=', input.accountId)
      : db.read.selectFrom('pods').select('inbox_count').where('id', '=', input.podId)
  const total = await counted.executeTakeFirst()
  return { inboxes: shown, total: total?.inbox_count ?? 0 }
}

/** Counts at most COUNTED_MAX inboxes. */
async function countMatches(db: ReadDb, input: InboxFilter): Promise<number> {
  let query = db.read.selectFrom('inboxes').where('account_id', '=', input.accountId)
  if (input.podId !== null) query = query.where('pod_id', '=', input.podId)
  if (input.inboxId !== undefined) query = query.where('id', '=', input.inboxId)
  if (input.inboxIds) query = query.where('id', 'in', input.inboxIds)
  for (const facet of input.facets ?? [])
    query = query.where('id', 'in', withFacet(db, input, facet))
  const row = await db.read
    .selectFrom(query.select('id').limit(COUNTED_MAX).as('counted'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

function withFacet(db: ReadDb, { accountId }: { accountId: string }, facet: string) {
  return db.read
    .selectFrom('inbox_facets')
    .select('inbox_facets.inbox_id')
    .where('inbox_facets.account_id', '=', accountId)
    .where('inbox_facets.facet', '=', facet)
}

export async function findInbox(
  db: ReadDb,
  accountId: string,
  inboxId: string,
): Promise<Inbox | null> {
  const [row] = await selectById(db.reading, { accountId, inboxId })
  return row === undefined ? null : inboxes.read(row)
}

export async function findShownInbox(
  db: ReadDb,
  accountId: string,
  inboxId: string,
): Promise<ShownInbox | null> {
  const row = await selectShown(db)
    .where('inboxes.account_id', '=', accountId)
    .where('inboxes.id', '=', inboxId)
    .executeTakeFirst()
  return row === undefined ? null : toShownInbox(row)
}

export async function findInboxOfClient(
  db: ReadDb,
  accountId: string,
  clientId: string,
): Promise<ShownInbox | null> {
  const row = await selectShown(db)
    .where('inboxes.account_id', '=', accountId)
    .where('inboxes.client_id', '=', clientId)
    .executeTakeFirst()
  return row === undefined ? null : toShownInbox(row)
}

export function retentionOf() {
  return sql<
    number | null
  >`coalesce(inboxes.retention_days, pods.retention_days, accounts.retention_days)`.as(
    'effective_days',
  )
}

function selectShown(db: ReadDb) {
  return db.read
    .selectFrom('inboxes')
    .innerJoin('accounts', 'accounts.id', 'inboxes.account_id')
    .innerJoin('pods', 'pods.id', 'inboxes.pod_id')
    .leftJoin('webhooks', 'webhooks.inbox_id', 'inboxes.id')
    .leftJoin('inbox_counters', 'inbox_counters.inbox_id', 'inboxes.id')
    .select(inboxes.of('inboxes'))
    .select(({ selectFrom }) => [
      'webhooks.url as webhook_url',
      'inbox_counters.unread_thread_count',
      retentionOf(),
      selectFrom('threads')
        .select('threads.last_message_at')
        .whereRef('threads.inbox_id', '=', 'inboxes.id')
        .where('threads.trashed_at', 'is', null)
        .orderBy('threads.last_message_at', 'desc')
        .limit(1)
        .as('last_message_at'),
    ])
}

export async function findInboxIds(
  db: ReadDb,
  accountId: string,
  inboxIds: readonly string[],
): Promise<Set<string>> {
  const rows = await db.read
    .selectFrom('inboxes')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', 'in', inboxIds)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

export async function listInboxIds(
  db: ReadDb,
  accountId: string,
  podId: string,
): Promise<string[]> {
  const rows = await db.read
    .selectFrom('inboxes')
    .select('id')
    .where('account_id', '=', accountId)
    .where('pod_id', '=', podId)
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** The inbox of any account that receives mail for this lower-case address. */
export async function findInboxByAddress(
  db: ReadDb,
  address: string,
): Promise<ReachedInbox | null> {
  const [row] = await selectByAddress(db.reading, { address })
  return row === undefined ? null : toReached(row)
}

export async function findOwnInbox(
  db: ReadDb,
  accountId: string,
  address: string,
): Promise<ReachedInbox | null> {
  const at = address.lastIndexOf('@')
  const mailbox = inboxAddressOf(unquote(address.slice(0, at)), address.slice(at + 1))
  const inbox = await findInboxByAddress(db, mailbox)
  return inbox?.accountId === accountId ? inbox : null
}

/** Finds the inbox for mail that arrives through another address, such as a catch-all. */
export async function findReachedInbox(
  db: ReadDb,
  accountId: string,
  inboxId: string,
): Promise<ReachedInbox | null> {
  const [row] = await selectReached(db.reading, { accountId, inboxId })
  return row === undefined ? null : toReached(row)
}

type InboxRow = StoredOf<typeof inboxes>

const selectById = statement<Tables, { accountId: string; inboxId: string }, InboxRow>(
  (query, given) =>
    query
      .selectFrom('inboxes')
      .select(inboxes.names)
      .where('account_id', '=', given('accountId'))
      .where('id', '=', given('inboxId')),
)

const REACHED_COLUMNS = [
  ...inboxes.of('inboxes'),
  'inboxes.filter_mode',
  'accounts.filter_mode as account_filter_mode',
  'accounts.sender_rule_count',
  'pods.filter_mode as pod_filter_mode',
] as const

type ReachedRow = InboxRow & {
  filter_mode: FilterMode | null
  account_filter_mode: string
  pod_filter_mode: string | null
  sender_rule_count: number
}

const selectByAddress = statement<Tables, { address: string }, ReachedRow>(
  (query, given) =>
    query
      .selectFrom('inboxes')
      .innerJoin('accounts', 'accounts.id', 'inboxes.account_id')
      .innerJoin('pods', 'pods.id', 'inboxes.pod_id')
      .select(REACHED_COLUMNS)
      .where('inboxes.receiving_address', '=', given('address')),
  { isPrepared: true },
)

const selectReached = statement<Tables, { accountId: string; inboxId: string }, ReachedRow>(
  (query, given) =>
    query
      .selectFrom('inboxes')
      .innerJoin('accounts', 'accounts.id', 'inboxes.account_id')
      .innerJoin('pods', 'pods.id', 'inboxes.pod_id')
      .select(REACHED_COLUMNS)
      .where('inboxes.account_id', '=', given('accountId'))
      .where('inboxes.id', '=', given('inboxId')),
)

function toReached(row: ReachedRow): ReachedInbox {
  return { ...inboxes.read(row), screening: screeningOf(row) }
}

/** Null if no sender is blocked, so that most mail needs no further query. */
function screeningOf(row: ReachedRow): Screening | null {
  const filterMode = row.filter_mode ?? row.pod_filter_mode ?? row.account_filter_mode
  if (filterMode === 'none' && row.sender_rule_count === 0) return null
  return { filterMode: filterMode as FilterMode }
}

type ShownRow = InboxRow & {
  webhook_url: string | null
  unread_thread_count: number | null
  effective_days: number | null
  last_message_at: number | null
}

function toShownInbox(row: ShownRow): ShownInbox {
  return {
    ...inboxes.read(row),
    webhookUrl: row.webhook_url,
    unreadThreads: row.unread_thread_count ?? 0,
    lastMessageAtMs: row.last_message_at,
    effectiveRetentionDays: row.effective_days,
  }
}
