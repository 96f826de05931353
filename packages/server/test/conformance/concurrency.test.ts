import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insertAccount } from '#accounts/store/insert-account.ts'
import { insertPod } from '#accounts/store/pods.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import { addJobs, leaseJobs } from '#queue/jobs.ts'
import { purgeInboxStep } from '#removal/store/purge.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  openDatabase,
  readArrivals,
} from '#test/conformance/open-database.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'
import { insertWebhook, listWebhooks, WEBHOOKS_PER_ACCOUNT_MAX } from '#webhooks/store/webhooks.ts'

onBothEngines('concurrent transactions', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))

  test('webhooks that two accounts create at once are limited for each', async () => {
    const owners = [await addAccount(db), await addAccount(db)]
    const filter = { kinds: [], podIds: [], inboxIds: [], categories: [] }
    const made = { ...filter, inboxId: null, url: 'https://a.example', isEnabled: true, nowMs: 1 }
    const all = Array.from({ length: 2 * (WEBHOOKS_PER_ACCOUNT_MAX + 10) }, (_, index) => {
      const { accountId } = owners[index % 2] ?? owner
      const sealedSecrets = new Uint8Array(8)
      return db.write(insertWebhook, { ...made, id: makeId('whk'), accountId, sealedSecrets })
    })
    const results = await Promise.all(all)
    for (const [index, { accountId }] of owners.entries()) {
      const own = results.filter((_, at) => at % 2 === index)
      assert.equal(own.filter((one) => one === 'limit_reached').length, 10)
      const { webhooks, total } = await listWebhooks(db, { accountId, limit: 1_000, offset: 0 })
      assert.equal(total, WEBHOOKS_PER_ACCOUNT_MAX)
      const created = own.flatMap((one) => (typeof one === 'string' ? [] : [one.id]))
      assert.deepEqual(webhooks.map(({ id }) => id).sort(), created.sort())
    }
    const missing = { ...made, id: makeId('whk'), accountId: 'acc_none' }
    const refused = await db.write(insertWebhook, {
      ...missing,
      sealedSecrets: new Uint8Array(8),
    })
    assert.equal(refused, 'no_account')
  })

  test('answers that arrive at once in one thread are all counted, and numbered without gap or repeat', async () => {
    const inboxId = await addInbox(db, owner)
    await db.write(storeReceived, arriving(owner, [inboxId], { key: 'root@x.example' }))
    const answer = () => arriving(owner, [inboxId], { parentKeys: ['root@x.example'] })
    await Promise.all(Array.from({ length: 30 }, () => db.write(storeReceived, answer())))
    const rows = await db.read
      .selectFrom('threads')
      .select(['message_count', 'unread_count'])
      .where('inbox_id', '=', inboxId)
      .execute()
    assert.deepEqual({ ...rows[0] }, { message_count: 31, unread_count: 31 })
    assert.deepEqual(
      await readArrivals(db, inboxId),
      Array.from({ length: 31 }, (_, index) => index + 1),
    )
  })

  test('messages to the same inboxes in any order never deadlock', async () => {
    const inboxIds = await Promise.all(Array.from({ length: 5 }, () => addInbox(db, owner)))
    const writes = Array.from({ length: 40 }, (_, index) => {
      const turned = [...inboxIds.slice(index % 5), ...inboxIds.slice(0, index % 5)]
      return db.write(storeReceived, arriving(owner, turned))
    })
    const outcomes = await Promise.all(writes)
    assert.ok(outcomes.every(({ stored }) => stored === 5))
  })

  test('inboxes created and deleted at once never deadlock', async () => {
    const inboxIds = await Promise.all(Array.from({ length: 20 }, () => addInbox(db, owner)))
    const changes = inboxIds.flatMap((inboxId) => [
      db.write(removeInbox, {
        actor: { kind: 'operator' },
        ...owner,
        inboxId,
        nowMs: 1,
      }),
      addInbox(db, owner),
    ])
    await Promise.all(changes)
    const account = await db.read
      .selectFrom('accounts')
      .select('inbox_count')
      .where('id', '=', owner.accountId)
      .executeTakeFirstOrThrow()
    const inboxes = await db.read.selectFrom('inboxes').select('id').execute()
    assert.equal(account.inbox_count, inboxes.length)
  })

  test('a burst of writes for one account delays neither readers nor itself', async () => {
    const pod = () => ({ ...owner, podId: makeId('pod'), clientId: null, name: null, nowMs: 1 })
    let isOver = false
    const burst = Promise.all(Array.from({ length: 100 }, () => db.write(insertPod, pod())))
    const reading = (async () => {
      while (!isOver) {
        await db.check()
        await new Promise(setImmediate)
      }
    })()
    await burst.finally(() => {
      isOver = true
    })
    await reading
  })

  test('a due job is leased by one worker only, and again when its lease has ended', async () => {
    const lease = (worker: string, nowMs: number) =>
      db.write(leaseJobs, {
        kind: 'test',
        worker,
        nowMs,
        leaseMs: 1_000,
        limit: 7,
        afterAccount: '',
      })
    const drain = async (worker: string, nowMs: number) => {
      const keys: string[] = []
      for (;;) {
        const jobs = await lease(worker, nowMs)
        if (jobs.length === 0) return keys
        keys.push(...jobs.map(({ key }) => key))
      }
    }
    const keys = Array.from({ length: 60 }, () => makeId('job')).sort()
    const job = { kind: 'test', account_id: owner.accountId, due_at: 20_000 }
    await db.write(addJobs, { jobs: keys.map((key) => ({ ...job, key })) })
    assert.deepEqual(await drain('early', 10_500), [])
    const workers = ['one', 'two', 'three', 'four']
    const taken = (await Promise.all(workers.map((worker) => drain(worker, 20_000)))).flat()
    assert.deepEqual(taken.sort(), keys)
    assert.deepEqual((await drain('five', 21_000)).sort(), keys)
  })

  test('a purge that runs twice at once releases a shared message once only', async () => {
    for (let round = 0; round < 5; round++) {
      const [gone, kept] = [await addInbox(db, owner), await addInbox(db, owner)]
      for (let index = 0; index < 20; index++) {
        await db.write(storeReceived, arriving(owner, [gone, kept]))
      }
      await db.write(removeInbox, {
        actor: { kind: 'operator' },
        ...owner,
        inboxId: gone,
        nowMs: 1,
      })
      const purge = async () => {
        while (!(await db.write(purgeInboxStep, { nowMs: 0, inboxId: gone })).isDone);
      }
      await Promise.all(Array.from({ length: 6 }, purge))
      const raws = await db.read
        .selectFrom('messages')
        .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
        .select('reference_count')
        .where('inbox_id', '=', kept)
        .execute()
      assert.deepEqual(
        raws.map((raw) => raw.reference_count),
        Array(20).fill(1),
      )
    }
  })

  test('one of several first accounts created at once on an empty database is created', async () => {
    await using empty = await openDatabase(engine)
    const create = (index: number) =>
      empty.db.write(insertAccount, {
        id: makeId('acc'),
        name: 'first',
        plan: 'free',
        podId: makeId('pod'),
        key: {
          id: makeId('key'),
          name: null,
          tokenHash: Buffer.from([index]),
          tokenPrefix: '',
          last4: '',
        },
        nowMs: 1,
        isFirst: true,
      })
    // With connections open, so that all of them check at the same moment.
    await Promise.all(Array.from({ length: 8 }, () => empty.db.check()))
    const made = await Promise.all(Array.from({ length: 8 }, (_, index) => create(index)))
    assert.equal(made.filter(Boolean).length, 1)
  })
})
