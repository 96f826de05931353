import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import pg from 'pg'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import {
  type ClaimRequest,
  claimOldest,
  expireClaims,
  type MadeClaim,
} from '#mailbox/claims/store/claims.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  openDatabase,
} from '#test/conformance/open-database.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

const WORKERS = 50
const THREADS = sizeOf('TEST_MAILROOM_CLAIM_THREADS', { quick: 75, usual: 150, long: 5_000 })
const LEASE_MS = 60_000

const newClaim = () => ({
  tokenHash: randomBytes(32),
  eventId: makeId('evt'),
  expiredEventId: makeId('evt'),
})
const requestOf = (owner: string, max = 1): ClaimRequest => ({
  owner,
  leaseMs: LEASE_MS,
  category: null,
  facets: [],
  claims: Array.from({ length: max }, newClaim),
})

onBothEngines('claims in the store', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))
  const at = (queueMs: number) => ({ queueMs, nowMs: queueMs })

  async function inboxWith(threads: number): Promise<string> {
    const inboxId = await addInbox(db, owner)
    for (let each = 0; each < threads; each++) {
      await db.write(storeReceived, arriving(owner, [inboxId]))
    }
    return inboxId
  }
  const eventsOf = async (inboxId: string) => {
    const rows = await db.read
      .selectFrom('events')
      .select(['kind', 'thread_id'])
      .where('inbox_id', '=', inboxId)
      .where('kind', 'in', ['thread.claimed', 'thread.released'])
      .orderBy('sequence')
      .execute()
    return rows.map(({ kind }) => kind)
  }

  test(`${WORKERS} workers at two processes claim ${THREADS} threads once each`, async () => {
    const inboxId = await inboxWith(THREADS)
    const other = await database.openOther()
    const claims: MadeClaim[] = []
    const work = async (worker: number) => {
      for (;;) {
        const input = { ...owner, inboxId, requests: [requestOf(`w${worker}`)], ...at(1_000) }
        const outcome = await (worker % 2 === 0 ? db : other).write(claimOldest, input)
        const [claim] = outcome?.made[0] ?? []
        if (claim === undefined) return outcome?.moreInMs
        claims.push(claim)
      }
    }
    const ends = await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)))
    assert.equal(new Set(claims.map(({ threadId }) => threadId)).size, THREADS)
    assert.equal(claims.length, THREADS)
    assert.ok(claims.every(({ fence }) => fence === 1))
    // The first lease that runs out, or at once what another held.
    assert.ok(ends.every((moreInMs) => moreInMs != null && moreInMs <= LEASE_MS))
  })

  test('several requests are served in their order by one transaction', async () => {
    const inboxId = await inboxWith(5)
    const requests = [requestOf('a', 2), requestOf('b', 2), requestOf('c', 2), requestOf('d')]
    const outcome = await db.write(claimOldest, { ...owner, inboxId, requests, ...at(1_000) })
    assert.deepEqual(
      outcome?.made.map((made) => made.length),
      [2, 2, 1, 0],
    )
    const ids = outcome?.made.flat().map(({ threadId }) => threadId) ?? []
    assert.deepEqual(ids, ids.toSorted())
    assert.equal(
      await db.write(claimOldest, { ...owner, inboxId: makeId('inb'), requests, ...at(1) }),
      null,
    )
    const { accountId } = await addAccount(db)
    assert.equal(await db.write(claimOldest, { accountId, inboxId, requests, ...at(1) }), null)
  })

  test('a lease that has run out is told once, by the sweep or by the next claim', async () => {
    const inboxId = await inboxWith(2)
    const requests = [requestOf('a', 2)]
    await db.write(claimOldest, { ...owner, inboxId, requests, ...at(1_000) })
    const late = 1_000 + LEASE_MS
    const again = { ...owner, inboxId, requests: [requestOf('b')] }
    assert.deepEqual((await db.write(claimOldest, { ...again, ...at(late - 1) }))?.made, [[]])
    const next = await db.write(claimOldest, { ...again, requests: [requestOf('b')], ...at(late) })
    assert.deepEqual(
      next?.made[0]?.map(({ fence }) => fence),
      [2],
    )
    let ended = 0
    for (let step = 1; step > 0; ended += step) {
      const eventIds = Array.from({ length: 100 }, () => makeId('evt'))
      step = await db.write(expireClaims, { eventIds, ...at(late) })
    }
    assert.ok(ended >= 1)
    const kinds = await eventsOf(inboxId)
    assert.deepEqual(kinds.toSorted(), [
      ...Array(3).fill('thread.claimed'),
      ...Array(2).fill('thread.released'),
    ])
  })

  if (engine === 'postgres') {
    test('a thread that another transaction holds holds up nobody, and is looked at again soon', async () => {
      const inboxId = await inboxWith(2)
      const client = new pg.Client({ connectionString: database.place })
      await client.connect()
      try {
        await client.query('begin')
        const held =
          'select id from threads where inbox_id = $1 order by last_message_at, id limit 1 for update'
        const { rows } = await client.query(held, [inboxId])
        const place = { ...owner, inboxId }
        const input = () => ({ ...place, requests: [requestOf('a', 5)], ...at(1_000) })
        const first = await db.write(claimOldest, input())
        assert.deepEqual(
          first?.made.map((made) => made.length),
          [1],
        )
        assert.notEqual(first?.made[0]?.[0]?.threadId, rows[0]?.id)
        assert.ok((first?.moreInMs ?? LEASE_MS) < 1_000)
        await client.query('rollback')
        const second = await db.write(claimOldest, input())
        assert.equal(second?.made[0]?.[0]?.threadId, rows[0]?.id)
      } finally {
        await client.end()
      }
    })
  }
})
