import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Inbox, Mailroom } from '@mailroom/sdk'
import { openReceiver } from '#test/peers/receiver.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { refusal, until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, openWorld, plainMail, prepared } from '#test/world.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const UNKNOWN_THREAD = 'thr_01h455vb4pex5vsknk084sn02q'
const UNKNOWN_MESSAGE = 'msg_01h455vb4pex5vsknk084sn02q'

onEachEngine('removal', (engine) => {
  const world = opened(() => openTenant(engine, { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' }))
  const receiver = opened(() => openReceiver())
  const client: Mailroom = prepared(() => world.client)
  let count = 0

  type Delivered = { to: Inbox; subject?: string; answers?: string; body?: string }

  /** The Message-ID. */
  async function deliver({ to, answers, ...fields }: Delivered): Promise<string> {
    const messageId = `<removal${++count}@sender.example>`
    const headers = answers === undefined ? [] : [`In-Reply-To: ${answers}`]
    const raw = plainMail({ to: to.address, messageId, headers, ...fields })
    assert.equal((await world.send({ to: to.address, raw })).code, 250)
    return messageId
  }

  /** An inbox with the threads `first`, of two messages, and `second`. */
  async function filled() {
    const inbox = await world.inbox()
    const root = await deliver({ to: inbox, subject: 'first', body: 'zebra one' })
    await deliver({ to: inbox, subject: 'second', body: 'giraffe' })
    await deliver({ to: inbox, subject: 'Re: first', answers: root, body: 'zebra two' })
    const { data } = await client.threads.list(inbox.id).page()
    const [first, second] = data
    if (first === undefined || second === undefined) throw new Error('A thread is missing.')
    return { inbox, root, first, second }
  }

  /** What every list of the inbox shows. */
  async function shownOf({ id }: Inbox) {
    const threads = await client.threads.list(id).page()
    const unread = await client.threads.list(id, { is_read: false }).page()
    const messages = await client.messages.list(id).page()
    const inbound = await client.messages.list(id, { direction: 'inbound' }).page()
    const found = await client.inboxes.search(id, { q: 'zebra' }).page()
    const personal = await client.messages.list(id, { category: 'personal' }).page()
    const { unreadThreads, lastMessageAt } = await client.inboxes.get(id)
    return {
      threads: [threads.total, ...threads.data],
      unread: [unread.total, ...unread.data.map((thread) => thread.id)],
      messages: [messages.total, ...messages.data.map((message) => message.subject)],
      inbound: [inbound.total, ...inbound.data.map((message) => message.subject)],
      found: [found.total, ...found.data.map((hit) => hit.subject)],
      personal: [personal.total, ...personal.data.map((message) => message.subject)],
      unreadThreads,
      lastMessageAt,
    }
  }

  test('a thread in the trash is in no list and no search, and returns to its place', async () => {
    const { inbox, first, second } = await filled()
    const before = await shownOf(inbox)
    assert.deepEqual(before.found, [2, 'Re: first', 'first'])
    await client.threads.delete(first.id)
    const after = await shownOf(inbox)
    assert.deepEqual(after, {
      threads: [1, second],
      unread: [1, second.id],
      messages: [1, 'second'],
      inbound: [1, 'second'],
      found: [0],
      personal: [1, 'second'],
      unreadThreads: 1,
      lastMessageAt: second.lastMessageAt,
    })
    const trashed = await client.threads.list(inbox.id, { trashed: true }).page()
    assert.equal(trashed.total, 1)
    const [shown] = trashed.data
    assert.ok(Math.abs(Date.parse(shown?.trashedAt ?? '') - world.clock.now()) < 60_000)
    assert.deepEqual({ ...shown, trashedAt: null }, first)
    assert.deepEqual(await client.threads.get(first.id), shown)
    // A second call changes nothing.
    await client.threads.delete(first.id)
    assert.deepEqual(await client.threads.get(first.id), shown)
    assert.deepEqual(await client.threads.restore(first.id), first)
    assert.deepEqual(await client.threads.restore(first.id), first)
    assert.deepEqual(await shownOf(inbox), before)
    assert.equal((await client.threads.list(inbox.id, { trashed: true }).page()).total, 0)
  })

  test('a thread in the trash can be read by its id, with its messages, and marked as read', async () => {
    const { inbox, first } = await filled()
    await client.threads.delete(first.id)
    const { data } = await client.threads.messages(first.id)
    assert.deepEqual(
      data.map(({ subject }) => subject),
      ['first', 'Re: first'],
    )
    for (const { id } of data) assert.equal((await client.messages.get(id)).threadId, first.id)
    assert.match((await client.threads.view(first.id)).text, /zebra one/)
    const marked = await client.threads.update(first.id, { is_read: true })
    assert.equal(marked.isRead, true)
    assert.notEqual(marked.trashedAt, null)
    const unread = { trashed: true, is_read: false }
    assert.equal((await client.threads.list(inbox.id, unread).page()).total, 0)
    assert.equal((await client.threads.list(inbox.id, { trashed: true }).page()).total, 1)
    await client.threads.restore(first.id)
    assert.equal((await client.inboxes.get(inbox.id)).unreadThreads, 1)
  })

  test('mail for a thread in the trash starts a new one, and nothing can be sent in it', async () => {
    const { inbox, root, first } = await filled()
    await client.threads.delete(first.id)
    await deliver({ to: inbox, subject: 'Re: first', answers: root })
    const { data } = await client.threads.list(inbox.id).page()
    assert.equal(data.length, 2)
    assert.notEqual(data[0]?.id, first.id)
    const message = { to: 'ann@sender.example', subject: 'x', body: 'x', threadId: first.id }
    assert.equal(await refusal(client.inboxes.send(inbox.id, message)), '409 thread_trashed')
    assert.equal(await refusal(client.inboxes.checkSend(inbox.id, message)), '409 thread_trashed')
    await client.threads.restore(first.id)
    await client.inboxes.send(inbox.id, message)
    // The new conversation stays one of its own.
    assert.equal((await client.threads.get(first.id)).messageCount, 3)
    assert.equal((await client.threads.list(inbox.id).page()).total, 3)
  })

  test('a wait finds nothing in the trash', async () => {
    const { inbox, root, first, second } = await filled()
    const { data } = await client.threads.messages(second.id)
    const after = data[0]?.id ?? ''
    const waiting = async () => {
      const response = await world.fetch(`/v1/inboxes/${inbox.id}/wait?timeout=1&after=${after}`)
      return ((await response.json()) as { message: { subject: string } | null }).message
    }
    assert.equal((await waiting())?.subject, 'Re: first')
    await client.threads.delete(first.id)
    assert.equal(await waiting(), null)
    await deliver({ to: inbox, subject: 'third', answers: root })
    assert.equal((await waiting())?.subject, 'third')
  })

  test('a removed message is gone wherever it was, and its thread shows what is left', async () => {
    const { inbox, first } = await filled()
    const { data } = await client.threads.messages(first.id)
    const [kept, gone] = data
    if (kept === undefined || gone === undefined) throw new Error('A message is missing.')
    await untilReadable(world)
    await client.messages.delete(gone.id)
    for (const request of [
      () => client.messages.get(gone.id),
      () => client.messages.raw(gone.id),
      () => client.messages.html(gone.id),
      () => client.messages.view(gone.id),
      () => client.messages.delete(gone.id),
      () => client.messages.forward(gone.id, { to: 'ann@sender.example' }),
      () => client.messages.deliveries(gone.id).page(),
    ]) {
      assert.equal(await refusal(request()), '404 not_found')
    }
    const thread = await client.threads.get(first.id)
    assert.equal(thread.messageCount, 1)
    assert.equal(thread.unreadCount, 1)
    assert.equal(thread.snippet, 'zebra one')
    assert.equal(thread.lastMessageAt, kept.createdAt)
    assert.deepEqual(
      (await client.threads.messages(first.id)).data.map(({ id }) => id),
      [kept.id],
    )
    const shown = await shownOf(inbox)
    assert.deepEqual(shown.messages, [2, 'second', 'first'])
    assert.deepEqual(shown.found, [1, 'first'])
    // The other thread has the newest message now.
    assert.equal(shown.threads.length, 3)
    const { data: events } = await client.events.list({ inbox_id: inbox.id }).page()
    assert.deepEqual(
      events.map(({ message }) => message?.subject),
      ['first', 'second'],
    )
    assert.equal(JSON.stringify(events).includes('zebra two'), false)
    for (const limit of [1, 2, 100]) {
      const query = { inbox_id: inbox.id, limit }
      assert.equal((await client.events.list(query).page()).total, 2)
    }
    // Who continues after it continues from its place.
    const path = `/v1/inboxes/${inbox.id}/wait?timeout=1&after=${gone.id}`
    assert.deepEqual(await (await world.fetch(path)).json(), { message: null })
    await deliver({ to: inbox, subject: 'later' })
    const found = (await (await world.fetch(path)).json()) as { message: { subject: string } }
    assert.equal(found.message.subject, 'later')
    // The last one takes the thread along, and what events told of it.
    await client.threads.update(first.id, { addLabels: ['secret'] })
    const told = async () => {
      const query = { inbox_id: inbox.id, event_types: 'thread.updated' }
      return (await client.events.list(query).page()).data.map(({ thread_id }) => thread_id)
    }
    await until(async () => (await told())[0] === first.id)
    await client.messages.delete(kept.id)
    assert.deepEqual(await told(), [])
    assert.equal(await refusal(client.threads.get(first.id)), '404 not_found')
  })

  test('webhooks are told nothing of a message once it is removed', async () => {
    const inbox = await world.inbox()
    const webhook = await client.webhooks.create({
      url: `${receiver.origin}/removal`,
      eventTypes: ['message.received'],
      inboxIds: [inbox.id],
    })
    const deliveries = async () => (await client.webhooks.deliveries(webhook.id).page()).data
    await deliver({ to: inbox, body: 'zebra three' })
    await until(async () => (await deliveries())[0]?.status === 'succeeded')
    const [message] = (await client.messages.list(inbox.id).page()).data
    await client.messages.delete(message?.id ?? '')
    const [delivery] = await deliveries()
    await client.webhooks.retryDelivery(webhook.id, delivery?.id ?? '')
    await until(async () => (await deliveries()).every(({ status }) => status !== 'pending'))
    const told = receiver.requests.filter(({ path }) => path === '/removal')
    assert.equal(told.length, 1)
    assert.deepEqual(await deliveries(), [])
  })

  test('the subject of a thread is that of its first message that is left', async () => {
    const { first } = await filled()
    const { data } = await client.threads.messages(first.id)
    await client.messages.delete(data[0]?.id ?? '')
    assert.equal((await client.threads.get(first.id)).subject, 'Re: first')
  })

  test('reading a thread counts for the messages that are left', async () => {
    const { inbox, root, first } = await filled()
    await client.threads.update(first.id, { is_read: true })
    const third = await deliver({ to: inbox, subject: 'third', answers: root })
    await deliver({ to: inbox, subject: 'fourth', answers: third })
    const ids = (await client.threads.messages(first.id)).data.map(({ id }) => id)
    await client.messages.delete(ids[0] ?? '')
    assert.equal((await client.threads.get(first.id)).unreadCount, 2)
    await client.messages.delete(ids[3] ?? '')
    assert.equal((await client.threads.get(first.id)).unreadCount, 1)
    await client.messages.delete(ids[2] ?? '')
    const { isRead, unreadCount, messageCount } = await client.threads.get(first.id)
    assert.deepEqual([isRead, unreadCount, messageCount], [true, 0, 1])
    assert.equal((await client.inboxes.get(inbox.id)).unreadThreads, 1)
  })

  test('a thread is removed for good on demand, from its list and from the trash', async () => {
    const { inbox, first, second } = await filled()
    const ids = (await client.threads.messages(first.id)).data.map(({ id }) => id)
    await client.threads.delete(first.id, { permanent: true })
    await client.threads.delete(second.id)
    await client.threads.delete(second.id, { permanent: true })
    for (const { id } of [first, second]) {
      assert.equal(await refusal(client.threads.get(id)), '404 not_found')
      assert.equal(await refusal(client.threads.messages(id)), '404 not_found')
      assert.equal(await refusal(client.threads.restore(id)), '404 not_found')
      assert.equal(await refusal(client.threads.delete(id)), '404 not_found')
      assert.equal(await refusal(client.threads.delete(id, { permanent: true })), '404 not_found')
      assert.equal(await refusal(client.threads.update(id, { is_read: true })), '404 not_found')
    }
    for (const id of ids) assert.equal(await refusal(client.messages.get(id)), '404 not_found')
    const { messages, threads, found, unreadThreads, lastMessageAt } = await shownOf(inbox)
    assert.deepEqual(
      [messages, threads, found, unreadThreads, lastMessageAt],
      [[0], [0], [0], 0, null],
    )
    assert.equal((await client.threads.list(inbox.id, { trashed: true }).page()).total, 0)
  })

  test('what is being sent, or waits for that, is not removed', async () => {
    const inbox = await world.inbox()
    const sendAt = new Date(world.clock.now() + DAY_MS).toISOString()
    const message = { to: 'ann@sender.example', subject: 'later', body: 'x', sendAt }
    const { messageId, threadId } = await client.inboxes.send(inbox.id, message)
    for (const request of [
      () => client.messages.delete(messageId),
      () => client.threads.delete(threadId),
      () => client.threads.delete(threadId, { permanent: true }),
    ]) {
      assert.equal(await refusal(request()), '409 delivery_pending')
    }
    assert.equal((await client.messages.get(messageId)).status, 'pending')
    await client.messages.cancel(messageId)
    await client.threads.delete(threadId)
    await client.messages.delete(messageId)
    assert.equal(await refusal(client.threads.get(threadId)), '404 not_found')
    // The number of sends, by which limits count, is not that of the messages that are left.
    assert.equal((await client.messages.list(inbox.id, { direction: 'outbound' }).page()).total, 0)
    await client.inboxes.send(inbox.id, { to: 'ann@sender.example', subject: 'x', body: 'x' })
    assert.equal((await client.messages.list(inbox.id, { direction: 'outbound' }).page()).total, 1)
  })

  test('raw bytes go with the last message that refers to them', async () => {
    const [one, other] = [await world.inbox(), await world.inbox()]
    const body = `canary ${'x'.repeat(70)}\r\n`.repeat(4_000)
    const raw = plainMail({ messageId: '<shared@sender.example>', body })
    assert.equal((await world.send({ to: [one.address, other.address], raw })).code, 250)
    const idOf = async (inbox: Inbox) =>
      (await client.messages.list(inbox.id).page()).data[0]?.id ?? ''
    const [first, second] = [await idOf(one), await idOf(other)]
    await client.messages.delete(first)
    const left = await client.messages.raw(second)
    assert.ok(Buffer.from(left.content).includes(body))
    const before = await storedFiles(world.dataDir)
    await client.messages.delete(second)
    const after = await storedFiles(world.dataDir)
    // On PostgreSQL they are in the database.
    assert.equal(after.length, before.length - (engine === 'sqlite' ? 1 : 0))
  })

  test('an attachment is gone with its message, also by a signed URL', async () => {
    const inbox = await world.inbox()
    const raw = [
      'From: ann@sender.example',
      `To: ${inbox.address}`,
      'Subject: a file',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain; name=a.txt',
      'Content-Disposition: attachment; filename=a.txt',
      '',
      'the file',
      '--b--',
      '',
    ].join('\r\n')
    await world.send({ to: inbox.address, raw })
    const [message] = (await client.messages.list(inbox.id).page()).data
    const url = new URL(message?.attachments[0]?.url ?? '')
    const path = `${world.baseUrl}${url.pathname}${url.search}`
    assert.equal(await (await fetch(path)).text(), 'the file')
    await client.messages.delete(message?.id ?? '')
    assert.equal((await fetch(path)).status, 404)
  })

  test('a reply that the caller repeats is answered as before, though its thread is in the trash', async () => {
    const { inbox, first } = await filled()
    const message = { to: 'ann@sender.example', subject: 'x', body: 'x' }
    const options = { idempotencyKey: 'repeated-send' }
    const sent = await client.inboxes.send(inbox.id, message, options)
    await untilSent(sent.messageId)
    await client.threads.delete(sent.threadId)
    assert.deepEqual(await client.inboxes.send(inbox.id, message, options), sent)
    await client.threads.delete(first.id)
  })

  async function untilSent(messageId: string): Promise<void> {
    for (;;) {
      if ((await client.messages.get(messageId)).status !== 'pending') return
      await sleep(20)
    }
  }

  test('nothing is removed by another account, by an unknown id or by a wrong query', async () => {
    const { inbox, first } = await filled()
    const before = await shownOf(inbox)
    const message = (await client.threads.messages(first.id)).data[0]?.id ?? ''
    const { client: foreign } = await world.newAccount()
    for (const request of [
      () => foreign.messages.delete(message),
      () => foreign.threads.delete(first.id),
      () => foreign.threads.delete(first.id, { permanent: true }),
      () => foreign.threads.restore(first.id),
      () => client.threads.delete(UNKNOWN_THREAD),
      () => client.threads.restore('nothing'),
      () => client.messages.delete(UNKNOWN_MESSAGE),
      () => client.messages.delete('%00'),
    ]) {
      assert.equal(await refusal(request()), '404 not_found')
    }
    for (const query of ['permanent=maybe', 'permanent=', 'permanent=true&permanent=false']) {
      const response = await world.fetch(`/v1/threads/${first.id}?${query}`, { method: 'DELETE' })
      assert.equal(response.status, 400, query)
    }
    const listed = await world.fetch(`/v1/inboxes/${inbox.id}/threads?trashed=1`)
    assert.equal(listed.status, 400)
    assert.match(JSON.stringify(await listed.json()), /trashed/)
    assert.deepEqual(await shownOf(inbox), before)
  })

  test('threads are removed after thirty days in the trash', async () => {
    const later = await openWorld(engine)
    try {
      const inbox = await later.inbox()
      await later.send({ to: inbox.address, raw: plainMail({ subject: 'old' }) })
      const [thread] = (await later.client.threads.list(inbox.id).page()).data
      await later.client.threads.delete(thread?.id ?? '')
      later.clock.advance(29 * DAY_MS)
      await sleep(3_000)
      assert.equal((await later.client.threads.get(thread?.id ?? '')).id, thread?.id)
      later.clock.advance(DAY_MS + 1)
      for (;;) {
        const { total } = await later.client.threads.list(inbox.id, { trashed: true }).page()
        if (total === 0) break
        await sleep(50)
      }
      assert.equal(await refusal(later.client.threads.get(thread?.id ?? '')), '404 not_found')
    } finally {
      await later.close()
    }
  })
})

async function storedFiles(folder: string): Promise<string[]> {
  const { readdir } = await import('node:fs/promises')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && entry.name.startsWith('raw_'))
    .map(({ name }) => name)
}
