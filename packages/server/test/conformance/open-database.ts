// The database port opened on either engine, with the transactions of the service and some only for tests.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { insertAccount } from '#accounts/store/insert-account.ts'
import { isUnsettledAfter, readLogHead } from '#events/store/log.ts'
import { type ReceiveInput, storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { insertInbox } from '#inboxes/store/change-inboxes.ts'
import { changeThread } from '#mailbox/threads/store/change-threads.ts'
import { systemChance } from '#platform/chance.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import type { Engine } from '#platform/db/db.ts'
import { openPostgres } from '#platform/db/postgres.ts'
import { openSqlite } from '#platform/db/sqlite.ts'
import { idMaker } from '#platform/ids.ts'
import { silentLog } from '#platform/log.ts'
import { SENDER_PROOFS } from '#policy/store/send-policies.ts'
import type { Store } from '#store/store.ts'
import type { Db, Tables } from '#store/tables.ts'
import { createPreparedDatabase } from '#test/peers/postgres.ts'
import { prepareSqlite } from '#test/peers/sqlite.ts'

export type TestDatabase = AsyncDisposable & {
  readonly db: Db
  /** Its place: a file or a URL. */
  readonly place: string
  /** Opens the same database once more. */
  openAgain(): Promise<Db>
  /** What another process has: connections of its own on PostgreSQL. SQLite has one process. */
  openOther(): Promise<Db>
  close(): Promise<void>
}

/** Long, so that hundreds of writes at once are accepted, however busy the machine is. */
const WRITE_WAIT_MS_MAX = 60_000

const observer = { committed: () => {}, queued: () => {} }
export const makeId = idMaker(systemClock, systemChance)

/** The store of a service on the database, which large messages and readers of events do without. */
export function storeOn(db: Db, clock: Clock = systemClock): Store {
  return { db, blobs: null, clock, makeId, log: silentLog, wakeEvents: () => {} }
}

/** A new, migrated database. */
export async function openDatabase(engine: Engine): Promise<TestDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  const place = engine === 'sqlite' ? join(folder, 'test.db') : await createPreparedDatabase()
  if (engine === 'sqlite') await prepareSqlite(place)
  const opened: Db[] = []
  const openAgain = async () => {
    const db = await openAt(engine, place)
    opened.push(db)
    return db
  }
  const db = await openAgain()
  return {
    db,
    place,
    openAgain,
    openOther: () => (engine === 'postgres' ? openAgain() : Promise.resolve(db)),
    async close() {
      await Promise.all(opened.map((db) => db.close()))
      await rm(folder, { recursive: true, force: true })
    },
    [Symbol.asyncDispose](this: { close(): Promise<void> }) {
      return this.close()
    },
  }
}

/** The port on an existing or new database. */
export function openAt(engine: Engine, place: string): Promise<Db> {
  if (engine === 'postgres') {
    return openPostgres<Tables>({
      url: place,
      observer,
      onError: () => {},
      writeWaitMsMax: WRITE_WAIT_MS_MAX,
    })
  }
  return openSqlite<Tables>({
    path: place,
    writerEntry: new URL(import.meta.resolve('#app/sqlite-writer-entry.ts')),
    readerEntry: new URL(import.meta.resolve('#app/sqlite-reader-entry.ts')),
    reservePath: null,
    observer,
    onError: () => {},
  })
}

export type Owner = { accountId: string; podId: string }

/** An account with a default pod and a key. */
export async function addAccount(db: Db): Promise<Owner> {
  const [accountId, podId, keyId] = [makeId('acc'), makeId('pod'), makeId('key')]
  const tokenHash = Buffer.from(keyId)
  await db.write(insertAccount, {
    id: accountId,
    name: 'an account',
    plan: 'launch',
    podId,
    key: { id: keyId, name: null, tokenHash, tokenPrefix: 'mr_1234', last4: '5678' },
    nowMs: 1,
    isFirst: false,
  })
  return { accountId, podId }
}

/** An inbox in the default pod; its id. */
export async function addInbox(db: Db, owner: Owner): Promise<string> {
  const inboxId = makeId('inb')
  const { kind } = await db.write(insertInbox, {
    accountId: owner.accountId,
    inboxId,
    pod: null,
    address: `${inboxId}@mailroom.localhost`,
    displayName: null,
    domain: null,
    webhook: null,
    nowMs: systemClock.now(),
    creationsPerDay: 1_000,
  })
  if (kind !== 'created') throw new Error(kind)
  return inboxId
}

/** As a client sets the read flag. */
export async function markThread(
  db: Db,
  input: { accountId: string; threadId: string; isRead: boolean; eventId?: string },
): Promise<void> {
  const { accountId, threadId, isRead, eventId = makeId('evt') } = input
  await db.write(changeThread, {
    accountId,
    threadId,
    change: { isRead },
    claim: { tokenHash: null, queueMs: systemClock.steady() },
    eventId,
    nowMs: 1,
  })
}

/** Delivers one message, different each time, to these inboxes. */
export function arriving(
  owner: Owner,
  inboxIds: string[],
  fields: { content?: Uint8Array; parentKeys?: string[]; key?: string } = {},
): ReceiveInput {
  const content = fields.content ?? Buffer.from('Subject: hello\r\n\r\nhello\r\n')
  return {
    raw: {
      id: makeId('raw'),
      sha256: Buffer.alloc(32),
      size_bytes: content.length,
      content,
      reverse_path: 'ann@sender.example',
      client_address: null,
      helo: null,
      tls: null,
      origin: 'smtp',
      created_at: 1,
    },
    content: {
      rfc_message_id: null,
      message_key: fields.key ?? null,
      receipt_key: null,
      from_addr: 'ann@sender.example',
      header_to: null,
      cc: '[]',
      bcc: '[]',
      reply_to: null,
      recipient_names: null,
      in_reply_to: null,
      reference_ids: '[]',
      subject: 'hello',
      body_length: 0,
      body_text: 'hello',
      body_html: '',
      extracted_text: null,
      attachments: '[]',
      authentication: null,
      automatic_reason: null,
      category: 'personal',
      judgement: '{"reasons":[],"autoReplyable":true,"verdict":"clean","spamScore":null}',
      invites: null,
      defects: '[]',
    },
    receipts: inboxIds.map((inboxId) => ({
      ...owner,
      inboxId,
      domainId: null,
      messageId: makeId('msg'),
      threadId: makeId('thr'),
      eventId: makeId('evt'),
      toAddr: 'someone@mailroom.localhost',
      recipient: null,
      through: [],
      deliveryRole: 'to',
    })),
    keptOut: [],
    postmaster: null,
    parentKeys: fields.parentKeys ?? [],
    senderKey: null,
    senderProof: SENDER_PROOFS.claimed,
    readsFiles: false,
    mentions: { content: '', copied: [], unreadFiles: [] },
    nowMs: systemClock.now(),
  }
}

/** PostgreSQL with the sizes of its transactions. */
export type Grouping = { db: Db; groups: number[] }

/** The port on a migrated database of PostgreSQL. */
export async function openGrouping(url: string): Promise<Grouping> {
  const groups: number[] = []
  const db = await openPostgres<Tables>({
    url,
    observer: { committed: (size) => groups.push(size) },
    onError: () => {},
  })
  return { db, groups }
}

/** A database whose writes share transactions, and a connection of its own that can hold locks. */
export async function openGroupingWorld() {
  const url = await createPreparedDatabase()
  const { db, groups } = await openGrouping(url)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const close = async () => {
    await client.end()
    await db.close()
  }
  return { url, db, groups, client, close }
}

/** The outcome of each, of writes that arrive at once. */
export async function receiveTogether(
  db: Db,
  inputs: readonly ReceiveInput[],
  traceParents: readonly (string | undefined)[] = [],
): Promise<unknown[]> {
  const writes = inputs.map((input, index) => db.write(storeReceived, input, traceParents[index]))
  const settled = await Promise.allSettled(writes)
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason))
}

/**
 * Resolves when all committed events are readable: other tests write to the same server and may have older open
 * transactions.
 */
export async function untilReadable(db: Db): Promise<void> {
  while (await isUnsettledAfter(db, await readLogHead(db))) {
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

export function readCounters(db: Db, inboxId: string) {
  return db.read
    .selectFrom('inbox_counters')
    .selectAll()
    .where('inbox_id', '=', inboxId)
    .executeTakeFirstOrThrow()
}

/** The arrival numbers of the inbox's messages, in order. */
export async function readArrivals(db: Db, inboxId: string): Promise<number[]> {
  const rows = await db.read
    .selectFrom('messages')
    .select('arrival')
    .where('inbox_id', '=', inboxId)
    .orderBy('arrival')
    .execute()
  return rows.map(({ arrival }) => arrival)
}

/** Asserts that every counter is the sum of its rows. */
export async function assertStoredCounted(db: Db): Promise<void> {
  const raws = await db.read.selectFrom('raw_messages').select(['id', 'size_bytes']).execute()
  const sizeOf = new Map(raws.map(({ id, size_bytes }) => [id, size_bytes]))
  const columns = ['inbox_id', 'raw_id'] as const
  const messages = await db.read.selectFrom('messages').select(columns).execute()
  const quarantined = await db.read.selectFrom('quarantined_messages').select(columns).execute()
  const sumOf = (rows: typeof messages, inboxId: string) =>
    rows
      .filter((row) => row.inbox_id === inboxId)
      .reduce((sum, row) => sum + (sizeOf.get(row.raw_id) ?? Number.NaN), 0)
  for (const counters of await db.read.selectFrom('inbox_counters').selectAll().execute()) {
    const { inbox_id: inboxId } = counters
    assert.equal(counters.stored_bytes, sumOf(messages, inboxId))
    assert.equal(counters.quarantined_bytes, sumOf(quarantined, inboxId))
  }
}
