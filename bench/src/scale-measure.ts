// Measures the cost of the service's own queries and transactions on a filled database: time, which
// depends on the machine's load, and pages and log, which do not. Operations run one at a time on
// one connection.

import { listEvents } from '@mailroom/server/events/store/events.ts'
import { readLog } from '@mailroom/server/events/store/log.ts'
import { storeReceived } from '@mailroom/server/inbound/receive/store/receive-messages.ts'
import { CUT_READ_LENGTH } from '@mailroom/server/mailbox/messages/present-message.ts'
import {
  findMessage,
  listMessages,
  listThreadMessages,
} from '@mailroom/server/mailbox/messages/store/messages.ts'
import { findThread, listThreads } from '@mailroom/server/mailbox/threads/store/threads.ts'
import { deliveryQueue } from '@mailroom/server/outbound/deliveries/store/leases.ts'
import { insertSend } from '@mailroom/server/outbound/send/store/accept-send.ts'
import type { Db } from '@mailroom/server/store/tables.ts'
import { arriving, makeId, type Owner } from '@mailroom/server/test/conformance/open-database.ts'
import { sending } from '@mailroom/server/test/conformance/sending.ts'
import { sql } from 'kysely'
import { quantile } from './figures.ts'
import type { Run } from './scale-fill.ts'

export type Figures = {
  name: string
  p50Ms: number
  p99Ms: number
  /** Pages that were read in total, and pages that the server read from its files. */
  pages: number
  pagesRead: number
  walBytes: number
}

export type Sample = Owner & {
  inboxId: string
  total: number
  messageId: string
  threadId: string
  key: string
}
type Operation = { name: string; run(round: number): Promise<unknown> }

const WARM_ROUNDS = 100

/** Runs every operation `rounds` times, each time in another part of the database. */
export async function measure(
  db: Db,
  { run, messages, rounds }: { run: Run; messages: number; rounds: number },
): Promise<Figures[]> {
  const samples = await drawSamples(run, rounds + WARM_ROUNDS)
  const large = await findLarge(run)
  const at = (round: number) => samples[round % samples.length] ?? large
  const operations = [...reads(db, { at, large, messages }), ...writes(db, at)]
  const figures: Figures[] = []
  for (const operation of operations) {
    for (let round = 0; round < WARM_ROUNDS; round++) await operation.run(rounds + round)
    const before = await readCounts(db)
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      const startMs = performance.now()
      await operation.run(round)
      times.push(performance.now() - startMs)
    }
    const after = await readCounts(db)
    const each = (name: keyof Counts) => (after[name] - before[name]) / rounds
    figures.push({
      name: operation.name,
      p50Ms: quantile(times, 0.5),
      p99Ms: quantile(times, 0.99),
      pages: each('found') + each('read'),
      pagesRead: each('read'),
      walBytes: each('wal'),
    })
  }
  return figures
}

type Place = { at: (round: number) => Sample; large: Sample; messages: number }

function reads(db: Db, { at, large, messages }: Place): Operation[] {
  const page = { isRead: null, direction: null, limit: 50 }
  const anywhere = (round: number, total: number) => Math.floor(((round * 0.618034) % 1) * total)
  const eventAt = (number: number) => ({
    transactionId: 3 + Math.floor((number * 500) / messages),
    sequence: number + 1,
  })
  const filter = { kinds: [], podIds: [], inboxIds: [], categories: [] }
  const bodyLengthMax = CUT_READ_LENGTH
  return [
    {
      name: 'messages, first page',
      run: (n) => listMessages(db, { ...at(n), ...page, offset: 0, bodyLengthMax }),
    },
    {
      name: 'messages, any page of the large inbox',
      run: (n) =>
        listMessages(db, {
          ...large,
          ...page,
          bodyLengthMax,
          offset: anywhere(n, large.total - 50),
        }),
    },
    { name: 'threads, first page', run: (n) => listThreads(db, { ...at(n), ...page, offset: 0 }) },
    {
      name: 'threads, any page of the large inbox',
      run: (n) => listThreads(db, { ...large, ...page, offset: anywhere(n, large.total / 2 - 50) }),
    },
    { name: 'a message by its id', run: (n) => findMessage(db, at(n).accountId, at(n).messageId) },
    {
      name: 'a thread with its messages',
      async run(n) {
        const { accountId, threadId } = at(n)
        if ((await findThread(db, accountId, threadId)) === null) {
          throw new Error('The thread is gone.')
        }
        const asked = { accountId, threadId, limit: 50, offset: 0, bodyLengthMax }
        await Array.fromAsync(listThreadMessages(db, asked))
      },
    },
    {
      name: 'events of an account, 50 from anywhere',
      run: (n) =>
        listEvents(db, {
          accountId: at(n).accountId,
          after: eventAt(anywhere(n, messages * 0.9)),
          filter,
          limit: 50,
        }),
    },
    {
      name: 'the log, the newest 200',
      run: () => readLog(db, { after: eventAt(messages - 201), limit: 200 }),
    },
    {
      name: 'heads that are ready',
      run: () =>
        deliveryQueue.listHeads(db, { account: '', lane: '', lanesEach: 20, limit: 1_000 }),
    },
  ]
}

function writes(db: Db, at: (round: number) => Sample): Operation[] {
  return [
    { name: 'receive, a new thread', run: (n) => receive(db, at(n), []) },
    { name: 'receive, an answer', run: (n) => receive(db, at(n), [at(n).key]) },
    {
      name: 'send to one recipient',
      run: (n) =>
        db.write(
          insertSend,
          sending(at(n), at(n).inboxId, { recipients: [`user${n}@domain${n % 200}.example`] }),
        ),
    },
    {
      name: 'lease 10 of a lane, and return them',
      async run(n) {
        const account = at(n).accountId
        const heads = [{ account, lane: `domain${n % 200}.example`, limit: 10 }]
        const nowMs = Date.now()
        const lease = { worker: 'a worker', heads, nowMs, leaseUntilMs: nowMs + 60_000 }
        const held = await db.write(deliveryQueue.lease, lease)
        await db.write(deliveryQueue.return, {
          worker: 'a worker',
          ids: held.map(({ id }) => id),
        })
      },
    },
  ]
}

/** Receives a message like the SMTP server, from a sender who has not written before. */
export function receive(db: Db, sample: Sample, parentKeys: string[]): Promise<unknown> {
  const key = `${makeId('msg')}@firm.example`
  const input = arriving(sample, [sample.inboxId], { key, parentKeys })
  return db.write(storeReceived, {
    ...input,
    content: { ...input.content, receipt_key: new Uint8Array(16), body_length: 5 },
    senderKey: key,
  })
}

type Counts = { found: number; read: number; wal: number }

/** Pages of this database, which must have no other users, and log of this connection. */
async function readCounts(db: Db): Promise<Counts> {
  // A connection publishes its counters only on request.
  await sql`select pg_stat_force_next_flush()`.execute(db.read)
  await sql`select pg_stat_clear_snapshot()`.execute(db.read)
  const { rows } = await sql<Counts>`
    select blks_hit as found, blks_read as read,
      (select wal_bytes::bigint from pg_stat_get_backend_wal(pg_backend_pid())) as wal
    from pg_stat_database where datname = current_database()`.execute(db.read)
  return rows[0] ?? { found: 0, read: 0, wal: 0 }
}

const SAMPLE_COLUMNS = `account_id as "accountId", pod_id as "podId", inbox_id as "inboxId",
  total::integer as total`

/** Inboxes from all over the database, each with a random message. */
export async function drawSamples(run: Run, count: number): Promise<Sample[]> {
  const rows = await run(`
    select ${SAMPLE_COLUMNS.replaceAll(/(\w+_id)/g, 'drawn.$1')}, messages.id as "messageId",
      messages.thread_id as "threadId", messages.message_key as key
    from (select *, 1 + round as place from scale_inboxes, generate_series(0, 9) as round
        where inbox > 0 order by md5(inbox::text || round) limit ${count}) as drawn
      join lateral (select * from messages where messages.inbox_id = drawn.inbox_id
        and messages.account_id = drawn.account_id
        and arrival = 1 + (drawn.place * 7919) % drawn.total) as messages on true`)
  return rows as Sample[]
}

async function findLarge(run: Run): Promise<Sample> {
  const [row] = await run(`select ${SAMPLE_COLUMNS} from scale_inboxes where inbox = 0`)
  return { ...(row as Sample), messageId: '', threadId: '', key: '' }
}
