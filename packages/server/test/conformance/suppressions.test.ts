import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { openDeliveryQueue } from '#delivery/delivery-queue.ts'
import { listCaptured, removeCaptured } from '#outbound/deliveries/store/captured-messages.ts'
import {
  deleteSuppression,
  insertSuppression,
  listSuppressions,
} from '#outbound/suppressions/store/suppressions.ts'
import { deliverDeps, deliveriesOf, stillClock } from '#test/conformance/delivering.ts'
import {
  addAccount,
  addInbox,
  makeId,
  type Owner,
  openDatabase,
} from '#test/conformance/open-database.ts'
import { queueAll, sending } from '#test/conformance/sending.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

const NEVER = AbortSignal.any([])
const START_MS = Date.UTC(2026, 10, 20, 12)

onEachEngine('suppressions and the sandbox', (engine) => {
  const database = opened(() => openDatabase(engine))
  let owner: Owner
  const db = prepared(() => database.db)
  const others = prepared(() => database.openOther())
  beforeEach(async () => {
    owner = await addAccount(db)
  })

  const suppress = (address: string, on = db) =>
    on.write(insertSuppression, {
      id: makeId('sup'),
      account_id: owner.accountId,
      address,
      address_key: address.toLowerCase(),
      type: 'manual',
      reason: null,
      created_at: START_MS,
    })
  const list = (page: { addressKey?: string; limit?: number; offset?: number } = {}) =>
    listSuppressions(db, {
      accountId: owner.accountId,
      addressKey: null,
      limit: 50,
      offset: 0,
      ...page,
    })
  const unsuppress = (addressKey: string, on = db) =>
    on.write(deleteSuppression, { accountId: owner.accountId, addressKey })

  test('the total is right under concurrent additions and removals', async () => {
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const address = `r${index % 10}@far.example`
        const on = index % 2 === 0 ? db : others
        if (index % 3 === 2) await unsuppress(address, on)
        else await suppress(address, on)
      }),
    )
    const { suppressions, total } = await list()
    assert.equal(suppressions.length, total)
  })

  test('the list of one address counts it, on any page, and does not count a missing one', async () => {
    await suppress('bob@far.example')
    const addressKey = 'bob@far.example'
    assert.equal((await list({ addressKey })).suppressions.length, 1)
    for (const offset of [0, 1, 5]) {
      const { suppressions, total } = await list({ addressKey, offset })
      assert.deepEqual([suppressions.length, total], [offset === 0 ? 1 : 0, 1])
      const none = await list({ addressKey: 'ann@far.example', offset })
      assert.deepEqual([none.suppressions.length, none.total], [0, 0])
    }
  })

  test('the sandbox captures a transaction once, applies special addresses, and is cleared', async () => {
    const inboxId = await addInbox(db, owner)
    const clock = stillClock(START_MS)
    const recipients = [
      'bob@far.example',
      'bounce-550@far.example',
      'Defer-451+tag@far.example',
      'complain@far.example',
    ]
    const send = sending(owner, inboxId, { recipients, nowMs: START_MS })
    const [messageId = ''] = await queueAll(db, [send])
    const queue = openDeliveryQueue(deliverDeps(db, clock, null), makeId('job'))
    const attempt = async () => {
      const held = await queue.claim([{ account: owner.accountId, lane: 'far.example', limit: 10 }])
      const own = held.filter(({ message_id }) => message_id === messageId)
      for (const group of queue.group(own)) await queue.deliver(group, NEVER)
    }
    const captured = async () => {
      const page = { accountId: owner.accountId, limit: 50, offset: 0, bodyLengthMax: 100 }
      const { captured: found, total } = await listCaptured(db, page)
      const recipients: string[][] = []
      for await (const one of found) recipients.push(one.recipients)
      return { total, recipients }
    }
    await attempt()
    assert.deepEqual(
      (await deliveriesOf(db, [messageId])).map(({ status, host }) => `${status} ${host}`),
      ['accepted sandbox', 'failed sandbox', 'deferred sandbox', 'complained sandbox'],
    )
    assert.deepEqual(await captured(), {
      total: 1,
      recipients: [['bob@far.example', 'complain@far.example']],
    })
    assert.deepEqual(
      (await list()).suppressions.map(({ address, type }) => `${address} ${type}`).sort(),
      ['bounce-550@far.example bounce', 'complain@far.example complaint'],
    )
    clock.advance(60_000)
    await queue.readyDue()
    await attempt()
    assert.deepEqual(await captured(), {
      total: 2,
      recipients: [['Defer-451+tag@far.example'], ['bob@far.example', 'complain@far.example']],
    })
    const events = await db.read
      .selectFrom('events')
      .select('kind')
      .where('message_id', '=', messageId)
      .orderBy('sequence')
      .execute()
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['message.complained', 'message.sent'],
    )
    const clear = { accountId: owner.accountId, limit: 1 }
    assert.equal(await db.write(removeCaptured, clear), 1)
    assert.equal((await captured()).total, 1)
    assert.equal(await db.write(removeCaptured, clear), 1)
    assert.equal(await db.write(removeCaptured, clear), 0)
    assert.deepEqual(await captured(), { total: 0, recipients: [] })
  })
})
