import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox, Mailroom, QuarantinedMessage } from '@mailroom/sdk'
import { DAY_MS } from '#platform/units.ts'
import { purgeExpired } from '#removal/removal.ts'
import { openSender } from '#test/peers/sender.ts'
import { runSql } from '#test/peers/sql.ts'
import { countRows } from '#test/scenarios/deliver.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { countOutcomes, refusal, until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

const SPAM = 'eve@spam.example'

onEachEngine('quarantine', (engine) => {
  const world = opened(() => openWorld(engine))

  /** An account that blocks spam.example, with an inbox. */
  async function blocking() {
    const { client, id } = await world.newAccount()
    const rule = await client.senderRules.create({ type: 'block', value: 'spam.example' })
    return { client, id, rule, inbox: await client.inboxes.create() }
  }

  const send = async (
    to: Inbox | Inbox[],
    fields: Parameters<typeof plainMail>[0],
    from = SPAM,
  ) => {
    const addresses = [to].flat().map(({ address }) => address)
    const reply = await world.send({ to: addresses, from, raw: plainMail(fields) })
    assert.deepEqual([reply.code, reply.lines], [250, ['2.0.0 Message stored']])
  }
  const held = async (client: Mailroom, query = {}) =>
    (await client.quarantine.list(query).page()).data
  async function only(client: Mailroom): Promise<QuarantinedMessage> {
    const [first, second] = await held(client)
    assert.ok(first !== undefined && second === undefined)
    return first
  }
  const listed = async (client: Mailroom, { id }: Inbox) =>
    (await client.messages.list(id).page()).data.map(({ subject }) => subject)
  /** All events of the account, including those that older transactions delay on PostgreSQL. */
  const allEventsOf = async (client: Mailroom) => {
    await untilReadable(world)
    return (await client.events.list().page()).data
  }
  /** Without what is told of the quarantine itself. */
  const eventsOf = async (client: Mailroom) =>
    (await allEventsOf(client)).filter(({ event }) => event !== 'message.quarantined')
  const referencesOf = async () =>
    (await runSql(world, 'select reference_count from raw_messages order by id desc limit 1')).map(
      (row) => Number(row.reference_count),
    )[0]

  test('blocked mail is in no list or total, and its sender is not informed', async () => {
    const { client, rule, inbox } = await blocking()
    await send(inbox, {
      from: `Eve <${SPAM}>`,
      to: inbox.address,
      subject: 'Buy',
      messageId: '<1@s>',
    })
    assert.equal((await client.messages.list(inbox.id).page()).total, 0)
    assert.equal((await client.threads.list(inbox.id).page()).total, 0)
    const [told, ...others] = await allEventsOf(client)
    assert.deepEqual([told?.event, others], ['message.quarantined', []])
    assert.equal(told?.quarantined?.reason, 'blocked')
    assert.equal(told?.quarantined?.rule_id, rule.id)
    assert.equal(told?.message, undefined)
    const [{ count } = {}] = await runSql(
      world,
      `select count(*) as count from correspondents where inbox_id = '${inbox.id}'`,
    )
    assert.equal(Number(count), 0)
    const quarantined = await only(client)
    const { id, createdAt, expiresAt } = quarantined
    assert.deepEqual(quarantined, {
      id,
      inboxId: inbox.id,
      podId: inbox.podId,
      fromAddr: `Eve <${SPAM}>`,
      toAddr: inbox.address,
      deliveryRole: 'to',
      subject: 'Buy',
      reason: 'blocked',
      ruleId: rule.id,
      authentication: quarantined.authentication,
      createdAt,
      expiresAt,
    })
    assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 30 * DAY_MS)
    const text = { bodyText: 'A body.', isTruncated: false, attachments: [] }
    assert.deepEqual(await client.quarantine.get(id), { ...quarantined, ...text })
  })

  test('a sender is blocked by From, by a subdomain of it, or by the reverse-path', async () => {
    const { client, inbox } = await blocking()
    await send(inbox, { from: 'eve@mail.spam.example' }, 'a@other.example')
    await send(inbox, { from: 'Ann <ann@friend.example>' }, 'bounce@spam.example')
    await send(inbox, { from: 'EVE@SPAM.EXAMPLE' }, '')
    await send(inbox, { from: 'eve@notspam.example', subject: 'let in' }, 'a@notspam.example')
    assert.equal((await held(client)).length, 3)
    assert.deepEqual(await listed(client, inbox), ['let in'])
  })

  test('with an allowlist only mail of allowed senders reaches inboxes', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    await client.account.update({ filterMode: 'allowlist' })
    await client.senderRules.create({
      type: 'allow',
      value: 'friend.example',
      requireVerified: false,
    })
    await client.senderRules.create({ type: 'allow', value: 'strict.example' })
    await send(inbox, { from: 'ann@friend.example', subject: 'friend' })
    await send(inbox, { from: 'ann@strict.example', subject: 'unverified' })
    await send(inbox, { from: 'ann@stranger.example', subject: 'stranger' }, 'a@friend.example')
    assert.deepEqual(await listed(client, inbox), ['friend'])
    const kept = await held(client)
    assert.deepEqual(
      kept.map(({ subject, reason }) => [subject, reason]),
      [
        ['stranger', 'not_allowed'],
        ['unverified', 'not_verified'],
      ],
    )
    assert.deepEqual(new Set(kept.map(({ ruleId }) => ruleId)), new Set([null]))
    await client.account.update({ filterMode: 'none' })
    await send(inbox, { from: 'ann@stranger.example', subject: 'later' })
    assert.deepEqual(await listed(client, inbox), ['later', 'friend'])
  })

  test('one mail to several inboxes is kept from those whose rules block it, with one raw message', async () => {
    const { client, inbox } = await blocking()
    const other = await client.inboxes.create()
    await client.senderRules.create({
      type: 'allow',
      value: SPAM,
      inboxId: other.id,
      requireVerified: false,
    })
    const stranger = await world.newAccount()
    const theirs = await stranger.client.inboxes.create()
    const before = await countRows(world, 'raw_messages')
    await send([inbox, other, theirs], { from: SPAM, subject: 'to all', body: 'x'.repeat(70_000) })
    assert.equal((await countRows(world, 'raw_messages')) - before, 1)
    assert.equal(await referencesOf(), 3)
    assert.deepEqual(await listed(client, inbox), [])
    assert.deepEqual(await listed(client, other), ['to all'])
    assert.deepEqual(await listed(stranger.client, theirs), ['to all'])
    const { id } = await only(client)
    assert.equal((await stranger.client.quarantine.list().page()).total, 0)
    const released = await client.quarantine.release(id)
    assert.equal(released.bodyText.trim().length, 70_000)
    assert.equal(await referencesOf(), 3)
    for (const one of [inbox, other]) await client.inboxes.delete(one.id)
    await stranger.client.inboxes.delete(theirs.id)
    await until(async () => (await countRows(world, 'raw_messages')) === before)
  })

  test('the same blocked mail is kept once, and copies in the inbox stay', async () => {
    const { client, rule, inbox } = await blocking()
    const before = await countRows(world, 'raw_messages')
    const mail = { from: SPAM, messageId: '<again@spam.example>', subject: 'again' }
    for (let count = 0; count < 3; count += 1) await send(inbox, mail)
    await Promise.all(Array.from({ length: 5 }, () => send(inbox, mail)))
    const { id } = await only(client)
    assert.equal((await countRows(world, 'raw_messages')) - before, 1)
    await client.quarantine.release(id)
    await send(inbox, mail)
    assert.deepEqual(await held(client), [])
    assert.deepEqual(await listed(client, inbox), ['again'])
    await client.senderRules.delete(rule.id)
    await send(inbox, mail)
    assert.deepEqual(await listed(client, inbox), ['again'])
    assert.equal((await countRows(world, 'raw_messages')) - before, 1)
  })

  test('a released message is received like any other, with its wait, thread and event', async () => {
    const { client, inbox } = await blocking()
    const plan = { from: 'ann@friend.example', messageId: '<first@f>', subject: 'Plan' }
    await send(inbox, plan, plan.from)
    const [first] = (await client.messages.list(inbox.id).page()).data
    const headers = ['In-Reply-To: <first@f>']
    await send(inbox, {
      from: SPAM,
      to: inbox.address,
      subject: 'Re: Plan',
      messageId: '<2@s>',
      headers,
    })
    const waiting = client.inboxes.wait(inbox.id, { timeout: 60, after: first?.id ?? '' })
    const { id } = await only(client)
    const message = await client.quarantine.release(id)
    assert.equal((await waiting).message?.id, message.id)
    assert.deepEqual(
      [message.fromAddr, message.toAddr, message.subject, message.status, message.deliveryRole],
      [SPAM, inbox.address, 'Re: Plan', 'received', 'to'],
    )
    const threads = (await client.threads.list(inbox.id).page()).data
    assert.deepEqual(
      threads.map(({ messageCount, isRead }) => [messageCount, isRead]),
      [[2, false]],
    )
    assert.equal(message.threadId, threads[0]?.id)
    assert.deepEqual(await listed(client, inbox), ['Re: Plan', 'Plan'])
    const events = await eventsOf(client)
    assert.deepEqual(
      events.map(({ event, message: told }) => [event, told?.subject]),
      [
        ['message.received', 'Plan'],
        ['message.received', 'Re: Plan'],
      ],
    )
    assert.deepEqual(await client.quarantine.list().page(), { data: [], total: 0 })
    assert.equal(await refusal(client.quarantine.release(id)), '404 not_found')
    assert.equal(await refusal(client.quarantine.get(id)), '404 not_found')
  })

  test('a message released by many requests at once becomes one message, and one request gets it', async () => {
    const { client, inbox } = await blocking()
    for (let round = 0; round < 3; round += 1) {
      await send(inbox, { from: SPAM, subject: `round ${round}` })
      const { id } = await only(client)
      const calls = Array.from({ length: 8 }, (_, index) =>
        index === 7 ? client.quarantine.delete(id) : client.quarantine.release(id),
      )
      assert.deepEqual(await countOutcomes(calls), { done: 1, '404 not_found': 7 })
      assert.equal((await client.quarantine.list().page()).total, 0)
    }
    const count = (await client.messages.list(inbox.id).page()).total
    assert.ok(count <= 3)
    assert.equal((await eventsOf(client)).length, count)
  })

  test('a release returns the existing message if the inbox has the same one', async () => {
    const { client, rule, inbox } = await blocking()
    const before = await countRows(world, 'raw_messages')
    const mail = { from: SPAM, messageId: '<same@spam.example>', subject: 'same' }
    await send(inbox, mail)
    await client.senderRules.delete(rule.id)
    await send(inbox, mail)
    const [message] = (await client.messages.list(inbox.id).page()).data
    const { id } = await only(client)
    assert.equal((await client.quarantine.release(id)).id, message?.id)
    assert.deepEqual(await listed(client, inbox), ['same'])
    assert.equal((await eventsOf(client)).length, 1)
    assert.equal((await client.quarantine.list().page()).total, 0)
    assert.equal((await countRows(world, 'raw_messages')) - before, 1)
  })

  test('the raw message is byte for byte what was received, with the usual header fields', async () => {
    const { client, inbox } = await blocking()
    const raw = plainMail({ from: SPAM, to: inbox.address, body: 'x'.repeat(200_000) })
    await world.send({ to: inbox.address, from: SPAM, raw })
    const { id } = await only(client)
    const { content, contentType } = await client.quarantine.raw(id)
    assert.equal(contentType, 'message/rfc822')
    assert.ok(Buffer.from(content).toString() === raw)
    const message = await client.quarantine.release(id)
    assert.ok(Buffer.from((await client.messages.raw(message.id)).content).toString() === raw)
  })

  test('a deleted message is removed with its bytes, however many they are', async () => {
    const { client, inbox } = await blocking()
    const before = await countRows(world, 'raw_messages')
    for (const size of [10, 200_000]) {
      await send(inbox, { from: SPAM, body: 'x'.repeat(size) })
      const { id } = await only(client)
      const [raw] = await runSql(world, 'select id from raw_messages order by id desc limit 1')
      await client.quarantine.delete(id)
      assert.equal(await refusal(client.quarantine.raw(id)), '404 not_found')
      assert.equal(await refusal(client.quarantine.delete(id)), '404 not_found')
      assert.equal(
        await world.app.deps.blobs?.get(String(raw?.id)),
        world.app.deps.blobs ? null : undefined,
      )
    }
    assert.equal(await countRows(world, 'raw_messages'), before)
  })

  test('the list is newest first, of all inboxes or of one, and paged', async () => {
    const { client, inbox } = await blocking()
    const other = await client.inboxes.create()
    for (let index = 0; index < 9; index += 1) {
      await send(index % 3 === 0 ? other : inbox, { from: SPAM, subject: `${index}` })
    }
    const page = await client.quarantine.list({ limit: 4, offset: 2 }).page()
    assert.deepEqual(
      [page.data.map(({ subject }) => subject), page.total],
      [['6', '5', '4', '3'], 9],
    )
    const ofOther = await client.quarantine.list({ inboxId: other.id }).page()
    assert.deepEqual(
      [ofOther.data.map(({ subject }) => subject), ofOther.total],
      [['6', '3', '0'], 3],
    )
    const behind = await client.quarantine.list({ offset: 9 }).page()
    assert.deepEqual(behind, { data: [], total: 9 })
    await client.inboxes.delete(other.id)
    const left = await client.quarantine.list().page()
    assert.deepEqual(
      [left.data.map(({ subject }) => subject), left.total],
      [['8', '7', '5', '4', '2', '1'], 6],
    )
    const [gone] = ofOther.data
    assert.equal(await refusal(client.quarantine.get(gone?.id ?? '')), '404 not_found')
    assert.equal(await refusal(client.quarantine.release(gone?.id ?? '')), '404 not_found')
    const rows = () =>
      runSql(world, `select id from quarantined_messages where inbox_id = '${other.id}'`)
    await until(async () => (await rows()).length === 0)
  })

  test('mail to the postmaster is never quarantined', async () => {
    const { client, inbox } = await blocking()
    const before = await countRows(world, 'postmaster_messages')
    const to = ['postmaster@mailroom.localhost', inbox.address]
    const reply = await world.send({ to, from: SPAM, raw: plainMail({ from: SPAM }) })
    assert.equal(reply.code, 250)
    assert.equal((await countRows(world, 'postmaster_messages')) - before, 1)
    await only(client)
    assert.equal(await referencesOf(), 2)
  })

  test('nor where the postmaster is an inbox, as on a custom domain', async () => {
    const { client, inbox } = await blocking()
    const address = `postmaster@${inbox.id}.example`
    await runSql(
      world,
      `update inboxes set address = '${address}', receiving_address = '${address}'
       where id = '${inbox.id}'`,
    )
    await send({ ...inbox, address }, { from: SPAM, subject: 'Trouble' })
    assert.deepEqual(await listed(client, inbox), ['Trouble'])
    assert.deepEqual(await held(client), [])
  })

  test('mail between inboxes of the service is quarantined like any other', async () => {
    const { client } = await world.newAccount()
    const [sender, inbox] = [await client.inboxes.create(), await client.inboxes.create()]
    await client.senderRules.create({ type: 'block', value: sender.address, inboxId: inbox.id })
    const sent = await client.inboxes.send(sender.id, {
      to: inbox.address,
      subject: 'Hi',
      body: 'Hi',
    })
    await until(async () => (await client.messages.get(sent.messageId)).status === 'sent')
    assert.equal((await only(client)).subject, 'Hi')
    assert.deepEqual(await listed(client, inbox), [])
  })

  test('mail for an inbox deleted between RCPT and DATA is refused, not quarantined', async () => {
    const { client, inbox } = await blocking()
    const sender = await openSender(world.smtpPort)
    await sender.command(`MAIL FROM:<${SPAM}>`)
    await sender.command(`RCPT TO:<${inbox.address}>`)
    await client.inboxes.delete(inbox.id)
    await sender.command('DATA')
    sender.write(`${plainMail({ from: SPAM })}.\r\n`)
    assert.equal((await sender.reply()).code, 550)
    await sender.quit()
    assert.deepEqual(await client.quarantine.list().page(), { data: [], total: 0 })
  })

  test('quarantined mail is kept for 30 days', async () => {
    const { client, inbox } = await blocking()
    const other = await client.inboxes.create()
    const before = await countRows(world, 'raw_messages')
    await send([inbox, other], { from: SPAM, body: 'x'.repeat(200_000) })
    await send(inbox, { from: SPAM, subject: 'released' })
    const [newest] = await held(client)
    await client.quarantine.release(newest?.id ?? '')
    world.clock.advance(29 * DAY_MS)
    await purgeExpired(world.app.deps, AbortSignal.any([]))
    assert.equal((await client.quarantine.list().page()).total, 2)
    world.clock.advance(2 * DAY_MS)
    await send(inbox, { from: SPAM, subject: 'young' })
    await purgeExpired(world.app.deps, AbortSignal.any([]))
    const left = await client.quarantine.list().page()
    assert.deepEqual([left.data.map(({ subject }) => subject), left.total], [['young'], 1])
    assert.deepEqual(await listed(client, inbox), ['released'])
    const rows = await runSql(
      world,
      'select count(*) as count from quarantined_messages where created_at < 0',
    )
    assert.equal(Number(rows[0]?.count), 0)
    assert.ok((await countRows(world, 'raw_messages')) <= before + 2)
  })
})
