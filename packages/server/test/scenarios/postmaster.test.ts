// Mail to postmaster is always accepted (RFC 5321 §4.5.1) and read by the operator on the machine.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSender } from '#test/peers/sender.ts'
import { runSql } from '#test/peers/sql.ts'
import { sharedCommands } from '#test/scenarios/command-host.ts'
import { countMessages, countRows, newest } from '#test/scenarios/deliver.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

onEachEngine('mail to postmaster', (engine) => {
  const world = opened(() => openWorld(engine))

  for (const address of [
    'postmaster@mailroom.localhost',
    'Postmaster@MAILROOM.localhost',
    'postmaster+tag@mailroom.localhost',
    '"postmaster"@mailroom.localhost',
    'postmaster',
    'POSTMASTER',
  ]) {
    test(`is accepted at <${address}> and kept for the operator`, async () => {
      const before = await countRows(world, 'postmaster_messages')
      const reply = await world.send({ from: '', to: address, raw: plainMail({ to: address }) })
      assert.equal(reply.code, 250, reply.lines.join(' '))
      assert.equal((await countRows(world, 'postmaster_messages')) - before, 1)
    })
  }

  test('that is also for an inbox is one transaction that reaches both', async () => {
    const inbox = await world.inbox()
    const [rawBefore, before] = [
      await countRows(world, 'raw_messages'),
      await countRows(world, 'postmaster_messages'),
    ]
    const to = ['postmaster@mailroom.localhost', inbox.address]
    assert.equal((await world.send({ to, raw: plainMail({}) })).code, 250)
    assert.equal(await countMessages(world, inbox), 1)
    assert.equal((await countRows(world, 'postmaster_messages')) - before, 1)
    assert.equal((await countRows(world, 'raw_messages')) - rawBefore, 1)
  })

  test('outlives the inbox that also received it, and the inbox outlives it', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ subject: 'Shared' })
    await world.send({ to: ['postmaster', inbox.address], raw })
    const message = await newest(world, inbox)
    assert.equal(Buffer.from((await world.client.messages.raw(message.id)).content).toString(), raw)
    const row = await world.app.deps.db.read
      .selectFrom('raw_messages')
      .select(['id', 'reference_count'])
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow()
    assert.equal(row.reference_count, 2)
    await world.client.inboxes.delete(inbox.id)
    await assert.rejects(world.client.messages.get(message.id), { code: 'not_found' })
  })

  test('is in no list of the API', async () => {
    const inbox = await world.inbox()
    await world.send({ to: 'postmaster', raw: plainMail({ to: inbox.address }) })
    assert.equal(await countMessages(world, inbox), 0)
  })

  test('of another domain is refused', async () => {
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<>')
    assert.equal((await sender.command('RCPT TO:<postmaster@other.example>')).code, 550)
    await sender.quit()
  })

  test('that runs in a loop is refused', async () => {
    const headers = Array.from({ length: 51 }, () => 'Received: from a.example by b.example')
    const reply = await world.send({ to: 'postmaster', raw: plainMail({ headers }) })
    assert.equal(reply.code, 554)
  })

  if (engine !== 'sqlite') return

  const mailroom = (...args: string[]) =>
    sharedCommands.run({
      args: ['admin', 'postmaster', ...args],
      env: { PATH: process.env.PATH ?? '', MAILROOM_DATA_DIR: world.dataDir },
    })

  test('is listed and shown by the command, without characters that control a terminal', async () => {
    const subject = '=?utf-8?Q?Help=1B[31m=E2=80=AE?= me'
    const body = 'Bytes: \u0080\u00ff'
    const raw = plainMail({ to: 'postmaster@mailroom.localhost', subject, body })
    await world.send({ to: 'postmaster@mailroom.localhost', raw })
    const list = (await mailroom('list')).stdout
    const [line = ''] = list.split('\n')
    assert.match(line, /^raw_\w+ {2}2\d\d\d-\S+Z {2}Ann Sender <ann@sender\.example> {2}Help/)
    assert.ok(!/[\x00-\x09\x0b-\x1f\u202e]/.test(list))
    assert.equal(list.trim().split('\n').length, await countRows(world, 'postmaster_messages'))
    const id = line.split(' ')[0] ?? ''
    const shown = await mailroom('show', id)
    assert.equal(shown.stdout, raw)
  })

  test('too large for a row is shown in full', async () => {
    const raw = plainMail({ to: 'postmaster', body: 'x'.repeat(70).concat('\n').repeat(20_000) })
    await world.send({ to: 'postmaster', raw })
    const list = (await mailroom('list')).stdout
    const shown = await mailroom('show', list.split(' ')[0] ?? '')
    assert.ok(shown.stdout === raw.replace(/\r?\n/g, '\r\n'))
  })

  test('is listed to its end, and the oldest is shown, however many there are', async () => {
    const old = (await mailroom('list')).stdout.trim().split('\n').at(-1)?.slice(0, 30)
    await runSql(
      world,
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000)
       insert into postmaster_messages (raw_id, recipient, from_addr, subject, created_at)
       select 'raw_z' || i, 'postmaster', 'ann@sender.example', 'More', 1 from n`,
    )
    const total = await countRows(world, 'postmaster_messages')
    const first = await mailroom('list')
    const hint = /^For more: mailroom admin postmaster (list) (--before) (raw_\w+)$/m
    const [, ...args] = hint.exec(first.stderr) ?? []
    const rest = await mailroom(...args)
    assert.equal(rest.stderr, '')
    const lines = [first, rest].flatMap(({ stdout }) => stdout.trim().split('\n'))
    assert.equal(new Set(lines.map((line) => line.slice(0, 30))).size, total)
    assert.ok((await mailroom('show', old ?? '')).stdout.length > 0)
    await runSql(world, "delete from postmaster_messages where raw_id like 'raw_z%'")
  })

  test('is not shown by the id of a message that went to an inbox', async () => {
    const inbox = await world.inbox()
    await world.send({ to: inbox.address, raw: plainMail({}) })
    const row = await world.app.deps.db.read
      .selectFrom('raw_messages')
      .select('id')
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow()
    const { code, stderr } = await mailroom('show', row.id)
    assert.equal(code, 1)
    assert.match(stderr, /there is no message/)
  })

  test('is kept for 30 days', async () => {
    assert.ok((await countRows(world, 'postmaster_messages')) > 0)
    const { purgeExpired } = await import('#removal/removal.ts')
    world.clock.advance(29 * 86_400_000)
    await purgeExpired(world.app.deps, AbortSignal.any([]))
    assert.ok((await countRows(world, 'postmaster_messages')) > 0)
    world.clock.advance(2 * 86_400_000)
    await purgeExpired(world.app.deps, AbortSignal.any([]))
    assert.equal(await countRows(world, 'postmaster_messages'), 0)
  })
})
