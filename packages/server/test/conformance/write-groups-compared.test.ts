import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Dice, seededDice } from '@mailroom/mail/test/seeded-dice.ts'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { insertAccount } from '#accounts/store/insert-account.ts'
import { type ReceiveInput, storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { insertInbox, removeInbox } from '#inboxes/store/change-inboxes.ts'
import { ROW_BODY_LENGTH_MAX } from '#mailbox/messages/store/write-messages.ts'
import { systemClock } from '#platform/clock.ts'
import type { Db } from '#store/tables.ts'
import {
  arriving,
  makeId,
  markThread,
  type Owner,
  openDatabase,
  openGrouping,
} from '#test/conformance/open-database.ts'
import { createPreparedDatabase } from '#test/peers/postgres.ts'
import { runSql } from '#test/peers/sql.ts'

const BATCHES = sizeOf('TEST_MAILROOM_BATCHES', { quick: 6, usual: 15, long: 200 })
const GUARD = { timeout: 600_000 }

test(
  'mail received in groups leaves the same tables and outcomes as mail received one by one',
  GUARD,
  async () => {
    const seed = systemClock.now()
    const place = await createPreparedDatabase()
    const { db: grouping } = await openGrouping(place)
    const [single, embedded] = [await openDatabase('postgres'), await openDatabase('sqlite')]
    const all = [{ db: grouping, place }, single, embedded]
    try {
      await compareBatches(all, seededDice(seed))
    } catch (error) {
      throw new Error(`With seed ${seed}`, { cause: error })
    } finally {
      await grouping.close()
      await Promise.all([single.close(), embedded.close()])
    }
  },
)

type Target = { owner: Owner; inboxId: string; domainId: string | null }

type Placed = { db: Db; place: string }

/** The same batches into all of the databases, into the first as groups. */
async function compareBatches(databases: readonly Placed[], roll: Dice) {
  const all = databases.map(({ db }) => db)
  const [grouping, ...others] = all
  if (grouping === undefined) throw new Error('No database is given.')
  const targets = await makeTargets(all)
  for (let batch = 0; batch < BATCHES; batch++) {
    if (batch === Math.floor(BATCHES / 3)) await losePlaces(databases, targets)
    const inputs = Array.from({ length: 1 + roll(20) }, () => arrivingByChance(roll, targets))
    // Chance alone may omit a kind from a small run.
    if (batch === 0) inputs.push(arrivingAs({ isLong: true, isKeptOut: true }, roll, targets))
    const together = await receiveAsOne(grouping, inputs)
    for (const other of others) {
      assert.deepEqual(together, await receiveEach(other, inputs))
    }
    const query = grouping.read.selectFrom('threads').select(['id', 'account_id']).orderBy('id')
    const threads = await query.execute()
    const some = threads[roll(threads.length)]
    if (some === undefined) continue
    const eventId = makeId('evt')
    const read = { accountId: some.account_id, threadId: some.id, isRead: true, eventId }
    for (const db of all) await markThread(db, read)
  }
  const [first, ...rest] = await Promise.all(all.map(readAll))
  for (const one of rest) assert.deepEqual(first, one)
  assert.ok((first?.messages?.length ?? 0) > BATCHES)
  assert.ok((first?.long_bodies?.length ?? 0) > 0)
  assert.ok((first?.quarantined_messages?.length ?? 0) > 0)
}

/** In one transaction, in this order. */
function receiveAsOne(db: Db, inputs: readonly ReceiveInput[]): Promise<unknown[]> {
  const { group } = storeReceived
  assert.ok(group)
  const writes = inputs.map((input) => ({ input }))
  return db.read
    .transaction()
    .execute((query) => group.run({ engine: db.engine, query, runSql: null }, writes))
}

/** At once on SQLite, whose writer has them share statements; one after the other on PostgreSQL. */
async function receiveEach(db: Db, inputs: readonly ReceiveInput[]): Promise<unknown[]> {
  if (db.engine === 'sqlite') {
    return Promise.all(inputs.map((input) => db.write(storeReceived, input)))
  }
  const outcomes: unknown[] = []
  for (const input of inputs) outcomes.push(await db.write(storeReceived, input))
  return outcomes
}

/** Inboxes of two accounts, equal in all of the databases, half of them on domains. */
async function makeTargets(all: Db[]): Promise<Target[]> {
  const targets: Target[] = []
  for (let account = 0; account < 2; account++) {
    const owner = { accountId: makeId('acc'), podId: makeId('pod') }
    const id = makeId('key')
    const key = { id, name: null, tokenHash: Buffer.from(id), tokenPrefix: '', last4: '' }
    const made = {
      id: owner.accountId,
      name: 'x',
      plan: 'launch',
      podId: owner.podId,
      key,
    } as const
    for (const db of all) await db.write(insertAccount, { ...made, nowMs: 1, isFirst: false })
    for (let index = 0; index < 4; index++) {
      const inboxId = makeId('inb')
      const address = `${inboxId}@mailroom.localhost`
      const place = { pod: null, address, displayName: null, domain: null, webhook: null }
      const inbox = { ...place, accountId: owner.accountId, inboxId, nowMs: 1 }
      for (const db of all) await db.write(insertInbox, { ...inbox, creationsPerDay: 100 })
      targets.push({ owner, inboxId, domainId: index < 2 ? null : 'dom_1' })
    }
  }
  return targets
}

/** Deletes one of the inboxes, and gives the domain of another to another account. */
async function losePlaces(databases: readonly Placed[], targets: readonly Target[]): Promise<void> {
  const [deleted, , lost] = targets
  if (deleted === undefined || lost === undefined) throw new Error('There are no inboxes.')
  const { accountId } = deleted.owner
  const deletion = { accountId, inboxId: deleted.inboxId, nowMs: 1 }
  const text = `update inboxes set receiving_address = null where id = '${lost.inboxId}'`
  for (const { db, place } of databases) {
    assert.equal(
      await db.write(removeInbox, { ...deletion, actor: { kind: 'operator' } }),
      'deleted',
    )
    await runSql({ place }, text)
  }
}

/** Few Message-IDs and senders, so that many collide. */
function arrivingByChance(roll: Dice, targets: readonly Target[]): ReceiveInput {
  return arrivingAs({ isLong: roll(12) === 0, isKeptOut: roll(6) === 0 }, roll, targets)
}

function arrivingAs(
  { isLong, isKeptOut }: { isLong: boolean; isKeptOut: boolean },
  roll: Dice,
  targets: readonly Target[],
): ReceiveInput {
  const to = targets.filter(() => roll(targets.length) === 0)
  if (to.length === 0) to.push(targets[roll(targets.length)] as Target)
  const [first] = to as [Target]
  const key = roll(5) === 0 ? null : `key-${roll(12)}@sender.example`
  const parentKeys = Array.from({ length: roll(4) }, () => `key-${roll(14)}@sender.example`)
  const input = arriving(first.owner, [], {
    content: Buffer.from([roll(256), 0, 92, 39]),
    parentKeys,
    ...(key !== null && { key }),
  })
  const receipts = to.map(({ owner, inboxId, domainId }) => ({
    ...owner,
    inboxId,
    domainId,
    toAddr: `${inboxId}@mailroom.localhost`,
    recipient: null,
    through: [],
    deliveryRole: roll(2) === 0 ? ('to' as const) : ('cc' as const),
  }))
  return {
    ...input,
    content: {
      ...input.content,
      receipt_key: roll(6) === 0 ? null : Buffer.from([roll(3)]),
      subject: `'"\\{} ${roll(1_000)} ü🙂`,
      body_length: isLong ? ROW_BODY_LENGTH_MAX + 1 : 5,
      cc: '["a@x.example"]',
      automatic_reason: roll(3) === 0 ? 'list' : null,
      category: 'personal',
      judgement: '{"reasons":[],"autoReplyable":true,"verdict":"clean","spamScore":null}',
    },
    receipts: receipts.slice(isKeptOut ? 1 : 0).map((receipt) => ({ ...receipt, ...newIds() })),
    keptOut: receipts.slice(0, isKeptOut ? 1 : 0).map((receipt) => ({
      ...receipt,
      quarantinedId: makeId('qua'),
      auditId: makeId('aud'),
      eventId: makeId('evt'),
      reason: 'blocked',
      ruleId: null,
    })),
    senderKey: roll(4) === 0 ? null : `sender-${roll(5)}@sender.example`,
    nowMs: 1_000 + roll(1_000),
  }
}

const newIds = () => ({
  messageId: makeId('msg'),
  threadId: makeId('thr'),
  eventId: makeId('evt'),
})

const TABLES = [
  ['inbox_counters', 'inbox_id'],
  ['raw_messages', 'id'],
  ['long_bodies', 'raw_id'],
  ['threads', 'id'],
  ['messages', 'id'],
  ['events', 'sequence'],
  ['correspondents', 'inbox_id', 'address_key'],
  ['quarantined_messages', 'id'],
] as const

/** Every row that receiving writes, in one form for both engines. */
async function readAll(db: Db): Promise<Record<string, unknown[]>> {
  const all: Record<string, unknown[]> = {}
  for (const [table, ...order] of TABLES) {
    let query = db.read.selectFrom(table).selectAll()
    for (const column of order) query = query.orderBy(column as never)
    const rows = await query.execute()
    all[table] = rows.map((row) => {
      const columns = Object.entries(row).filter(([name]) => name !== 'transaction_id')
      return Object.fromEntries(columns.map(([name, value]) => [name, plain(value)]))
    })
  }
  return all
}

function plain(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}
