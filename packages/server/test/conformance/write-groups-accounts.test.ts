import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { seededDice } from '@mailroom/mail/test/seeded-dice.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import {
  addAccount,
  addInbox,
  arriving,
  type Owner,
  openGrouping,
  openGroupingWorld,
  readArrivals,
  readCounters,
  receiveTogether,
} from '#test/conformance/open-database.ts'
import { opened, prepared } from '#test/world.ts'

suite('writes of several accounts in groups', { timeout: 120_000 }, () => {
  const world = opened(openGroupingWorld)
  const db = prepared(() => world.db)

  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
  const countersOf = (inboxId: string) => readCounters(db, inboxId)
  const positionsOf = (inboxId: string) => readArrivals(db, inboxId)
  const hold = async (inboxId: string) => {
    await world.client.query('begin')
    await world.client.query('select 1 from inbox_counters where inbox_id = $1 for update', [
      inboxId,
    ])
  }
  /** Owners of one inbox each. */
  const addOwners = async (count: number) => {
    const owners: { owner: Owner; inboxId: string }[] = []
    for (const _ of upTo(count)) {
      const owner = await addAccount(db)
      owners.push({ owner, inboxId: await addInbox(db, owner) })
    }
    return owners
  }

  test('mail of several accounts that waits together shares a transaction', async () => {
    const owners = await addOwners(20)
    world.groups.length = 0
    const outcomes = await Promise.all(
      owners.map((to) => db.write(storeReceived, arriving(to.owner, [to.inboxId]))),
    )
    assert.ok(outcomes.every(({ stored }) => stored === 1))
    assert.deepEqual(
      world.groups.toSorted((a, b) => a - b),
      [1, 19],
    )
  })

  test('mail of one account that cannot be stored fails alone, beside that of other accounts', async () => {
    const owners = await addOwners(6)
    const results = await Promise.allSettled(
      upTo(3).flatMap((round) =>
        owners.map(({ owner: to, inboxId }, index) => {
          const input = arriving(to, [inboxId])
          const subject = index === 4 && round === 2 ? 'a\0b' : 'hello'
          return db.write(storeReceived, { ...input, content: { ...input.content, subject } })
        }),
      ),
    )
    const failed = results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))
    assert.deepEqual(failed, [10])
    for (const [index, { inboxId }] of owners.entries()) {
      assert.deepEqual(await positionsOf(inboxId), upTo(index === 4 ? 2 : 3))
    }
  })

  test('mail for an inbox that is locked does not keep back that of other accounts', async () => {
    const [held, ...free] = await addOwners(8)
    assert.ok(held)
    const receive = (to: typeof held): Promise<{ stored: number }> =>
      db.write(storeReceived, arriving(to.owner, [to.inboxId]))
    const [first, second] = free
    assert.ok(first && second)
    await hold(held.inboxId)
    const locked: Promise<{ stored: number }>[] = []
    // In one group with mail for the locked inbox, and after it.
    for (const _ of [1, 2]) {
      const begun: typeof locked = [receive(first), receive(second)]
      locked.push(receive(held))
      const others: typeof locked = [...begun, ...free.map(receive)]
      for (const { stored } of await Promise.all(others)) assert.equal(stored, 1)
    }
    await world.client.query('rollback')
    for (const { stored } of await Promise.all(locked)) assert.equal(stored, 1)
    assert.deepEqual(await positionsOf(held.inboxId), upTo(2))
  })

  test('accounts with much mail leave places in each group to the others', async () => {
    const owners = await addOwners(12)
    const [much, few] = [owners.slice(0, 6), owners.slice(6)]
    const ended: string[] = []
    const receive = async (to: (typeof owners)[number]) => {
      await db.write(storeReceived, arriving(to.owner, [to.inboxId]))
      ended.push(to.inboxId)
    }
    // Each of them could fill a group alone.
    const writes = much.flatMap((to) => upTo(60).map(() => receive(to)))
    writes.push(...few.map(receive))
    await Promise.all(writes)
    const last = Math.max(...few.map(({ inboxId }) => ended.indexOf(inboxId)))
    assert.ok(last < 160, `the last of the others ended after ${last} writes`)
  })

  test('two processes that receive for the same inboxes of several accounts store everything', async () => {
    const owners = await addOwners(6)
    const second = await openGrouping(world.url)
    world.groups.length = 0
    try {
      const processes = [db, second.db]
      const roll = seededDice(11)
      const writes = upTo(400).map((number) => {
        const [first, other] = [owners[roll(6)], owners[roll(6)]]
        assert.ok(first && other)
        const input = arriving(first.owner, [first.inboxId])
        const [receipt] = input.receipts
        // Some mail has recipients in two accounts.
        if (number % 5 === 0 && other !== first && receipt !== undefined) {
          const { receipts } = arriving(other.owner, [other.inboxId])
          input.receipts.push(...receipts)
        }
        return processes[number % 2]?.write(storeReceived, input)
      })
      const outcomes = await Promise.all(writes)
      const stored = outcomes.reduce((sum, outcome) => sum + (outcome?.stored ?? 0), 0)
      let found = 0
      for (const { inboxId } of owners) {
        const counters = await countersOf(inboxId)
        assert.deepEqual(await positionsOf(inboxId), upTo(counters.inbound_count))
        found += counters.inbound_count
      }
      assert.equal(found, stored)
      assert.ok(world.groups.some((size) => size > 1) && second.groups.some((size) => size > 1))
    } finally {
      await second.db.close()
    }
  })

  test('mail in a group answers only mail of its own account', async () => {
    const owners = await addOwners(3)
    const key = 'same@x.example'
    const inputs = owners.map(({ owner: to, inboxId }) => arriving(to, [inboxId], { key }))
    const answers = owners.map(({ owner: to, inboxId }) =>
      arriving(to, [inboxId], { parentKeys: [key] }),
    )
    const results = (await receiveTogether(db, [...inputs, ...answers])) as { stored: number }[]
    assert.deepEqual(
      results.map(({ stored }) => stored),
      [1, 1, 1, 1, 1, 1],
    )
    for (const { owner: to, inboxId } of owners) {
      const rows = await db.read
        .selectFrom('messages')
        .innerJoin('threads', 'threads.id', 'messages.thread_id')
        .select(['messages.account_id', 'threads.account_id as of', 'thread_id'])
        .where('messages.inbox_id', '=', inboxId)
        .execute()
      assert.equal(rows.length, 2)
      assert.equal(new Set(rows.map((row) => row.thread_id)).size, 1)
      for (const row of rows)
        assert.deepEqual([row.account_id, row.of], Array(2).fill(to.accountId))
    }
  })
})
