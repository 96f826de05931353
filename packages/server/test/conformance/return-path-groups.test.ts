import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { openDeliveryQueue } from '#delivery/deliver.ts'
import { MINUTE_MS } from '#platform/units.ts'
import type { Db } from '#schema/tables.ts'
import {
  ACCEPTED,
  claimReady,
  deliverDeps,
  type FarEnd,
  openFarEnd,
  refused,
  type StillClock,
  stillClock,
} from '#test/conformance/delivering.ts'
import { addAccount, addInbox, openDatabase } from '#test/conformance/open-database.ts'
import { queueAll, sending } from '#test/conformance/sending.ts'
import { runSql } from '#test/peers/sql.ts'
import { onBothEngines, opened } from '#test/world.ts'

onBothEngines('the reverse-path of an attempt', (engine) => {
  const database = opened(() => openDatabase(engine))
  let db: Db
  let clock: StillClock
  before(async () => {
    db = database.db
  })
  beforeEach(async () => {
    await runSql(database, 'delete from deliveries')
    clock = stillClock(Date.UTC(2026, 10, 20, 12))
  })

  /** In one lane, as with a relay. */
  const send = async (recipients: string[], pathOf: (recipient: string) => string) => {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const input = sending(owner, inboxId, { recipients, nowMs: clock.now() })
    const deliveries = input.deliveries.map((delivery) => ({
      ...delivery,
      lane: 'relay',
      return_path: pathOf(delivery.recipient),
    }))
    await queueAll(db, [{ ...input, deliveries }])
  }
  const attempt = async (farEnd: FarEnd) => {
    const deps = { ...deliverDeps(db, clock, farEnd), laneOf: () => 'relay' }
    const queue = openDeliveryQueue(deps, 'worker')
    await queue.readyDue()
    const held = await claimReady(queue)
    const never = AbortSignal.any([])
    await Promise.all(queue.group(held).map((group) => queue.deliver(group, never)))
    const envelopes = farEnd.seen.map(({ reversePath, recipients }) => [reversePath, ...recipients])
    return envelopes.toSorted()
  }

  test('is that of its first recipient, for all at one domain and none at another', async () => {
    const recipients = ['a@far.example', 'b@other.example', 'c@FAR.example']
    await send(recipients, (recipient) => `b+${recipient[0]}@mailroom.localhost`)
    assert.deepEqual(await attempt(openFarEnd(() => ACCEPTED)), [
      ['b+a@mailroom.localhost', 'a@far.example', 'c@FAR.example'],
      ['b+b@mailroom.localhost', 'b@other.example'],
    ])
  })

  test('is another recipient’s once the first is settled', async () => {
    await send(['a@far.example', 'b@far.example'], (recipient) => `b+${recipient[0]}@x.example`)
    const grey = (recipient: string) =>
      recipient.startsWith('b') ? refused('rcpt', '451 Later') : ACCEPTED
    assert.deepEqual(await attempt(openFarEnd(grey)), [
      ['b+a@x.example', 'a@far.example', 'b@far.example'],
    ])
    clock.advance(MINUTE_MS)
    assert.deepEqual(await attempt(openFarEnd(() => ACCEPTED)), [
      ['b+b@x.example', 'b@far.example'],
    ])
  })

  test('is the message’s own where it was queued before there were return paths', async () => {
    await send(['a@far.example'], () => '')
    assert.deepEqual(await attempt(openFarEnd(() => ACCEPTED)), [
      ['me@mailroom.localhost', 'a@far.example'],
    ])
  })
})
