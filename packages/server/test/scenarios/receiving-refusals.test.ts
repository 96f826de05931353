import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { MESSAGE_BYTES_MAX } from '@mailroom/smtp/server/session.ts'
import { openSender } from '#test/peers/sender.ts'
import { codesOf, countMessages, countRows, deliver, newest } from '#test/scenarios/deliver.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

/** Far over the limit, and more than the service ever keeps of a message. */
const OVER_BYTES = sizeOf('TEST_MAILROOM_OVER_BYTES', {
  usual: MESSAGE_BYTES_MAX + (4 << 20),
  long: 3 * MESSAGE_BYTES_MAX,
})

onEachEngine('refused mail', (engine) => {
  const world = opened(() => openWorld(engine))

  const storedRows = async () => [
    await countRows(world, 'raw_messages'),
    await countRows(world, 'messages'),
    await countRows(world, 'events'),
    await countRows(world, 'jobs'),
  ]

  const RELAY_FORMS: [string, string][] = [
    ['<u@ext.example>', '550 5.7.1'],
    ['<U@EXT.EXAMPLE>', '550 5.7.1'],
    ['<u%ext.example@mailroom.localhost>', '550 5.1.1'],
    ['<ext.example!u@mailroom.localhost>', '550 5.1.1'],
    ['<"u@ext.example"@mailroom.localhost>', '550 5.1.1'],
    ['<"u@ext.example">', '501 5.1.3'],
    ['<@mailroom.localhost:u@ext.example>', '501 5.1.3'],
    ['<u@ext.example@mailroom.localhost>', '501 5.1.3'],
    ['<u@mailroom.localhost@ext.example>', '501 5.1.3'],
    ['<u@[127.0.0.1]>', '550 5.7.1'],
    ['<u@[203.0.113.7]>', '550 5.7.1'],
    ['<u@[IPv6:::1]>', '550 5.7.1'],
    ['<u@ext.example.>', '501 5.1.3'],
    ['<open@mailroom.localhost.>', '501 5.1.3'],
    ['<u>', '501 5.1.3'],
    ['u@ext.example', '501 5.5.4'],
    ['<>', '501 5.1.3'],
    ['<u@sub.mailroom.localhost>', '550 5.7.1'],
    ['<u@mailroom.localhost.ext.example>', '550 5.7.1'],
    ['<postmaster@ext.example>', '550 5.7.1'],
    ['<open@mailroom.localhost,u@ext.example>', '501 5.1.3'],
    ['<open@mailroom.localhost> <u@ext.example>', '555 5.5.4'],
    ['<open @mailroom.localhost>', '501 5.1.3'],
    ['<ext.example:u@mailroom.localhost>', '501 5.1.3'],
  ]

  test('for another domain is refused in every spelling, whoever the sender claims to be', async () => {
    const inbox = await world.inbox('open')
    const before = await storedRows()
    const wrong: string[] = []
    for (const from of ['ann@sender.example', '', inbox.address]) {
      for (const [form, expected] of RELAY_FORMS) {
        const sender = await openSender(world.smtpPort)
        await sender.command(`MAIL FROM:<${from}>`)
        const codes = codesOf(await sender.command(`RCPT TO:${form}`))
        if (codes !== expected) wrong.push(`${form} from <${from}>: ${codes}, not ${expected}`)
        assert.match(codesOf(await sender.command('DATA')), /^(503|554) 5\.5\.1/)
        await sender.quit()
      }
    }
    assert.deepEqual(wrong, [])
    assert.deepEqual(await storedRows(), before)
  })

  test('reaches only accepted recipients', async () => {
    const inbox = await world.inbox()
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<ann@sender.example>')
    assert.equal((await sender.command('RCPT TO:<u@ext.example>')).code, 550)
    assert.equal((await sender.command(`RCPT TO:<${inbox.address}>`)).code, 250)
    assert.equal((await sender.command('RCPT TO:<nobody@mailroom.localhost>')).code, 550)
    await sender.command('DATA')
    sender.write(plainMail({ to: `u@ext.example, ${inbox.address}` }))
    assert.equal((await sender.command('.')).code, 250)
    await sender.quit()
    assert.equal(await countMessages(world, inbox), 1)
    assert.equal(await countRows(world, 'jobs'), 0)
  })

  test('is never answered: unknown recipients and null senders leave no row and no job', async () => {
    const before = await storedRows()
    for (const from of ['', 'victim@elsewhere.example', 'mailer-daemon@elsewhere.example']) {
      const reply = await world.send({ from, to: 'nobody@mailroom.localhost', raw: plainMail({}) })
      assert.equal(codesOf(reply), '550 5.1.1')
    }
    const inbox = await world.inbox()
    const received = `Received: by a.example;\r\n\tFri, 20 Nov 2026 09:00:00 +0000\r\n`.repeat(101)
    const looping = await world.send({
      from: 'victim@elsewhere.example',
      to: inbox.address,
      raw: received + plainMail({}),
    })
    assert.equal(codesOf(looping), '554 5.4.6')
    assert.deepEqual(await storedRows(), before)
  })

  test('with 51 hops is a loop, with 50 it is not', async () => {
    const inbox = await world.inbox()
    const hops = (count: number) =>
      Array.from({ length: count }, (_, hop) => `Received: from h${hop}.example by i.example`)
    const raw = (count: number) => plainMail({ to: inbox.address, headers: hops(count) })
    assert.equal(codesOf(await world.send({ to: inbox.address, raw: raw(51) })), '554 5.4.6')
    assert.equal(await countMessages(world, inbox), 0)
    await deliver(world, inbox, raw(50))
    assert.equal(await countMessages(world, inbox), 1)
  })

  test('with hops in its body or an attachment is no loop', async () => {
    const inbox = await world.inbox()
    const body = 'Received: from a.example by b.example\r\n'.repeat(200)
    await deliver(world, inbox, plainMail({ to: inbox.address, body }))
    assert.equal(await countMessages(world, inbox), 1)
  })

  test('with a declared size over the limit is refused before it is sent', async () => {
    const sender = await openSender(world.smtpPort)
    const over = `MAIL FROM:<a@x.example> SIZE=${MESSAGE_BYTES_MAX + 1}`
    assert.equal(codesOf(await sender.command(over)), '552 5.3.4')
    const exactly = `MAIL FROM:<a@x.example> SIZE=${MESSAGE_BYTES_MAX}`
    assert.equal((await sender.command(exactly)).code, 250)
    await sender.quit()
  })

  test('over the limit is refused at its end, and the connection stays open', async () => {
    const inbox = await world.inbox()
    const sender = await openSender(world.smtpPort)
    const before = await storedRows()
    for (const sizeBytes of [MESSAGE_BYTES_MAX + 1, OVER_BYTES]) {
      await sender.command('MAIL FROM:<a@x.example>')
      await sender.command(`RCPT TO:<${inbox.address}>`)
      assert.equal((await sender.command('DATA')).code, 354)
      sender.write(sized(sizeBytes))
      assert.equal(codesOf(await sender.command('.')), '552 5.3.4')
      assert.deepEqual(await storedRows(), before)
    }
    assert.equal((await sender.command('RSET')).code, 250)
    const next = await sender.send({ to: inbox.address, raw: plainMail({ to: inbox.address }) })
    assert.equal(next.code, 250)
    await sender.quit()
    assert.equal(await countMessages(world, inbox), 1)
  })

  test('of exactly the limit is accepted', async () => {
    const inbox = await world.inbox()
    const raw = sized(MESSAGE_BYTES_MAX)
    const message = await deliver(world, inbox, raw)
    const { content } = await world.client.messages.raw(message.id)
    assert.equal(Buffer.compare(content, raw), 0)
  })

  for (const end of ['FIN', 'RST'] as const) {
    test(`cut off by ${end} during DATA leaves nothing`, async () => {
      const inbox = await world.inbox()
      const before = await storedRows()
      const sender = await openSender(world.smtpPort)
      await sender.command('MAIL FROM:<a@x.example>')
      await sender.command(`RCPT TO:<${inbox.address}>`)
      await sender.command('DATA')
      sender.write('Subject: Half\r\n\r\nThis is only')
      const closed = once(sender.socket, 'close')
      if (end === 'FIN') sender.socket.end()
      else sender.socket.resetAndDestroy()
      await closed
      await deliver(world, inbox, plainMail({ to: inbox.address }))
      const [raw = 0, messages = 0, events = 0, jobs = 0] = before
      assert.deepEqual(await storedRows(), [raw + 1, messages + 1, events + 1, jobs])
    })
  }

  test('garbage instead of a TLS handshake ends only that connection', async () => {
    const inbox = await world.inbox()
    const sender = await openSender(world.smtpPort)
    assert.equal((await sender.command('STARTTLS')).code, 220)
    const closed = once(sender.socket, 'close')
    sender.write(Buffer.alloc(4_096, 0x41))
    await closed
    const silent = connect(world.smtpPort, '127.0.0.1')
    await once(silent, 'connect')
    silent.resetAndDestroy()
    await deliver(world, inbox, plainMail({ to: inbox.address }))
    assert.equal((await world.fetch('/ready')).status, 200)
  })

  test('with a bare carriage return is refused and not stored', async () => {
    const inbox = await world.inbox()
    const before = await storedRows()
    const raw = Buffer.from('Subject: a\r\n\r\nfirst\rsecond\r\n')
    assert.equal(codesOf(await world.send({ to: inbox.address, raw })), '550 5.6.11')
    assert.deepEqual(await storedRows(), before)
  })

  test('for an inbox that was deleted between RCPT and DATA is refused', async () => {
    const inbox = await world.inbox()
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<a@x.example>')
    assert.equal((await sender.command(`RCPT TO:<${inbox.address}>`)).code, 250)
    await sender.command('DATA')
    await world.client.inboxes.delete(inbox.id)
    sender.write(plainMail({ to: inbox.address }))
    assert.equal(codesOf(await sender.command('.')), '550 5.1.1')
    await sender.command('MAIL FROM:<a@x.example>')
    assert.equal(codesOf(await sender.command(`RCPT TO:<${inbox.address}>`)), '550 5.1.1')
    await sender.quit()
  })

  test('racing with the deletion of its inbox is stored or refused, and nothing stays', async () => {
    const other = await world.inbox()
    for (let round = 0; round < 5; round += 1) {
      const inbox = await world.inbox()
      const senders = await Promise.all(Array.from({ length: 4 }, () => openSender(world.smtpPort)))
      const refusals: string[] = []
      let isDeleted = false
      const streams = senders.map(async (sender, stream) => {
        for (let code = 250; code === 250 && !isDeleted; ) {
          const raw = plainMail({ to: inbox.address, subject: `${round} ${stream}` })
          const reply = await sender.send({ to: inbox.address, raw })
          code = reply.code
          if (code !== 250) refusals.push(codesOf(reply))
        }
        await sender.quit()
      })
      const shared = await openSender(world.smtpPort)
      const both = { to: [inbox.address, other.address], raw: plainMail({}) }
      assert.equal((await shared.send(both)).code, 250)
      await shared.quit()
      await world.client.inboxes.delete(inbox.id)
      isDeleted = true
      await Promise.all(streams)
      for (const refusal of refusals) assert.equal(refusal, '550 5.1.1')
      await assert.rejects(world.client.messages.list(inbox.id).page(), { code: 'not_found' })
      await purged(inbox.id)
    }
    assert.equal(await countMessages(world, other), 5)
    const kept = await newest(world, other)
    assert.ok((await world.client.messages.raw(kept.id)).content.length > 0)
    const { read } = world.app.deps.db
    const raws = await read.selectFrom('raw_messages').select('id').orderBy('id').execute()
    const messages = await read.selectFrom('messages').select('raw_id').distinct().execute()
    assert.deepEqual(raws.map(({ id }) => id).sort(), messages.map((row) => row.raw_id).sort())
  })

  /** Resolves when no row of the inbox is left; the time limit of the test ends a wait in vain. */
  async function purged(inboxId: string): Promise<void> {
    const { read } = world.app.deps.db
    for (;;) {
      const rows = await Promise.all(
        (['messages', 'threads', 'inbox_counters'] as const).map((table) =>
          read.selectFrom(table).select('inbox_id').where('inbox_id', '=', inboxId).execute(),
        ),
      )
      if (rows.every((left) => left.length === 0)) return
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
})

/** A message of this many octets in lines of 80. */
function sized(sizeBytes: number): Buffer {
  const raw = Buffer.alloc(sizeBytes, `${'x'.repeat(78)}\r\n`)
  raw.write('From: a@x.example\r\nSubject: Large\r\n\r\n')
  raw.fill('x', Math.floor((sizeBytes - 2) / 80) * 80)
  raw.write('\r\n', sizeBytes - 2)
  return raw
}
