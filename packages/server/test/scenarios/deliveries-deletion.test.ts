import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import { runSql } from '#test/peers/sql.ts'
import { refusal, until } from '#test/scenarios/outcomes.ts'
import {
  attempted,
  openSendingWorld,
  passTime,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { rowsHolding } from '#test/scenarios/stored-content.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

onEachEngine('deleting an inbox that sends', (engine) => {
  const world = opened(() => openSendingWorld(engine, { env: { MAILROOM_BLOB_URL: 'disk' } }))
  const polite = prepared(() => world.mta.script)

  const jobsDone = () =>
    until(
      async () => (await runSql(world, "select key from jobs where kind = 'purge'")).length === 0,
    )
  const kept = () => world.mta.received.filter(({ raw }) => raw.includes('zqmarker')).length

  test('cancels deliveries that wait for their next attempt, and leaves no row of them', async () => {
    world.mta.script = { ...polite, onRcpt: '451 4.7.1 Later' }
    const inbox = await world.inbox()
    const body = `zqmarker ${'x'.repeat(200_000)}`
    const fields = { subject: 'zqmarker', body: body.slice(0, 100_000), bodyHtml: `<p>${body}</p>` }
    const sent = await send(world, inbox, { ...fields, to: 'zqmarker@friend.example' })
    assert.equal((await attempted(world, sent, 1)).status, 'deferred')
    world.mta.script = polite
    await world.client.inboxes.delete(inbox.id)
    await jobsDone()
    for (let attempt = 0; attempt < 3; attempt++) await passTime(world, 60 * 60_000)
    // A message of another inbox has passed through the whole queue after it.
    await settled(world, await send(world, await world.inbox()))
    assert.equal(kept(), 0)
    // These rows reserve its address and answer a repeat of the request.
    const notes = await rowsHolding(world, inbox.id)
    assert.deepEqual(notes, { inbox_creations: 1, idempotency_keys: 1 })
    assert.deepEqual(await rowsHolding(world, 'zqmarker'), {})
    const rows = await rowsHolding(world, sent.messageId)
    assert.deepEqual(rows, { idempotency_keys: 1 })
    assert.equal(await refusal(world.client.messages.get(sent.messageId)), '404 not_found')
    assert.equal(
      await refusal(world.client.messages.deliveries(sent.messageId).page()),
      '404 not_found',
    )
  })

  test('cancels deliveries that become due before its mail is removed', async () => {
    world.mta.script = { ...polite, onRcpt: '451 4.7.1 Later' }
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { to: 'due@friend.example' })
    assert.equal((await attempted(world, sent, 1)).status, 'deferred')
    const { db, clock } = world.app.deps
    const [row] = await runSql(world, `select account_id from inboxes where id = '${inbox.id}'`)
    await db.write(removeInbox, {
      actor: { kind: 'operator' },
      accountId: String(row?.account_id),
      inboxId: inbox.id,
      nowMs: clock.now() + 10 * 60_000,
    })
    world.mta.script = polite
    await passTime(world, 60_000)
    await until(
      async () => (await rowsHolding(world, 'due@friend.example')).deliveries === undefined,
    )
    await settled(world, await send(world, await world.inbox()))
    const recipients = world.mta.received.flatMap((message) => message.recipients)
    assert.ok(!recipients.includes('due@friend.example'))
    world.clock.advance(10 * 60_000)
    world.app.deps.wakeWorker()
    await jobsDone()
  })

  test('during an attempt leaves no state, event or suppression of it', async () => {
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<string>()
    world.mta.script = {
      ...polite,
      onRcpt(address) {
        if (!address.startsWith('late')) return undefined
        asked.resolve()
        return answer.promise
      },
    }
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { to: 'late@friend.example' })
    await asked.promise
    await world.client.inboxes.delete(inbox.id)
    await jobsDone()
    answer.resolve('550 5.1.1 No such user')
    await until(
      async () => (await rowsHolding(world, 'late@friend.example')).deliveries === undefined,
    )
    await settled(world, await send(world, await world.inbox()))
    assert.deepEqual(await rowsHolding(world, 'late@friend.example'), {})
    assert.deepEqual(await rowsHolding(world, sent.messageId), { idempotency_keys: 1 })
    world.mta.script = polite
  })

  test('cancels deliveries that wait behind others to the same destination', async () => {
    const answer = Promise.withResolvers<string>()
    world.mta.script = { ...polite, onMail: () => answer.promise }
    world.dns.zone['queue.example'] = { A: ['127.0.0.1'] }
    const first = world.mta.transactions.length
    const inbox = await world.inbox()
    await Promise.all(
      Array.from({ length: 30 }, () => send(world, inbox, { to: 'turn@queue.example' })),
    )
    const hasBegun = () =>
      world.app.deps.db.read
        .selectFrom('deliveries')
        .select('id')
        .where('queue_state', '=', 'leased')
        .execute()
    await until(async () => (await hasBegun()).length > 5)
    await world.client.inboxes.delete(inbox.id)
    await jobsDone()
    answer.resolve('250 2.1.0 Ok')
    world.mta.script = polite
    await until(
      async () => (await rowsHolding(world, 'turn@queue.example')).deliveries === undefined,
    )
    const left = world.mta.transactions.slice(first)
    // An SMTP transaction that has begun cannot be taken back: at first five, later more while up to ten hang.
    assert.ok(left.length <= 15, `${left.length} left`)
    assert.deepEqual(await rowsHolding(world, 'turn@queue.example'), {})
  })

  test('right after sending sends each message once or not at all, and keeps none', async () => {
    const inboxes = await Promise.all(Array.from({ length: 6 }, () => world.inbox()))
    const sending = inboxes.flatMap((inbox) =>
      Array.from({ length: 5 }, () =>
        send(world, inbox, { to: 'hurry@friend.example' }).catch(() => null),
      ),
    )
    await Promise.all(inboxes.map(({ id }) => world.client.inboxes.delete(id)))
    await Promise.all(sending)
    await jobsDone()
    await settled(world, await send(world, await world.inbox()))
    await until(
      async () =>
        (await runSql(world, "select id from deliveries where recipient like 'hurry%'")).length ===
        0,
    )
    const ids = world.mta.received
      .filter(({ recipients }) => recipients.includes('hurry@friend.example'))
      .map(({ raw }) => /^Message-ID: (.*)$/m.exec(raw.toString())?.[1])
    assert.equal(new Set(ids).size, ids.length)
    for (const { id } of inboxes) {
      const { idempotency_keys: _, ...rows } = await rowsHolding(world, id)
      assert.deepEqual(rows, { inbox_creations: 1 })
    }
  })
})
