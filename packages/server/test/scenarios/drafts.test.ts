import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Draft } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { refusalOf, until } from '#test/scenarios/outcomes.ts'
import { arrived, openSendingWorld, PLAIN, send, settled } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened } from '#test/world.ts'

const HOUR_MS = 60 * 60_000

onEachEngine('a draft', (engine) => {
  const world = opened(() => openSendingWorld(engine))

  test('is written step by step, sent once, and gone', async () => {
    const inbox = await world.inbox()
    const { drafts } = world.client
    const empty = await drafts.create(inbox.id)
    assert.deepEqual(
      [empty.to, empty.subject, empty.body, empty.includeQuote],
      [[], null, null, true],
    )
    const changed = await drafts.update(empty.id, {
      to: 'Bob <bob@friend.example>',
      subject: 'One',
    })
    assert.deepEqual([changed.to, changed.subject], [['Bob <bob@friend.example>'], 'One'])
    const whole = await drafts.update(empty.id, { body: 'Text', cc: ['ann@friend.example'] })
    const cleared = await drafts.update(empty.id, { cc: null })
    assert.deepEqual([whole.cc, cleared.cc, cleared.body], [['ann@friend.example'], [], 'Text'])
    const large = Buffer.alloc(200_000, 'x')
    const file = { filename: 'a.bin', contentType: 'application/x-test', data: large }
    const small = { filename: 'b.txt', contentType: 'text/plain', data: Buffer.from('b') }
    await drafts.addAttachment(empty.id, file)
    const { attachments } = await drafts.addAttachment(empty.id, small)
    assert.deepEqual(
      attachments.map(({ filename, size }) => [filename, size]),
      [
        ['a.bin', large.length],
        ['b.txt', 1],
      ],
    )
    await drafts.removeAttachment(empty.id, attachments[1]?.id ?? '')
    assert.equal((await drafts.list(inbox.id).page()).total, 1)

    const idempotencyKey = 'the key of a draft'
    const sent = await drafts.send(empty.id, { idempotencyKey })
    const { raw } = await arrived(world, sent)
    assert.ok(raw.includes('Subject: One') && raw.includes('filename=a.bin'))
    assert.ok(raw.includes('To: Bob <bob@friend.example>\r\n'))
    assert.deepEqual(await drafts.send(empty.id, { idempotencyKey }), sent)
    await assert.rejects(drafts.send(empty.id), { code: 'not_found' })
    await assert.rejects(drafts.get(empty.id), { code: 'not_found' })
    assert.equal((await drafts.list(inbox.id).page()).total, 0)
    assert.equal(world.mta.transactions.filter((one) => one.raw.includes('Subject: One')).length, 1)
    const message = await settled(world, sent)
    await assertStored(inbox.id, [message.id])
  })

  /** The account's storage counts these messages and nothing else, and no file is left. */
  async function assertStored(inboxId: string, messageIds: string[]): Promise<void> {
    const ids = messageIds.map((id) => `'${id}'`).join(',') || "''"
    const [counted] = await runSql(
      world,
      `select stored_bytes, draft_count from inbox_counters where inbox_id = '${inboxId}'`,
    )
    const [bytes] = await runSql(
      world,
      `select coalesce(sum(r.size_bytes), 0) as bytes from raw_messages r join messages m on m.raw_id = r.id where m.id in (${ids})`,
    )
    assert.equal(Number(counted?.stored_bytes), Number(bytes?.bytes))
    const raws = await runSql(
      world,
      'select id from raw_messages where id not in (select raw_id from messages)',
    )
    assert.deepEqual([Number(counted?.draft_count), raws.length], [0, 0])
  }

  test('that changed since If-Match names it is neither changed nor sent', async () => {
    const inbox = await world.inbox()
    const { drafts } = world.client
    const draft = await drafts.create(inbox.id, { ...PLAIN, clientId: 'mine' })
    const answer = await world.fetch(`/v1/drafts/${draft.id}`)
    assert.equal(answer.headers.get('etag'), draft.etag)
    const newer = await drafts.update(draft.id, { subject: 'Two' }, { ifMatch: draft.etag })
    const stale = { ifMatch: draft.etag }
    const file = { filename: 'b.txt', contentType: 'text/plain', data: Buffer.from('b') }
    for (const change of [
      () => drafts.update(draft.id, { subject: 'Three' }, stale),
      () => drafts.update(draft.id, { subject: 'Three' }, { ifMatch: `W/${newer.etag}` }),
      () => drafts.addAttachment(draft.id, file, stale),
      () => drafts.removeAttachment(draft.id, 'att_none', stale),
      () => drafts.delete(draft.id, stale),
      () => drafts.send(draft.id, stale),
    ]) {
      const error = await refusalOf(change())
      assert.deepEqual([error.status, error.code], [412, 'draft_changed'])
    }
    assert.deepEqual(await drafts.get(draft.id), newer)
    const matching = { ifMatch: `"none", ${newer.etag}` }
    await drafts.addAttachment(draft.id, file, matching)
    const any = { ifMatch: '*' }
    const subjects = Array.from({ length: 10 }, (_, index) => `Subject ${index}`)
    await Promise.all(subjects.map((subject) => drafts.update(draft.id, { subject }, any)))
    await drafts.delete(draft.id, any)
    await assertStored(inbox.id, [])
  })

  test('keeps its clientId to itself within its inbox', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    const { drafts } = world.client
    const first = await drafts.create(inbox.id, { clientId: 'order 7' })
    const error = await refusalOf(drafts.create(inbox.id, { clientId: 'order 7' }))
    assert.deepEqual([error.code, error.body?.draftId], ['client_id_taken', first.id])
    const second = await drafts.create(inbox.id)
    await assert.rejects(drafts.update(second.id, { clientId: 'order 7' }), {
      code: 'client_id_taken',
    })
    await drafts.update(first.id, { clientId: 'order 7', subject: 'Its own' })
    await drafts.create(other.id, { clientId: 'order 7' })
    await drafts.delete(first.id)
    await drafts.update(second.id, { clientId: 'order 7' })
  })

  test('is sent by one of many at once, whatever their keys', async () => {
    const inbox = await world.inbox()
    const { drafts } = world.client
    const draft = await drafts.create(inbox.id, { ...PLAIN, subject: 'Only once' })
    const keys = ['one', 'one', 'one', 'two', 'three', 'four']
    const outcomes = await Promise.allSettled(
      keys.map((key) => drafts.send(draft.id, { idempotencyKey: `many ${key} ${engine}` })),
    )
    const sent = outcomes.flatMap((one) =>
      one.status === 'fulfilled' ? [one.value.messageId] : [],
    )
    assert.equal(new Set(sent).size, 1)
    for (const one of outcomes) {
      if (one.status === 'rejected') assert.equal(one.reason.code, 'not_found')
    }
    assert.equal((await world.client.messages.list(inbox.id).page()).total, 1)
  })

  test('counts with at most 1,000 in its inbox, also when many are made at once', async () => {
    const inbox = await world.inbox()
    const { drafts } = world.client
    await runSql(
      world,
      `update inbox_counters set draft_count = 995 where inbox_id = '${inbox.id}'`,
    )
    const outcomes = await Promise.allSettled(
      Array.from({ length: 12 }, () => drafts.create(inbox.id)),
    )
    const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
    assert.deepEqual(refused, Array(7).fill('draft_limit_reached'))
  })

  test('vanishes with its inbox, with its files', async () => {
    const inbox = await world.inbox()
    const { drafts } = world.client
    const files = [{ filename: 'a', contentType: 'text/plain', data: Buffer.alloc(200_000) }]
    const draft = await drafts.create(inbox.id, { ...PLAIN, attachments: files })
    await world.client.inboxes.delete(inbox.id)
    for (const call of [
      () => drafts.get(draft.id),
      () => drafts.send(draft.id),
      () => drafts.update(draft.id, { body: 'x' }),
      () => drafts.delete(draft.id),
      () => drafts.list(inbox.id).page(),
      () => drafts.create(inbox.id),
    ]) {
      await assert.rejects(call(), { code: 'not_found' })
    }
    const isGone = async () =>
      (await runSql(world, `select id from drafts where inbox_id = '${inbox.id}'`)).length === 0
    await until(isGone)
  })
})

onEachEngine('the fields of a draft', (engine) => {
  const world = opened(() => openSendingWorld(engine))

  test('are refused as a send refuses them, and only what is missing waits for the send', async () => {
    const inbox = await world.inbox()
    const { drafts } = world.client
    const draft = await drafts.create(inbox.id)
    const many = Array.from({ length: 30 }, (_, index) => `p${index}@friend.example`)
    const wrong: [object, string][] = [
      [{ to: 'nobody' }, 'to'],
      [{ subject: 'a\nb' }, 'subject'],
      [{ headers: { Subject: 'x' } }, 'headers.Subject'],
      [{ sendAt: 'tomorrow' }, 'sendAt'],
      [{ sendAt: new Date(world.clock.now() + 1_000).toISOString() }, 'sendAt'],
      [{ cc: many, bcc: many }, 'to'],
      [{ unknown: 1 }, 'unknown'],
    ]
    for (const [fields, path] of wrong) {
      for (const call of [
        () => drafts.update(draft.id, fields),
        () => drafts.create(inbox.id, fields),
      ]) {
        const error = await refusalOf(call())
        assert.deepEqual([error.code, error.details?.[0]?.path], ['bad_request', path], path)
      }
    }
    await assert.rejects(drafts.update(draft.id, { threadId: 'thr_none' }), { code: 'not_found' })
    await drafts.update(draft.id, { cc: many })
    const tooMany = await refusalOf(drafts.update(draft.id, { bcc: many }))
    assert.equal(tooMany.details?.[0]?.path, 'to')
    await drafts.update(draft.id, { cc: null })
    for (const [fields, path] of [
      [{}, 'body'],
      [{ body: 'Text' }, 'subject'],
      [{ subject: 'Subject' }, 'to'],
      [{ replyAll: true }, 'replyAll'],
    ] as const) {
      await drafts.update(draft.id, fields)
      const error = await refusalOf(drafts.send(draft.id))
      assert.deepEqual([error.code, error.details?.[0]?.path], ['bad_request', path])
    }
    await drafts.update(draft.id, { replyAll: null, to: 'bob@friend.example' })
    await settled(world, await drafts.send(draft.id))
  })

  test('include a time, which the sent message waits for', async () => {
    const inbox = await world.inbox()
    const sendAt = new Date(world.clock.now() + HOUR_MS).toISOString()
    const draft = await world.client.drafts.create(inbox.id, { ...PLAIN, sendAt })
    const sent = await world.client.drafts.send(draft.id)
    assert.deepEqual([sent.status, sent.scheduledAt], ['pending', sendAt])
    assert.equal((await world.client.inboxes.scheduled(inbox.id).page()).total, 1)
    const late = await world.client.drafts.create(inbox.id, { ...PLAIN, sendAt })
    world.clock.advance(2 * HOUR_MS)
    const error = await refusalOf(world.client.drafts.send(late.id))
    assert.equal(error.details?.[0]?.path, 'sendAt')
    assert.equal((await world.client.drafts.get(late.id)).sendAt, sendAt)
  })

  test('name a thread that may be gone when it is sent', async () => {
    const inbox = await world.inbox()
    const { threadId } = await send(world, inbox)
    const draft = await world.client.drafts.create(inbox.id, { to: PLAIN.to, body: 'x', threadId })
    await runSql(world, `update threads set inbox_id = 'gone' where id = '${threadId}'`)
    const error = await refusalOf(world.client.drafts.send(draft.id))
    assert.equal(error.code, 'not_found')
    assert.match(error.message, /thread/)
    await world.client.drafts.update(draft.id, { threadId: null, subject: 'New' })
    await settled(world, await world.client.drafts.send(draft.id))
  })

  test('are kept when the send is refused, whose key stays free', async () => {
    const inbox = await world.inbox()
    await world.client.suppressions.create({ address: 'gone@friend.example' })
    const draft = await world.client.drafts.create(inbox.id, {
      ...PLAIN,
      to: 'gone@friend.example',
    })
    const options = { idempotencyKey: 'a key that stays free' }
    await assert.rejects(world.client.drafts.send(draft.id, options), {
      code: 'recipient_suppressed',
    })
    await world.client.drafts.update(draft.id, { to: PLAIN.to })
    await settled(world, await world.client.drafts.send(draft.id, options))
    const other: Draft = await world.client.drafts.create(inbox.id, PLAIN)
    await assert.rejects(world.client.drafts.send(other.id, options), {
      code: 'idempotency_key_reused',
    })
  })

  test('belong to their account alone', async () => {
    const inbox = await world.inbox()
    const draft = await world.client.drafts.create(inbox.id, PLAIN)
    const { client } = await world.newAccount()
    for (const call of [
      () => client.drafts.get(draft.id),
      () => client.drafts.update(draft.id, { body: 'x' }),
      () => client.drafts.delete(draft.id),
      () => client.drafts.send(draft.id),
      () => client.drafts.removeAttachment(draft.id, 'att_1'),
    ]) {
      await assert.rejects(call(), { code: 'not_found' })
    }
  })
})
