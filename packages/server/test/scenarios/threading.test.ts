import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { openSender } from '#test/peers/sender.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

type Letter = { id?: string; inReplyTo?: string; references?: string; subject?: string }

/** Fields of a thread without labels, claim or assignee, in which one message is unread. */
const WITH_ONE_UNREAD = {
  category: 'personal',
  participants: [{ name: 'Ann Sender', address: 'ann@sender.example' }],
  snippet: 'A body.',
  unreadCount: 1,
  labels: [],
  metadata: {},
  assignee: null,
  snoozedUntil: null,
  claim: null,
  trashedAt: null,
  lastMessage: { direction: 'inbound', state: 'received', to: [] },
  hasAttachments: false,
}

onEachEngine('arriving mail', (engine) => {
  const world = opened(() => openTenant(engine))

  let count = 0
  /** Delivers a letter with these fields and returns its thread. */
  async function thread(inbox: Inbox, letter: Letter): Promise<string> {
    count += 1
    const headers = [`X-Count: ${count}`]
    if (letter.inReplyTo !== undefined) headers.push(`In-Reply-To: ${letter.inReplyTo}`)
    if (letter.references !== undefined) headers.push(`References: ${letter.references}`)
    const raw = plainMail({
      to: inbox.address,
      headers,
      ...(letter.id === undefined ? {} : { messageId: letter.id }),
      ...(letter.subject === undefined ? {} : { subject: letter.subject }),
    })
    return (await deliver(world, inbox, raw)).threadId
  }

  test('that answers nothing starts a thread, unread, with one message', async () => {
    const inbox = await world.inbox()
    const id = await thread(inbox, { id: '<a@x>', subject: 'First' })
    const found = await world.client.threads.get(id)
    const [message] = (await world.client.threads.messages(id)).data
    assert.deepEqual(found, {
      id,
      inboxId: inbox.id,
      subject: 'First',
      isRead: false,
      messageCount: 1,
      ...WITH_ONE_UNREAD,
      lastMessageAt: message?.createdAt,
      createdAt: message?.createdAt,
    })
  })

  test('joins the thread of In-Reply-To, whatever References say', async () => {
    const inbox = await world.inbox()
    const first = await thread(inbox, { id: '<a@x>' })
    const second = await thread(inbox, { id: '<b@x>' })
    assert.notEqual(first, second)
    const answer = { inReplyTo: '<a@x>', references: '<b@x>' }
    assert.equal(await thread(inbox, answer), first)
  })

  test('joins the thread of References where In-Reply-To names nothing known', async () => {
    const inbox = await world.inbox()
    const first = await thread(inbox, { id: '<a@x>' })
    const answer = { inReplyTo: '<unknown@x>', references: '<a@x> <unknown@x>' }
    assert.equal(await thread(inbox, answer), first)
    assert.equal(await thread(inbox, { references: '<a@x>' }), first)
  })

  test('starts a thread where neither field names a known message, even with one subject', async () => {
    const inbox = await world.inbox()
    const first = await thread(inbox, { id: '<a@x>', subject: 'Same' })
    const other = { inReplyTo: '<no@x>', references: '<nor@x> <this@x>', subject: 'Re: Same' }
    assert.notEqual(await thread(inbox, other), first)
  })

  test('joins the first known of several identifiers in In-Reply-To', async () => {
    const inbox = await world.inbox()
    const first = await thread(inbox, { id: '<a@x>' })
    const second = await thread(inbox, { id: '<b@x>' })
    assert.equal(await thread(inbox, { inReplyTo: '<b@x> <a@x>' }), second)
    assert.equal(await thread(inbox, { inReplyTo: '<no@x> <a@x> <b@x>' }), first)
  })

  test('joins the nearest ancestor where References name two threads', async () => {
    const inbox = await world.inbox()
    const first = await thread(inbox, { id: '<a@x>' })
    const second = await thread(inbox, { id: '<b@x>' })
    assert.equal(await thread(inbox, { references: '<a@x> <b@x> <no@x>' }), second)
    assert.equal(await thread(inbox, { references: '<b@x> <a@x>' }), first)
  })

  test('that arrived before its parent stays in its own thread, and later answers find each', async () => {
    const inbox = await world.inbox()
    const reply = await thread(inbox, { id: '<reply@x>', inReplyTo: '<parent@x>' })
    const parent = await thread(inbox, { id: '<parent@x>' })
    assert.notEqual(reply, parent)
    assert.equal(await thread(inbox, { inReplyTo: '<reply@x>' }), reply)
    assert.equal(await thread(inbox, { inReplyTo: '<parent@x>' }), parent)
  })

  test('follows a Message-ID that two messages carry to the thread of the older', async () => {
    const inbox = await world.inbox()
    const older = await thread(inbox, { id: '<same@x>' })
    const newer = await thread(inbox, { id: '<same@x>' })
    assert.notEqual(older, newer)
    assert.equal(await thread(inbox, { inReplyTo: '<same@x>' }), older)
    assert.equal(await thread(inbox, { references: '<same@x>' }), older)
  })

  test('that names itself starts a thread', async () => {
    const inbox = await world.inbox()
    const first = await thread(inbox, { id: '<self@x>', inReplyTo: '<self@x>' })
    assert.equal(await thread(inbox, { inReplyTo: '<self@x>' }), first)
  })

  test('compares identifiers exactly: letter case counts', async () => {
    const inbox = await world.inbox()
    const lower = await thread(inbox, { id: '<case@x.example>' })
    const upper = await thread(inbox, { id: '<Case@x.example>' })
    assert.equal(await thread(inbox, { inReplyTo: '<case@x.example>' }), lower)
    assert.equal(await thread(inbox, { inReplyTo: '<Case@x.example>' }), upper)
    assert.equal(
      [lower, upper].includes(await thread(inbox, { inReplyTo: '<case@X.example>' })),
      false,
    )
  })

  for (const [what, spelling] of Object.entries({
    'with no brackets': 'fold@x.example',
    'with spaces within the brackets': '< fold@x.example >',
    'on a folded line': '\r\n\t<fold@x.example>',
    'with words and a comma around it': 'Your message of Friday <fold@x.example>,',
    'with its bracket left open': '<fold@x.example',
  })) {
    test(`finds an identifier ${what}`, async () => {
      const inbox = await world.inbox()
      const first = await thread(inbox, { id: '<fold@x.example>' })
      assert.equal(await thread(inbox, { inReplyTo: spelling }), first)
    })
  }

  test('may have identifiers of 10 kB, compared to their last character', async () => {
    const inbox = await world.inbox()
    const long = (end: string) => `<${'i'.repeat(10_000)}${end}@x>`
    const one = await thread(inbox, { id: long('1') })
    const two = await thread(inbox, { id: long('2') })
    assert.notEqual(one, two)
    assert.equal(await thread(inbox, { inReplyTo: long('2') }), two)
    assert.equal(await thread(inbox, { references: `<no@x> ${long('1')}` }), one)
    const [message] = (await world.client.threads.messages(one)).data
    assert.equal(message?.rfcMessageId, long('1'))
  })

  test('may have a thousand references, of which the newest decide', async () => {
    const inbox = await world.inbox()
    const first = await thread(inbox, { id: '<a@x>' })
    const many = Array.from({ length: 5_000 }, (_, number) => `<${number}@no.example>`)
    assert.equal(await thread(inbox, { references: [...many, '<a@x>'].join('\r\n ') }), first)
    assert.equal(await thread(inbox, { references: ['<a@x>', ...many].join('\r\n ') }), first)
  })

  test('is threaded separately in each inbox', async () => {
    const [one, two] = [await world.inbox(), await world.inbox()]
    const raw = plainMail({ messageId: '<both@x>', subject: 'Both' })
    await world.send({ to: [one.address, two.address], raw })
    const [oneThread] = (await world.client.threads.list(one.id).page()).data
    const [twoThread] = (await world.client.threads.list(two.id).page()).data
    assert.notEqual(oneThread?.id, twoThread?.id)
    assert.equal(await thread(two, { inReplyTo: '<both@x>' }), twoThread?.id)
    assert.equal((await world.client.threads.get(oneThread?.id ?? '')).messageCount, 1)
    const only = await thread(one, { id: '<only@x>' })
    assert.notEqual(await thread(two, { inReplyTo: '<only@x>' }), only)
  })

  test('marks a read thread unread, continues its count, and moves it to the top of the list', async () => {
    const inbox = await world.inbox()
    const first = await thread(inbox, { id: '<a@x>', subject: 'Kept' })
    const second = await thread(inbox, { id: '<b@x>' })
    const list = async (is_read?: boolean) =>
      world.client.threads.list(inbox.id, is_read === undefined ? {} : { is_read }).page()
    assert.deepEqual(
      (await list()).data.map(({ id }) => id),
      [second, first],
    )
    await world.client.threads.update(first, { is_read: true })
    assert.deepEqual([(await list(true)).total, (await list(false)).total], [1, 1])
    await world.client.threads.messages(first)
    assert.equal((await world.client.threads.get(first)).isRead, true)
    world.clock.advance(60_000)
    await thread(inbox, { inReplyTo: '<a@x>', subject: 'Re: Kept, or another subject' })
    const [top] = (await list()).data
    assert.deepEqual(
      { ...top, lastMessageAt: 0, createdAt: 0 },
      {
        id: first,
        inboxId: inbox.id,
        subject: 'Kept',
        isRead: false,
        messageCount: 2,
        ...WITH_ONE_UNREAD,
        lastMessageAt: 0,
        createdAt: 0,
      },
    )
    const aged = Date.parse(top?.lastMessageAt ?? '') - Date.parse(top?.createdAt ?? '')
    assert.ok(aged >= 60_000 && aged < 120_000)
    assert.deepEqual([(await list(true)).total, (await list(false)).total], [0, 2])
  })

  test('of one thread arriving on many connections at once is neither lost nor stored twice', async () => {
    const inbox = await world.inbox()
    const first = await thread(inbox, { id: '<root@x>' })
    const senders = await Promise.all(Array.from({ length: 8 }, () => openSender(world.smtpPort)))
    await Promise.all(
      senders.map(async (sender, stream) => {
        for (let number = 0; number < 10; number += 1) {
          const headers = ['In-Reply-To: <root@x>', `X-Count: ${stream}.${number}`]
          const raw = plainMail({ to: inbox.address, headers, subject: `${stream}.${number}` })
          assert.equal((await sender.send({ to: inbox.address, raw })).code, 250)
        }
        await sender.quit()
      }),
    )
    const { data } = await world.client.threads.messages(first)
    assert.equal(new Set(data.map(({ subject }) => subject)).size, 81)
    const found = await world.client.threads.get(first)
    assert.equal(found.messageCount, 81)
    assert.equal(found.lastMessageAt, data.at(-1)?.createdAt)
  })
})
