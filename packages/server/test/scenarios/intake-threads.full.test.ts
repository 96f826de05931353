import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { test } from 'node:test'
import { databasePath } from '#app/open-store.ts'
import { lockDatabase } from '#test/crash/database-lock.ts'
import { figure, hangUp, MANY, openIntake, THREADS } from '#test/scenarios/intake-world.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

onEachEngine('threads that receive mail', (engine) => {
  const world = opened(() => openTenant(engine))
  const intake = opened(() => openIntake(world))

  test('share a port, and their mail is in the API with its event', async () => {
    const inbox = await world.inbox()
    const waiting = world.client.inboxes.waitForMessage(inbox.id)
    const senders = await intake.connect(MANY)
    const replies = await Promise.all(
      senders.map((sender) => sender.send({ to: inbox.address, raw: plainMail({}) })),
    )
    assert.deepEqual(new Set(replies.map(({ code }) => code)), new Set([250]))
    assert.equal((await waiting)?.inboxId, inbox.id)
    const { total } = await world.client.messages.list(inbox.id).page()
    assert.equal(total, MANY)
    await hangUp(senders)
  })

  test('hold the limit of an address together', async () => {
    const clients = Array.from({ length: 60 }, () =>
      connect({ port: intake.threads.address.port, host: '127.0.0.1', localAddress: '127.0.0.2' }),
    )
    const greetings = await Promise.all(
      clients.map(async (client) => String(await once(client, 'data')).slice(0, 3)),
    )
    // Threads that count at the same moment may each take one more.
    const taken = greetings.filter((code) => code === '220').length
    assert.ok(taken >= 50 && taken < 50 + THREADS, `${taken} were taken`)
    assert.equal(greetings.filter((code) => code === '421').length, 60 - taken)
    for (const client of clients) client.destroy()
    await until(async () => intake.threads.stats().connections === 0)
  })

  test('one that ends costs its connections and nothing else, and another takes its place', async () => {
    const inbox = await world.inbox()
    const senders = await intake.connect(MANY)
    intake.trouble(0, 'end')
    await until(async () => senders.some(({ socket }) => socket.closed))
    await until(async () => intake.lines.some((line) => line.includes('is being replaced')))
    const left = senders.filter(({ socket }) => !socket.closed)
    assert.ok(left.length > 0 && left.length < MANY, `${left.length} connections are left`)
    for (const sender of left) {
      const reply = await sender.send({ to: inbox.address, raw: plainMail({}) })
      assert.equal(reply.code, 250)
    }
    await until(async () => intake.threads.stats().connections === left.length)
    await until(async () => intake.listening() === THREADS)
    const others = await intake.connect(MANY - left.length)
    for (const sender of others) {
      const reply = await sender.send({ to: inbox.address, raw: plainMail({}) })
      assert.equal(reply.code, 250)
    }
    await hangUp([...left, ...others])
    await until(async () => intake.threads.stats().connections === 0)
  })

  // What makes PostgreSQL slow is in backpressure.full.test.ts.
  test('each defer mail before its content while the database takes none', {
    skip: engine === 'postgres',
  }, async (t) => {
    const inbox = await world.inbox()
    const mail = { to: inbox.address, raw: plainMail({}) }
    const senders = await intake.connect(MANY)
    const lock = await lockDatabase(t, databasePath(world.settings))
    const deferred = await Promise.all(senders.map((sender) => sender.send(mail)))
    assert.deepEqual(new Set(deferred.map(({ code }) => code)), new Set([451]))
    // A few are taken further, to find out whether the database is back.
    const codes = await Promise.all(
      senders.map(async (sender) => {
        await sender.command('MAIL FROM:<a@b.example>')
        return (await sender.command(`RCPT TO:<${inbox.address}>`)).code
      }),
    )
    assert.ok(codes.filter((code) => code === 451).length > MANY / 2, codes.join())
    await until(async () => (await figure(intake, 'mailroom_store_refusals_total')) > MANY / 2)
    await lock.release()
    for (const sender of senders) {
      await until(async () => {
        await sender.command('RSET')
        return (await sender.send(mail)).code === 250
      })
    }
    await hangUp(senders)
  })

  test('count in the metrics of the process', async () => {
    const outcome = 'mailroom_smtp_outcomes_total{outcome="recipient-refused",code="550"}'
    const count = () => figure(intake, outcome)
    const before = await count()
    const senders = await intake.connect(MANY)
    for (const sender of senders) {
      const reply = await sender.send({ to: 'nobody@mailroom.localhost', raw: plainMail({}) })
      assert.equal(reply.code, 550)
    }
    await until(async () => (await count()) - before === MANY)
    await hangUp(senders)
  })

  for (const threads of [1, THREADS]) {
    test(`refuse a port that another program has, with ${threads} of them`, async () => {
      const server = createServer()
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const address = server.address()
      const port = typeof address === 'object' ? (address?.port ?? 0) : 0
      await assert.rejects(openIntake(world, { port, threads }), {
        ...{ code: 'EADDRINUSE', address: '127.0.0.1', port },
      })
      server.close()
    })
  }

  test('answer the message on its way before they end', async () => {
    const inbox = await world.inbox()
    const own = await openIntake(world)
    const [busy, idle] = await own.connect(2)
    assert.ok(busy !== undefined && idle !== undefined)
    await busy.command('MAIL FROM:<a@sender.example>')
    await busy.command(`RCPT TO:<${inbox.address}>`)
    await busy.command('DATA')
    busy.write('Subject: On its way\r\n\r\n')
    const closing = own.close()
    assert.equal((await idle.reply()).code, 421)
    busy.write('Text\r\n.\r\n')
    assert.equal((await busy.reply()).code, 250)
    await closing
    const { data } = await world.client.messages.list(inbox.id).page()
    assert.equal(data[0]?.subject, 'On its way')
  })
})
