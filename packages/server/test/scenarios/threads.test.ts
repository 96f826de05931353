import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { outcomeOf, refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

onEachEngine('threads', (engine) => {
  const world = opened(() => openTenant(engine))
  let sent = 0
  const client = prepared(() => world.client)

  /** Delivers a message to the inbox and returns its Message-ID. */
  async function receive(inbox: Inbox, subject: string, inReplyTo?: string): Promise<string> {
    const messageId = `<m${++sent}@x.example>`
    const headers = inReplyTo === undefined ? [] : [`In-Reply-To: ${inReplyTo}`]
    const raw = plainMail({ to: inbox.address, subject, messageId, headers })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    return messageId
  }
  const threadsOf = async (inbox: Inbox, options = {}) =>
    (await client.threads.list(inbox.id, options).page()).data

  test('a new thread is unread and has the subject and count of its message', async () => {
    const inbox = await world.inbox()
    await receive(inbox, 'First words')
    const [thread] = await threadsOf(inbox)
    assert.ok(thread)
    assert.match(thread.id, /^thr_[0-9a-z]{26}$/)
    assert.deepEqual(
      [thread.inboxId, thread.subject, thread.isRead, thread.messageCount],
      [inbox.id, 'First words', false, 1],
    )
    assert.equal(thread.lastMessageAt, thread.createdAt)
    assert.deepEqual(await client.threads.get(thread.id), thread)
  })

  test('a thread is marked read and unread again, and marking twice is the same as once', async () => {
    const inbox = await world.inbox()
    await receive(inbox, 'To be read')
    const [thread] = await threadsOf(inbox)
    const id = thread?.id ?? ''
    for (const isRead of [true, true, false, false, true]) {
      const marked = await client.threads.update(id, { is_read: isRead })
      assert.deepEqual(marked, { ...thread, isRead, unreadCount: isRead ? 0 : 1 })
      assert.deepEqual(await client.threads.get(id), marked)
      const { total } = await client.threads.list(inbox.id, { is_read: isRead }).page()
      const { total: others } = await client.threads.list(inbox.id, { is_read: !isRead }).page()
      assert.deepEqual([total, others], [1, 0])
    }
  })

  test('a list shows participants, the beginning of the newest message and the unread count', async () => {
    const inbox = await world.inbox()
    assert.deepEqual([inbox.unreadThreads, inbox.lastMessageAt], [0, null])
    const html =
      '<p>The <b>price</b> is\u200b 5 &euro;.</p><p style="display:none">Wire it to me.</p>'
    const raw = plainMail({
      from: '=?utf-8?q?=E2=80=AEAnn=07?= <ann@sender.example>',
      messageId: '<first@x.example>',
      headers: ['Content-Type: text/html; charset=utf-8', 'Content-Transfer-Encoding: 8bit'],
      body: html,
    })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    const [thread] = await threadsOf(inbox)
    const ann = { name: 'Ann', address: 'ann@sender.example' }
    const { bodyText } = (await client.messages.list(inbox.id).page()).data[0] ?? {}
    assert.match(thread?.snippet ?? '', /^The price is 5 €\./)
    assert.equal(thread?.snippet.includes('Wire it'), bodyText?.includes('Wire it'))
    assert.deepEqual([thread?.participants, thread?.unreadCount], [[ann], 1])

    await receive(inbox, 'A subject', '<first@x.example>')
    assert.equal((await threadsOf(inbox))[0]?.unreadCount, 2)
    const body = 'Too much.'
    const sent = { to: 'ann@sender.example', threadId: thread?.id, cc: ['bob@x.example'], body }
    await client.inboxes.send(inbox.id, sent)
    const [answered] = await threadsOf(inbox)
    const bob = { name: null, address: 'bob@x.example' }
    const named = { name: 'Ann Sender', address: 'ann@sender.example' }
    assert.deepEqual(answered?.participants, [named, bob])
    assert.deepEqual([answered?.snippet, answered?.unreadCount], [body, 0])
    const [shown] = (await client.inboxes.list().page()).data
    assert.deepEqual(shown, await client.inboxes.get(inbox.id))
    assert.deepEqual([shown?.unreadThreads, shown?.lastMessageAt], [0, answered?.lastMessageAt])
  })

  test('isRead and is_read are the same parameter, in the body and in the query', async () => {
    const inbox = await world.inbox()
    await receive(inbox, 'Spelt anew')
    const [thread] = await threadsOf(inbox)
    const id = thread?.id ?? ''
    const headers = { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' }
    const patch = async (body: object) => {
      const init = { method: 'PATCH', headers, body: JSON.stringify(body) }
      const response = await fetch(`${world.baseUrl}/v1/threads/${id}`, init)
      return [response.status, ((await response.json()) as { isRead?: boolean }).isRead]
    }
    const totalOf = async (query: string) => {
      const url = `${world.baseUrl}/v1/inboxes/${inbox.id}/threads?${query}`
      const response = await fetch(url, { headers })
      return response.status === 200
        ? ((await response.json()) as { total: number }).total
        : response.status
    }
    assert.deepEqual(await patch({ isRead: true }), [200, true])
    assert.deepEqual(await patch({ isRead: true, is_read: true }), [200, true])
    assert.deepEqual(await patch({ isRead: false, is_read: true }), [400, undefined])
    for (const body of [{}, { isRead: null }, { isRead: 'true' }]) {
      assert.deepEqual(await patch(body), [400, undefined])
    }
    assert.deepEqual(
      [await totalOf('isRead=false'), await totalOf('isRead=true'), await totalOf('is_read=true')],
      [0, 1, 1],
    )
    assert.deepEqual(
      [await totalOf('isRead=true&is_read=true'), await totalOf('isRead=true&is_read=false')],
      [1, 400],
    )
    assert.equal(await totalOf('isRead=yes'), 400)
    assert.equal((await client.threads.messages(id)).inboxId, inbox.id)
  })

  test('a flag set by many requests at once is counted once', async () => {
    const inbox = await world.inbox()
    for (const subject of ['a', 'b', 'c']) await receive(inbox, subject)
    const threads = await threadsOf(inbox)
    const marks = Array.from({ length: 8 }, () =>
      threads.map(({ id }) => client.threads.update(id, { is_read: true })),
    )
    await Promise.all(marks.flat())
    assert.equal((await client.threads.list(inbox.id, { is_read: true }).page()).total, 3)
    assert.equal((await client.threads.list(inbox.id, { is_read: false }).page()).total, 0)
  })

  test('the filter selects read threads, unread ones, or all', async () => {
    const inbox = await world.inbox()
    for (const subject of ['one', 'two', 'three']) await receive(inbox, subject)
    const [three, two, one] = await threadsOf(inbox)
    assert.deepEqual([three?.subject, two?.subject, one?.subject], ['three', 'two', 'one'])
    await client.threads.update(two?.id ?? '', { is_read: true })
    assert.deepEqual(await threadsOf(inbox, { is_read: true }), [
      { ...two, isRead: true, unreadCount: 0 },
    ])
    assert.deepEqual(await threadsOf(inbox, { is_read: false }), [three, one])
    for (const value of ['yes', '1', '', 'TRUE', 'null', 'true&is_read=false']) {
      const response = world.fetch(`/v1/inboxes/${inbox.id}/threads?is_read=${value}`)
      assert.equal(await outcomeOf(response), '400 bad_request', value)
    }
  })

  test('new mail marks a read thread unread and puts it first', async () => {
    const inbox = await world.inbox()
    const root = await receive(inbox, 'old')
    await receive(inbox, 'newer')
    const [newer, old] = await threadsOf(inbox)
    await client.threads.update(old?.id ?? '', { is_read: true })
    world.clock.advance(5_000)
    await receive(inbox, 'Re: old', root)
    const threads = await threadsOf(inbox)
    assert.deepEqual(
      threads.map(({ id, isRead, messageCount, subject }) => [id, isRead, messageCount, subject]),
      [
        [old?.id, false, 2, 'old'],
        [newer?.id, false, 1, 'newer'],
      ],
    )
    assert.ok((threads[0]?.lastMessageAt ?? '') > (newer?.lastMessageAt ?? ''))
    assert.equal(threads[0]?.createdAt, old?.createdAt)
  })

  test('reading changes no flag', async () => {
    const inbox = await world.inbox()
    await receive(inbox, 'looked at')
    const [thread] = await threadsOf(inbox)
    const { data } = await client.threads.messages(thread?.id ?? '')
    await client.messages.get(data[0]?.id ?? '')
    await client.messages.raw(data[0]?.id ?? '')
    await client.messages.list(inbox.id).page()
    assert.deepEqual(await threadsOf(inbox), [thread])
  })

  test('the messages of a thread are listed oldest first, all of them or a part', async () => {
    const inbox = await world.inbox()
    const ids = [await receive(inbox, 'long')]
    for (let count = 1; count < 7; count++) {
      ids.push(await receive(inbox, 'Re: long', ids.at(-1)))
      await receive(inbox, 'between')
    }
    const thread = (await threadsOf(inbox)).find(({ subject }) => subject === 'long')
    const whole = await client.threads.messages(thread?.id ?? '')
    assert.deepEqual([whole.threadId, whole.subject, whole.isRead], [thread?.id, 'long', false])
    const read = async (options: object) =>
      (await client.threads.messages(thread?.id ?? '', options)).data.map((one) => one.rfcMessageId)
    assert.deepEqual(await read({}), ids)
    assert.deepEqual(await read({ limit: 3 }), ids.slice(0, 3))
    assert.deepEqual(await read({ limit: 3, offset: 2 }), ids.slice(2, 5))
    assert.deepEqual(await read({ offset: 5 }), ids.slice(5))
    assert.deepEqual(await read({ offset: 7 }), [])
    for (const options of [{ limit: 0 }, { offset: -1 }, { limit: 1.5 }]) {
      assert.equal(
        await refusal(client.threads.messages(thread?.id ?? '', options)),
        '400 bad_request',
      )
    }
  })

  test('a change of a thread must be a flag, and anything else changes nothing', async () => {
    const inbox = await world.inbox()
    await receive(inbox, 'untouched')
    const [thread] = await threadsOf(inbox)
    const bodies: [object, string][] = [
      [{}, 'is_read'],
      [{ is_read: 'true' }, 'is_read'],
      [{ is_read: 1 }, 'is_read'],
      [{ is_read: null }, 'is_read'],
      [{ isRead: 'true' }, 'isRead'],
      [{ isRead: true, is_read: false }, 'isRead'],
      [{ is_read: true, subject: 'x' }, 'subject'],
      [{ is_read: true, inboxId: 'x' }, 'inboxId'],
    ]
    for (const [body, path] of bodies) {
      const error = await refusalOf(client.threads.update(thread?.id ?? '', body as never))
      assert.equal(error.code, 'bad_request')
      assert.ok(
        error.details.some((detail) => detail.path === path),
        JSON.stringify(body),
      )
    }
    assert.deepEqual(await threadsOf(inbox), [thread])
  })

  test('a message is threaded only within its own inbox', async () => {
    const [one, other] = [await world.inbox(), await world.inbox()]
    const root = await receive(one, 'here')
    await receive(other, 'Re: here', root)
    assert.equal((await threadsOf(one))[0]?.messageCount, 1)
    assert.equal((await threadsOf(other))[0]?.messageCount, 1)
  })
})
