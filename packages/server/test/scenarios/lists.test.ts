import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { runSql } from '#test/peers/sql.ts'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { multiplyMessage } from '#test/scenarios/stored-content.ts'
import {
  OPERATOR_TOKEN,
  onEachEngine,
  opened,
  openTenant,
  plainMail,
  prepared,
} from '#test/world.ts'

const COUNT = 230
const READ = Math.floor(COUNT / 3)

onEachEngine('lists', (engine) => {
  const world = opened(() => openTenant(engine))
  /** Every path that takes `limit`, with its parameters filled in, and whether it takes `offset`. */
  let paths: { path: string; hasOffset: boolean }[]

  const client = prepared(() => world.client)
  const inbox = prepared(() => world.inbox())
  before(async () => {
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address }) })
    await multiplyMessage(world, inbox.id, COUNT)
    await runSql(
      world,
      `update threads set is_read = 1
       where inbox_id = '${inbox.id}' and
         (last_message_at - (select min(last_message_at) from threads where inbox_id = '${inbox.id}')) % 3 = 2`,
    )
    await runSql(
      world,
      `update inbox_counters set unread_thread_count = ${COUNT - READ} where inbox_id = '${inbox.id}'`,
    )
    const [thread] = (await client.threads.list(inbox.id).page()).data
    const [message] = (await client.messages.list(inbox.id, { limit: 1 }).page()).data
    const webhook = await client.webhooks.create({ url: 'https://receiver.example/' })
    const fill = (path: string) =>
      path
        .replace('/inboxes/{id}', `/inboxes/${inbox.id}`)
        .replace('/threads/{id}', `/threads/${thread?.id}`)
        .replace('/messages/{id}', `/messages/${message?.id}`)
        .replace('/webhooks/{id}', `/webhooks/${webhook.id}`)
    paths = operationIds
      .map((id) => operationOf(id))
      .filter(({ query }) => 'limit' in (query?.properties ?? {}))
      .map(({ path, query }) => ({
        path: fill(path),
        hasOffset: 'offset' in (query?.properties ?? {}),
      }))
    for (const { path } of paths) assert.ok(!path.includes('{'), `${path} has to be filled in`)
  })

  const ask = (path: string) =>
    world.fetch(path, {
      headers: path.startsWith('/admin') ? { authorization: `Bearer ${OPERATOR_TOKEN}` } : {},
    })

  test('a limit is a whole number from 1, an offset from 0; anything else is 400 on every list', async () => {
    const limits = ['0', '-1', 'a', '1.5', '', '1e2', '+1', '%201', '0x1', 'NaN', 'null', '١']
    const offsets = ['-1', 'a', '1.5', '', '1e2', '-0.1']
    assert.ok(paths.filter(({ hasOffset }) => hasOffset).length >= 7)
    for (const { path: barePath, hasOffset } of paths) {
      // A search needs words, which this test is not about.
      const path = barePath.endsWith('/search') ? `${barePath}?q=a` : barePath
      const join = path === barePath ? '?' : '&'
      for (const query of [
        ...limits.map((value) => `limit=${value}`),
        ...(hasOffset ? offsets.map((value) => `offset=${value}`) : []),
      ]) {
        assert.equal(
          await outcomeOf(ask(`${path}${join}${query}`)),
          '400 bad_request',
          `${path}${join}${query}`,
        )
      }
      for (const query of [
        'limit=1',
        'limit=99999999999999999999999',
        ...(hasOffset ? ['offset=0', 'limit=1&offset=1'] : []),
      ]) {
        assert.equal((await ask(`${path}${join}${query}`)).status, 200, `${path}${join}${query}`)
      }
    }
  })

  test('a page holds fifty items by default, and at most a hundred', async () => {
    for (const path of ['messages', 'threads']) {
      for (const [query, length] of [
        ['', 50],
        ['?limit=1', 1],
        ['?limit=100', 100],
        ['?limit=101', 100],
        ['?limit=1000', 100],
        ['?limit=1000&offset=200', COUNT - 200],
        [`?offset=${COUNT}`, 0],
        ['?offset=9007199254740991', 0],
        ['?offset=99999999999999999999999', 0],
      ] as const) {
        const response = await ask(`/v1/inboxes/${inbox.id}/${path}${query}`)
        const { data, total } = (await response.json()) as { data: unknown[]; total: number }
        assert.deepEqual([data.length, total], [length, COUNT], `${path}${query}`)
      }
    }
  })

  test('pages of any size cover messages and threads exactly once, in one order', async () => {
    const filters: [string, number][] = [
      ['messages?', COUNT],
      ['messages?direction=inbound&', COUNT],
      ['messages?direction=outbound&', 0],
      ['threads?', COUNT],
      ['threads?is_read=true&', READ],
      ['threads?is_read=false&', COUNT - READ],
    ]
    for (const [filter, expected] of filters) {
      const orders = await Promise.all([7, 50, 99, 100].map((limit) => readAll(filter, limit)))
      for (const order of orders) {
        assert.equal(order.length, expected, filter)
        assert.equal(new Set(order).size, expected)
        assert.deepEqual(order, orders[0])
      }
    }
  })

  test('messages are listed newest first, threads by their newest message', async () => {
    const positionOf = (id: string) => Number(id.split('_')[2] ?? 1)
    for (const filter of ['messages?', 'threads?', 'threads?is_read=false&']) {
      const positions = (await readAll(filter, 100)).map(positionOf)
      assert.deepEqual(
        positions,
        positions.toSorted((a, b) => b - a),
      )
    }
  })

  test('iterating over a list of the client reads all of it', async () => {
    const ids: string[] = []
    for await (const { id } of client.messages.list(inbox.id)) ids.push(id)
    assert.deepEqual(ids, await readAll('messages?', 100))
    const read: string[] = []
    for await (const { id } of client.threads.list(inbox.id, { is_read: true, limit: 10 }))
      read.push(id)
    assert.equal(new Set(read).size, READ)
  })

  test('messages and threads are filtered by sender, recipient, subject, time and attachments', async () => {
    const own = await client.inboxes.create({ mailboxName: 'filtered-desk' })
    const { client: theirs } = await world.newAccount()
    const deliver = async (from: string, subject: string, cc?: string) => {
      const headers = cc === undefined ? [] : [`Cc: ${cc}`]
      const raw = plainMail({ to: own.address, from, subject, headers })
      assert.equal((await world.send({ to: own.address, raw })).code, 250)
    }
    await deliver('Ana Silva <ana@firm.example>', 'Größe 5')
    await deliver('Bob <bob@x.example>', 'An invoice', 'Carla <carla@third.example>')
    await deliver('ANA <info@other.example>', 'Another invoice')
    await client.inboxes.send(own.id, {
      to: ['bob@x.example', 'Zoe <zoe@second.example>'],
      subject: 'Sent',
      body: 'See the file.',
      attachments: [
        { filename: 'a.txt', contentType: 'text/plain', data: Buffer.from('a').toString('base64') },
      ],
    })
    const [sent, , second, first] = (await client.messages.list(own.id).page()).data
    const list = async (kind: 'messages' | 'threads', options: object) => {
      const page = await client[kind].list(own.id, options).page()
      assert.deepEqual([page.total, page.isComplete], [page.data.length, true])
      return page.data.map(({ subject }) => subject)
    }
    for (const [options, expected] of [
      [{ from: 'ana' }, ['Another invoice', 'Größe 5']],
      [{ from: 'silva <ana@' }, ['Größe 5']],
      [{ from: 'ana', subject: 'INVOICE' }, ['Another invoice']],
      [{ subject: 'GRÖSSE' }, ['Größe 5']],
      [{ to: 'carla' }, ['An invoice']],
      [{ to: 'zoe@second' }, ['Sent']],
      [{ has_attachment: true }, ['Sent']],
      [{ has_attachment: false, subject: 'invoice' }, ['Another invoice', 'An invoice']],
      [{ since: second?.createdAt, subject: 'n' }, ['Sent', 'Another invoice', 'An invoice']],
      [{ until: second?.createdAt }, ['Größe 5']],
      [{ since: first?.createdAt, until: sent?.createdAt, from: 'b' }, ['An invoice']],
      [{ subject: '%' }, []],
    ] as const) {
      for (const kind of ['messages', 'threads'] as const) {
        assert.deepEqual([options, await list(kind, options)], [options, expected])
      }
    }
    assert.deepEqual(await list('messages', { direction: 'outbound', from: 'DESK' }), ['Sent'])
    assert.deepEqual(await list('threads', { is_read: false, has_attachment: true }), [])
    const [thread] = (await client.threads.list(own.id, { subject: 'Größe' }).page()).data
    assert.ok(thread !== undefined)
    await client.threads.update(thread.id, { is_read: true, addLabels: ['done'] })
    assert.deepEqual(await list('threads', { from: 'ana', is_read: true }), ['Größe 5'])
    assert.deepEqual(await list('threads', { from: 'ana', labels: 'done' }), ['Größe 5'])
    const paged = await client.messages.list(own.id, { from: 'ana', limit: 1, offset: 1 }).page()
    assert.deepEqual([paged.total, paged.data[0]?.subject], [2, 'Größe 5'])
    const every = await Array.fromAsync(
      client.threads.list(own.id, { subject: 'invoice', limit: 1 }),
    )
    assert.equal(every.length, 2)
    const [newer] = (await client.threads.list(own.id, { subject: 'Another' }).page()).data
    for (const id of [thread.id, newer?.id ?? '']) await client.threads.delete(id)
    const inTrash = { from: 'ana', trashed: true }
    assert.deepEqual(await list('threads', { from: 'ana' }), [])
    assert.deepEqual(await list('messages', { from: 'ana' }), [])
    assert.deepEqual(await list('threads', inTrash), ['Another invoice', 'Größe 5'])
    assert.deepEqual(await list('threads', { ...inTrash, subject: 'size' }), [])
    assert.equal((await client.inboxes.search(own.id, { q: 'label:done' }).page()).total, 0)
    await client.threads.restore(thread.id)
    assert.deepEqual(await list('threads', { from: 'ana' }), ['Größe 5'])
    assert.equal((await client.inboxes.search(own.id, { q: 'label:done' }).page()).total, 1)
    const base = `/v1/inboxes/${own.id}`
    for (const kind of ['messages', 'threads'] as const) {
      for (const [query, field] of [
        ['since=yesterday', 'since'],
        ['until=2026-02-30T00:00:00Z', 'until'],
        ['has_attachment=maybe', 'has_attachment'],
        ['from=', 'from'],
        [`subject=${'a'.repeat(201)}`, 'subject'],
        ['to=a%00', 'to'],
      ] as const) {
        const response = await ask(`${base}/${kind}?${query}`)
        const { error, details } = (await response.json()) as {
          error: string
          details: { path: string }[]
        }
        const told = [query, response.status, error, details[0]?.path]
        assert.deepEqual(told, [query, 400, 'bad_request', field])
      }
      assert.equal((await ask(`${base}/${kind}?hasAttachment=true&subject=sent`)).status, 200)
      await assert.rejects(theirs[kind].list(own.id, { from: 'a' }).page(), { status: 404 })
    }
    for (const kind of ['messages', 'threads']) {
      const plain = (await (await ask(`${base}/${kind}`)).json()) as object
      assert.deepEqual(Object.keys(plain).sort(), ['data', 'total'])
    }
  })

  test('an unknown direction is 400', async () => {
    for (const direction of ['', 'both', 'INBOUND', 'inbound&direction=outbound']) {
      const response = ask(`/v1/inboxes/${inbox.id}/messages?direction=${direction}`)
      assert.equal(await outcomeOf(response), '400 bad_request')
    }
  })

  async function readAll(filter: string, limit: number): Promise<string[]> {
    const ids: string[] = []
    for (let offset = 0; ; offset += limit) {
      const path = `/v1/inboxes/${inbox.id}/${filter}limit=${limit}&offset=${offset}`
      const { data } = (await (await ask(path)).json()) as { data: { id: string }[] }
      ids.push(...data.map(({ id }) => id))
      if (data.length < limit) return ids
    }
  }
})
