import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDeliveryQueue } from '#delivery/deliver.ts'
import { systemClock } from '#platform/clock.ts'
import { silentLog } from '#platform/log.ts'
import { openDispatcher } from '#queue/dispatcher.ts'
import { ACCEPTED, deliverDeps, openFarEnd } from '#test/conformance/delivering.ts'
import { addAccount, addInbox, openDatabase } from '#test/conformance/open-database.ts'
import { copyMessage, queueAll, sending } from '#test/conformance/sending.ts'
import { domains, Tally } from '#test/worker/dispatching.ts'
import { onBothEngines } from '#test/world.ts'

onBothEngines('several dispatchers', (engine) => {
  test('each recipient is sent to once, by one of them', { timeout: 120_000 }, async () => {
    const database = await openDatabase(engine)
    const { db } = database
    const others = engine === 'postgres' ? await database.openAgain() : db
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const [messageId = ''] = await queueAll(db, [sending(owner, inboxId)])
    await copyMessage(database, messageId, { domains: domains('lane', 5), count: 40 })
    const tally = new Tally()
    const dispatchers = [db, others, db, others].map((on, index) => {
      const farEnd = openFarEnd(async (recipient, { destination }) => {
        tally.add(`${recipient} of ${destination}`)
        await new Promise(setImmediate)
        return ACCEPTED
      })
      const deps = {
        ...deliverDeps(on, systemClock, farEnd),
        countDelivery: () => tally.add('settled'),
      }
      return openDispatcher(openDeliveryQueue(deps, `worker ${index}`), silentLog)
    })
    try {
      await tally.until(() => tally.of('settled') === 201)
      for (const domain of domains('lane', 5)) {
        for (let index = 1; index <= 40; index++) {
          assert.equal(tally.of(`r${index}@${domain} of ${domain}`), 1)
        }
      }
    } finally {
      await Promise.all(dispatchers.map((dispatcher) => dispatcher.close(1_000)))
      const states = await db.read.selectFrom('deliveries').select(['status', 'attempts']).execute()
      await database.close()
      assert.equal(states.length, 201)
      for (const state of states)
        assert.deepEqual({ ...state }, { status: 'accepted', attempts: 1 })
    }
  })
})
