import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { connect as startTls } from 'node:tls'
import { BOMBS } from '@mailroom/mail/test/samples.ts'
import { IntakeThreads } from '#inbound/inbound.ts'
import { systemClock } from '#platform/clock.ts'
import { type Log, type LogFields, silentLog } from '#platform/log.ts'
import { type Metrics, openMetrics } from '#platform/telemetry/metrics.ts'
import { makeSelfSignedCertificate, openServerTls } from '#platform/tls/server-tls.ts'
import { lockDatabase } from '#test/crash/database-lock.ts'
import { openSender, type Sender } from '#test/peers/sender.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openWorld, plainMail, type World } from '#test/world.ts'
import { databasePath } from '#wiring/store.ts'

const THREADS = 2
const TROUBLE = 'mailroom test: intake threads'
const ENTRY = new URL(import.meta.resolve('#test/peers/troubled-intake.ts'))
/** So many connections that no thread is left out: the kernel spreads them by their ports. */
const MANY = 30
/** Kinds of mail that take long to parse, or much memory. */
const THREE = ['20,000 attachments', '1 MiB of folding', '50,000 parameter continuations']

onEachEngine('threads that receive mail', (engine) => {
  const world = opened(() => openWorld(engine))
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
    await until(async () => intake.lines.some((line) => line.includes('another is started')))
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

  test('have hostile mail parsed elsewhere, and serve their other connections meanwhile', async () => {
    const inbox = await world.inbox()
    const parsed = () => figure(intake, 'mailroom_parse_duration_seconds_count{thread="worker"}')
    const before = await parsed()
    const senders = await intake.connect(MANY)
    const mails = senders.map((sender, index) => {
      const bomb = BOMBS.get(THREE[index] ?? '')
      return sender.send({ to: inbox.address, raw: bomb?.() ?? plainMail({}) })
    })
    const replies = await Promise.all(mails)
    assert.deepEqual(new Set(replies.map(({ code }) => code)), new Set([250]))
    assert.equal((await parsed()) - before, THREE.length)
    assert.ok(senders.every(({ socket }) => !socket.closed))
    await hangUp(senders)
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
    assert.ok((await figure(intake, 'mailroom_store_refusals_total')) > MANY / 2)
    await lock.release()
    for (const sender of senders) {
      await until(async () => {
        await sender.command('RSET')
        return (await sender.send(mail)).code === 250
      })
    }
    await hangUp(senders)
  })

  test('offer a renewed certificate in all', async () => {
    const made = await makeSelfSignedCertificate('renewed.example', Date.now())
    await writeFile(intake.files.cert, made.certificatePem)
    await writeFile(intake.files.key, made.privateKeyPem)
    await intake.tls.reload()
    const senders = await intake.connect(MANY)
    const names = await Promise.all(senders.map(certificateName))
    assert.deepEqual(new Set(names), new Set(['renewed.example']))
    await until(async () => intake.threads.stats().connections === 0)
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
    assert.equal((await count()) - before, MANY)
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

suite('a thread that receives mail and hangs', () => {
  const world = opened(() => openWorld('sqlite'))
  const intake = opened(() => openIntake(world, { threads: 1, silenceMsMax: 3_000 }))

  test('is ended, and another takes its place', async () => {
    const inbox = await world.inbox()
    const [sender] = await intake.connect(1)
    assert.ok(sender !== undefined)
    intake.trouble(0, 'hang')
    await until(async () => !intake.threads.isListening())
    assert.equal(sender.socket.closed, false, 'it is not ready before its connections end')
    await until(async () => intake.lines.some((line) => /did not answer for 3 seconds/.test(line)))
    await until(async () => intake.threads.isListening())
    await until(async () => sender.socket.closed)
    const [next] = await intake.connect(1)
    assert.equal((await next?.send({ to: inbox.address, raw: plainMail({}) }))?.code, 250)
    await next?.quit()
  })
})

type IntakeChanges = { port?: number; threads?: number; silenceMsMax?: number }

async function openIntake(world: World, changes: IntakeChanges = {}) {
  const { port = 0, threads: count = THREADS, silenceMsMax } = changes
  const lines: string[] = []
  const keep = (fields: LogFields, text: string) => void lines.push(`${text}: ${fields.error}`)
  const log: Log = { ...silentLog, warn: keep, error: keep }
  const made = await makeSelfSignedCertificate('first.example', Date.now())
  const files = { cert: join(world.dataDir, 'cert.pem'), key: join(world.dataDir, 'key.pem') }
  await writeFile(files.cert, made.certificatePem)
  await writeFile(files.key, made.privateKeyPem)
  const settings = { ...world.settings, smtpPort: port, tlsFiles: files }
  const tls = await openServerTls(settings, { now: systemClock.now, log })
  const metrics = await openMetrics({ includesProcess: false })
  const { db, wakeEvents: onEvents } = world.app.deps
  const watch = silenceMsMax === undefined ? {} : { silenceMsMax }
  const threads = new IntakeThreads({ entry: ENTRY, threads: count, log, ...watch })
  const started = Promise.resolve()
  await threads.open({ settings, instance: 'test', tls, metrics, db, started, onEvents })
  const channel = new BroadcastChannel(TROUBLE)
  return {
    threads,
    ...{ tls, files, metrics, lines },
    trouble: (index: number, trouble: 'end' | 'hang') => channel.postMessage({ index, trouble }),
    listening: () => threads.loads().length,
    connect: (count: number) =>
      Promise.all(Array.from({ length: count }, () => openSender(threads.address.port))),
    async close() {
      channel.close()
      tls.close()
      await threads.close({ drainMs: 5_000 })
      await threads.end()
    },
  }
}

async function figure({ metrics }: { metrics: Metrics }, name: string): Promise<number> {
  const lines = (await metrics.render()).body.split('\n')
  return Number(
    lines
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')
      .at(-1) ?? 0,
  )
}

async function hangUp(senders: readonly Sender[]): Promise<void> {
  await Promise.all(senders.map((sender) => sender.quit()))
}

async function certificateName(sender: Sender): Promise<string | undefined> {
  assert.equal((await sender.command('STARTTLS')).code, 220)
  const secure = startTls({ socket: sender.socket, rejectUnauthorized: false })
  await once(secure, 'secureConnect')
  const name = secure.getPeerCertificate().subject.CN
  secure.resume().end('QUIT\r\n')
  await once(secure, 'close')
  return typeof name === 'string' ? name : name?.[0]
}
