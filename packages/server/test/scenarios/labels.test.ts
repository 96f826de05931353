import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox, Thread } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

onEachEngine('labels and metadata', (engine) => {
  const world = opened(() => openTenant(engine))
  const client = prepared(() => world.client)
  let sent = 0

  async function receive(inbox: Inbox, fields: { inReplyTo?: string } = {}): Promise<string> {
    const messageId = `<m${++sent}@x.example>`
    const { inReplyTo } = fields
    const headers = inReplyTo === undefined ? [] : [`In-Reply-To: ${inReplyTo}`]
    const raw = plainMail({ to: inbox.address, subject: `Mail ${sent}`, messageId, headers })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    return messageId
  }

  /** Unread threads, the oldest first, each with the Message-ID of its message. */
  async function threadsOf(inbox: Inbox, count: number) {
    const ids: string[] = []
    for (let each = 0; each < count; each++) ids.push(await receive(inbox))
    const { data } = await client.threads.list(inbox.id).page()
    return data.toReversed().map((thread, at) => ({ ...thread, messageId: ids[at] ?? '' }))
  }

  const listed = async (inbox: Inbox, options: object) => {
    const { data, total } = await client.threads.list(inbox.id, options).page()
    return { ids: data.map(({ id }) => id), total }
  }
  const named = (threads: readonly Pick<Thread, 'id'>[]) => ({
    ids: threads.map(({ id }) => id),
    total: threads.length,
  })

  test('the labels in use are listed, of the account or of an inbox, without those in the trash', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    const [first, second] = await threadsOf(inbox, 2)
    const [elsewhere] = await threadsOf(other, 1)
    assert.ok(first && second && elsewhere)
    const assignee = 'Ada'
    await client.threads.update(first.id, { addLabels: ['used/b', 'used/a'], assignee })
    await client.threads.update(second.id, { addLabels: ['used/b', 'used/trashed'] })
    await client.threads.update(elsewhere.id, { addLabels: ['used/c'], metadata: { used: 'd' } })
    await client.threads.delete(second.id)
    const labelsOf = async (options: { inboxId?: string }) =>
      (await client.threads.labels(options).page()).data.map(({ label }) => label)
    assert.deepEqual(await labelsOf({ inboxId: inbox.id }), ['used/a', 'used/b'])
    assert.deepEqual(await labelsOf({ inboxId: other.id }), ['used/c'])
    const all = (await labelsOf({})).filter((label) => label.startsWith('used/'))
    assert.deepEqual(all, ['used/a', 'used/b', 'used/c'])
    await client.threads.update(first.id, { removeLabels: ['used/a'] })
    assert.deepEqual(await labelsOf({ inboxId: inbox.id }), ['used/b'])
    const { data, total } = await client.threads.labels({ inboxId: other.id, offset: 1 }).page()
    assert.deepEqual([data, total], [[], 1])
  })

  test('labels are added and removed, sorted, and a list has the threads with all of them', async () => {
    const inbox = await world.inbox()
    const [first, second, third] = await threadsOf(inbox, 3)
    assert.ok(first && second && third)
    assert.deepEqual([first.labels, first.metadata, first.assignee], [[], {}, null])
    const label = (id: string, body: object) => client.threads.update(id, body)
    assert.deepEqual((await label(first.id, { addLabels: ['vip', 'a/b.c_d-1'] })).labels, [
      'a/b.c_d-1',
      'vip',
    ])
    await label(second.id, { addLabels: ['vip'] })
    assert.deepEqual((await label(second.id, { addLabels: ['vip', 'new'] })).labels, ['new', 'vip'])
    await label(third.id, { addLabels: ['new'], removeLabels: ['vip'] })

    assert.deepEqual(await listed(inbox, { labels: 'vip' }), named([second, first]))
    assert.deepEqual(await listed(inbox, { labels: 'vip, new' }), named([second]))
    assert.deepEqual(await listed(inbox, { labels: 'new,vip,a/b.c_d-1' }), named([]))
    const page = await client.threads.list(inbox.id, { labels: 'vip', limit: 1, offset: 1 }).page()
    assert.deepEqual([page.data[0]?.id, page.total], [first.id, 2])
    await client.threads.update(first.id, { isRead: true })
    assert.deepEqual(await listed(inbox, { labels: 'vip', is_read: false }), named([second]))
    assert.deepEqual(await listed(inbox, { labels: 'vip', category: 'spam' }), named([]))

    const removed = await label(second.id, { removeLabels: ['vip', 'absent'] })
    assert.deepEqual(removed.labels, ['new'])
    assert.deepEqual(await listed(inbox, { labels: 'vip' }), named([first]))
  })

  test('mail that arrives in a labelled thread moves it to the top of the filtered list', async () => {
    const inbox = await world.inbox()
    const [first, second] = await threadsOf(inbox, 2)
    assert.ok(first && second)
    for (const { id } of [first, second]) await client.threads.update(id, { addLabels: ['x'] })
    assert.deepEqual(await listed(inbox, { labels: 'x' }), named([second, first]))
    await receive(inbox, { inReplyTo: first.messageId })
    assert.deepEqual(await listed(inbox, { labels: 'x' }), named([first, second]))
    await client.inboxes.send(inbox.id, { to: 'a@x.example', threadId: second.id, body: 'Hi' })
    assert.deepEqual(await listed(inbox, { labels: 'x' }), named([second, first]))
  })

  test('a thread has at most 64 labels, and a wrong one is named', async () => {
    const inbox = await world.inbox()
    const [thread] = await threadsOf(inbox, 1)
    assert.ok(thread)
    const update = (body: object) => client.threads.update(thread.id, body)
    const many = Array.from({ length: 64 }, (_, index) => `l${index}`)
    assert.equal((await update({ addLabels: many })).labels.length, 64)
    assert.equal((await update({ addLabels: many })).labels.length, 64)
    await assert.equal(
      await refusal(update({ addLabels: ['one-more'] })),
      '422 label_limit_reached',
    )
    const swapped = await update({ addLabels: ['one-more'], removeLabels: ['l0'] })
    assert.equal(swapped.labels.length, 64)
    for (const [body, path] of [
      [{ addLabels: ['ok', 'Upper'] }, 'addLabels[1]'],
      [{ removeLabels: ['-x'] }, 'removeLabels[0]'],
      [{ addLabels: ['a'.repeat(65)] }, 'addLabels[0]'],
      [{ addLabels: [''] }, 'addLabels[0]'],
      [{ addLabels: [7] }, 'addLabels[0]'],
      [{ addLabels: 'vip' }, 'addLabels'],
      [{ addLabels: ['a', 'b'], removeLabels: ['c', 'b'] }, 'removeLabels[1]'],
      [{ addLabels: Array.from({ length: 65 }, (_, at) => `x${at}`) }, 'addLabels'],
      [{}, 'is_read'],
      [{ assignee: '' }, 'assignee'],
      [{ assignee: 'x'.repeat(201) }, 'assignee'],
      [{ assignee: 'a\nb' }, 'assignee'],
      [{ snoozedUntil: 'tomorrow' }, 'snoozedUntil'],
      [{ snoozedUntil: 5 }, 'snoozedUntil'],
      [{ metadata: { 'a b': 'x' } }, 'metadata.a b'],
      [{ metadata: { a: 'x'.repeat(513) } }, 'metadata.a'],
      [{ metadata: { a: 1 } }, 'metadata.a'],
      [{ metadata: { a: 'x\0' } }, 'metadata.a'],
      [{ metadata: [] }, 'metadata'],
    ] as const) {
      const error = await refusalOf(update(body as object))
      assert.equal(error.code, 'bad_request', JSON.stringify(body))
      assert.equal(error.details?.[0]?.path, path, JSON.stringify(error))
    }
    for (const labels of ['Vip', 'a,b!', Array.from({ length: 11 }, (_, i) => `l${i}`).join()]) {
      const error = await refusalOf(client.threads.list(inbox.id, { labels }).page())
      assert.deepEqual([error.code, error.details?.[0]?.path], ['bad_request', 'labels'])
    }
    assert.equal((await client.threads.get(thread.id)).labels.length, 64)
  })

  test('a message has labels of its own', async () => {
    const inbox = await world.inbox()
    await threadsOf(inbox, 2)
    const { data } = await client.messages.list(inbox.id).page()
    const [second, first] = data
    assert.ok(first && second)
    assert.deepEqual(first.labels, [])
    const labelled = await client.messages.update(first.id, { addLabels: ['b', 'a'] })
    assert.deepEqual(labelled.labels, ['a', 'b'])
    assert.deepEqual((await client.messages.get(first.id)).labels, ['a', 'b'])
    await client.messages.update(second.id, { addLabels: ['b'] })
    const found = async (options: object) => {
      const page = await client.messages.list(inbox.id, options).page()
      return [page.data.map(({ id }) => id), page.total]
    }
    assert.deepEqual(await found({ labels: 'b' }), [[second.id, first.id], 2])
    assert.deepEqual(await found({ labels: 'a,b' }), [[first.id], 1])
    assert.deepEqual(await found({ labels: 'b', direction: 'outbound' }), [[], 0])
    assert.deepEqual(await found({ labels: 'b', category: 'personal' }), [[second.id, first.id], 2])
    await client.messages.update(first.id, { removeLabels: ['b'] })
    assert.deepEqual(await found({ labels: 'b' }), [[second.id], 1])
    assert.deepEqual((await client.threads.get(first.threadId)).labels, [])
    const many = Array.from({ length: 64 }, (_, index) => `l${index}`)
    const tooMany = client.messages.update(first.id, { addLabels: many })
    await assert.equal(await refusal(tooMany), '422 label_limit_reached')
    for (const body of [{}, { addLabels: ['A'] }, { addLabels: ['x'], removeLabels: ['x'] }]) {
      await assert.equal(await refusal(client.messages.update(first.id, body)), '400 bad_request')
    }
  })

  test('metadata of threads is merged, and filters lists', async () => {
    const inbox = await world.inbox()
    const [first, second] = await threadsOf(inbox, 2)
    assert.ok(first && second)
    const merge = (id: string, metadata: Record<string, string | null> | null) =>
      client.threads.update(id, { metadata })
    assert.deepEqual((await merge(first.id, { crm: '42', step: 'a=b' })).metadata, {
      crm: '42',
      step: 'a=b',
    })
    const merged = await merge(first.id, { step: null, constructor: 'é, "x"\n', absent: null })
    assert.deepEqual(merged.metadata, { constructor: 'é, "x"\n', crm: '42' })
    await merge(second.id, { crm: '42', other: '' })
    assert.deepEqual(await listed(inbox, { metadata: { crm: '42' } }), named([second, first]))
    assert.deepEqual(await listed(inbox, { metadata: { crm: '42', other: '' } }), named([second]))
    assert.deepEqual(await listed(inbox, { metadata: { constructor: 'é, "x"\n' } }), named([first]))
    assert.deepEqual(await listed(inbox, { metadata: { crm: '4' } }), named([]))
    await client.threads.update(first.id, { addLabels: ['x'] })
    const both = { metadata: { crm: '42' }, labels: 'x' }
    assert.deepEqual(await listed(inbox, both), named([first]))
    const path = `/v1/inboxes/${inbox.id}/threads?metadata[crm]=42&metadata.other=`
    const { total } = (await (await world.fetch(path)).json()) as { total: number }
    assert.equal(total, 1)
    for (const query of ['metadata=x', 'metadata.crm=1&metadata.crm=2']) {
      assert.equal((await world.fetch(`/v1/inboxes/${inbox.id}/threads?${query}`)).status, 400)
    }
    const full = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, 'x']))
    await assert.equal(await refusal(merge(first.id, full)), '422 metadata_limit_reached')
    assert.deepEqual((await merge(first.id, null)).metadata, {})
    const values = { ...full, k0: '\u{1f600}'.repeat(512) }
    assert.deepEqual((await merge(first.id, values)).metadata, values)
    assert.deepEqual(await listed(inbox, { metadata: { k0: values.k0 } }), named([first]))
  })

  test('metadata of inboxes is given at their creation, merged, and filters the list', async () => {
    const { client: own } = await world.newAccount()
    const first = await own.inboxes.create({ metadata: { tenant: 'a', tier: '1' } })
    const second = await own.inboxes.create({ metadata: { tenant: 'a' } })
    assert.deepEqual(
      [first.metadata, second.metadata],
      [{ tenant: 'a', tier: '1' }, { tenant: 'a' }],
    )
    const found = async (metadata: Record<string, string>) => {
      const { data, total } = await own.inboxes.list({ metadata }).page()
      return [data.map(({ id }) => id), total]
    }
    assert.deepEqual(await found({ tenant: 'a' }), [[second.id, first.id], 2])
    assert.deepEqual(await found({ tenant: 'a', tier: '1' }), [[first.id], 1])
    const changed = await own.inboxes.update(first.id, { metadata: { tier: null, tenant: 'b' } })
    assert.deepEqual(changed.metadata, { tenant: 'b' })
    assert.deepEqual((await own.inboxes.get(first.id)).metadata, { tenant: 'b' })
    assert.deepEqual(await found({ tenant: 'a' }), [[second.id], 1])
    const full = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, 'x']))
    const tooMany = own.inboxes.update(second.id, { metadata: full })
    await assert.equal(await refusal(tooMany), '422 metadata_limit_reached')
    const wrong = own.inboxes.create({ metadata: { ...full, more: 'x' } })
    await assert.equal(await refusal(wrong), '400 bad_request')
    await own.inboxes.delete(second.id)
    assert.deepEqual(await found({ tenant: 'a' }), [[], 0])
    const { data: others } = await client.inboxes.list({ metadata: { tenant: 'b' } }).page()
    assert.deepEqual(others, [])
  })

  test('a thread is assigned, put off until a time, and back when new mail arrives', async () => {
    const inbox = await world.inbox()
    const [first, second] = await threadsOf(inbox, 2)
    assert.ok(first && second)
    const assigned = await client.threads.update(first.id, { assignee: 'Zoë = 1' })
    assert.equal(assigned.assignee, 'Zoë = 1')
    assert.deepEqual(await listed(inbox, { assignee: 'Zoë = 1' }), named([first]))
    assert.deepEqual(await listed(inbox, { assignee: 'zoë = 1' }), named([]))
    await client.threads.update(first.id, { assignee: null })
    assert.deepEqual(await listed(inbox, { assignee: 'Zoë = 1' }), named([]))

    const at = (ms: number) => new Date(world.clock.now() + ms).toISOString()
    const until = at(3_600_000)
    const snoozed = await client.threads.update(first.id, { snoozedUntil: until })
    assert.equal(snoozed.snoozedUntil, until)
    assert.deepEqual(await listed(inbox, { snoozed: true }), named([first]))
    assert.deepEqual(await listed(inbox, { snoozed: false }), named([second]))
    await receive(inbox, { inReplyTo: first.messageId })
    assert.equal((await client.threads.get(first.id)).snoozedUntil, null)
    assert.deepEqual(await listed(inbox, { snoozed: true }), named([]))

    await client.threads.update(second.id, { snoozedUntil: until })
    await client.inboxes.send(inbox.id, { to: 'a@x.example', threadId: second.id, body: 'Wait.' })
    assert.equal((await client.threads.get(second.id)).snoozedUntil, until)
    world.clock.advance(3_600_001)
    assert.equal((await client.threads.get(second.id)).snoozedUntil, null)
    assert.deepEqual(await listed(inbox, { snoozed: true }), named([]))
    assert.deepEqual(await listed(inbox, { snoozed: false }), named([second, first]))
    const past = await client.threads.update(second.id, { snoozedUntil: at(-1) })
    assert.equal(past.snoozedUntil, null)
  })

  test('a change is told once, and not to who asked for other events', async () => {
    const inbox = await world.inbox()
    const [thread] = await threadsOf(inbox, 1)
    assert.ok(thread)
    const { id } = thread
    await client.threads.update(id, { addLabels: ['x'], isRead: true, metadata: { a: 'secret' } })
    await client.threads.update(id, { addLabels: ['x'], isRead: true })
    await client.threads.update(id, { assignee: 'ann' })
    const { data } = await client.events.list({ inbox_id: inbox.id }).page()
    const told = data.filter(({ event }) => event === 'thread.updated')
    assert.deepEqual(
      told.map((event) => [event.thread_id, event.thread?.changed, event.thread?.labels]),
      [
        [id, ['is_read', 'labels', 'metadata'], ['x']],
        [id, ['assignee'], ['x']],
      ],
    )
    assert.ok(!JSON.stringify(told).includes('secret'))
    const asked = { inbox_id: inbox.id, event_types: 'message.received' }
    assert.equal((await client.events.list(asked).page()).total, 1)
  })

  test('another account neither sees nor changes them', async () => {
    const inbox = await world.inbox()
    const [thread] = await threadsOf(inbox, 1)
    assert.ok(thread)
    const { data } = await client.messages.list(inbox.id).page()
    const { client: other } = await world.newAccount()
    const change = { addLabels: ['theirs'] }
    await assert.equal(await refusal(other.threads.update(thread.id, change)), '404 not_found')
    const message = other.messages.update(data[0]?.id ?? '', change)
    await assert.equal(await refusal(message), '404 not_found')
    const list = other.threads.list(inbox.id, { labels: 'x' }).page()
    await assert.equal(await refusal(list), '404 not_found')
    assert.deepEqual((await client.threads.get(thread.id)).labels, [])
  })

  test('the rows that lists are filtered by go with the inbox', async () => {
    const inbox = await world.inbox()
    const [thread] = await threadsOf(inbox, 1)
    assert.ok(thread)
    await client.threads.update(thread.id, { addLabels: ['gone'], metadata: { a: 'gone' } })
    const { data } = await client.messages.list(inbox.id).page()
    await client.messages.update(data[0]?.id ?? '', { addLabels: ['gone'] })
    await client.inboxes.update(inbox.id, { metadata: { a: 'gone' } })
    await client.inboxes.delete(inbox.id)
    const left = async () => {
      const counts = await Promise.all(
        ['thread_facets', 'message_labels', 'inbox_facets', 'threads'].map((table) =>
          runSql(world, `select 1 from ${table} where inbox_id = '${inbox.id}'`),
        ),
      )
      return counts.flat().length
    }
    for (let tries = 0; (await left()) > 0 && tries < 200; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    assert.equal(await left(), 0)
  })
})
