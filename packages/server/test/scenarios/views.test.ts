import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFences } from '@mailroom/mail-reading/test/view/viewed.ts'
import type { Inbox } from '@mailroom/sdk'
import { openExtractions } from '#mailbox/messages/extractions.ts'
import { openDns } from '#test/peers/dns.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { countOutcomes, refusal } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, openWorld, plainMail } from '#test/world.ts'

const FRIEND = 'ann@friend.example'
const HTML = ['MIME-Version: 1.0', 'Content-Type: text/html; charset=utf-8']

onEachEngine('views', (engine) => {
  const dns = opened(() => openDns({ 'friend.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] } }))
  const world = opened(() => openWorld(engine, { env: { MAILROOM_DNS_SERVERS: dns.server } }))

  const mail = (inbox: Inbox, from: string, fields: Parameters<typeof plainMail>[0] = {}) =>
    deliver(world, inbox, plainMail({ from, ...fields }), from)
  const viewOf = async (messageId: string) => {
    const { text } = await world.client.messages.view(messageId)
    return { text, ...readFences(text) }
  }

  test("a message is Markdown within marks, with the service's own information outside", async () => {
    const inbox = await world.inbox()
    const body = '<h1>Hello</h1><p>world</p><p style="display:none">unseen</p>'
    const message = await mail(inbox, 'eve@far.example', { headers: HTML, body })
    const response = await world.fetch(`/v1/messages/${message.id}/view`)
    assert.equal(response.status, 200)
    const { headers } = response
    assert.equal(headers.get('content-type'), 'text/markdown; charset=utf-8')
    assert.equal(headers.get('cache-control'), 'private, no-store')
    assert.equal(headers.get('x-view-next-offset'), null)
    const text = await response.text()
    const { inside, outside } = readFences(text)
    assert.equal(Number(headers.get('x-view-total-chars')), inside.join('').length)
    assert.equal(
      inside.join(''),
      'From: eve@far.example\nTo: someone@mailroom.localhost\nSubject: A subject\n\n# Hello\n\nworld',
    )
    assert.match(outside, new RegExp(`inbound, to ${inbox.address}, 20`))
    assert.match(outside, /UNVERIFIED/)
    assert.match(outside, /6 characters hidden by display:none/)
    assert.ok(outside.includes('/v1/messages/{id}/raw'))
  })

  test('distinguishes a verified sender from an unverified one', async () => {
    const inbox = await world.inbox()
    const friend = await viewOf((await mail(inbox, FRIEND)).id)
    assert.match(friend.outside, /verified: the mail is authenticated for friend\.example/)
    const forged = plainMail({ from: `Ann <${FRIEND}>` })
    const stranger = await viewOf((await deliver(world, inbox, forged, 'eve@far.example')).id)
    assert.match(stranger.outside, /UNVERIFIED/)
  })

  test('distinguishes the first message of an address from later ones, by inbox', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    const first = await mail(inbox, FRIEND)
    const second = await mail(inbox, 'ANN@Friend.example')
    const elsewhere = await mail(other, FRIEND)
    assert.match((await viewOf(first.id)).outside, /first contact/)
    assert.doesNotMatch((await viewOf(second.id)).outside, /first contact/)
    assert.match((await viewOf(elsewhere.id)).outside, /first contact/)
    assert.match((await viewOf(first.id)).outside, /first contact/)
  })

  test('of a thread has its messages in order, each within its own marks', async () => {
    const inbox = await world.inbox()
    const first = await mail(inbox, FRIEND, { messageId: '<one@friend.example>', body: 'FIRST' })
    await world.client.inboxes.reply(inbox.id, first, { body: 'ANSWER' })
    const headers = ['In-Reply-To: <one@friend.example>']
    await mail(inbox, FRIEND, { headers, body: 'SECOND\r\n\r\n> FIRST\r\n' })
    const view = await world.client.threads.view(first.threadId)
    const { inside, outside } = readFences(view.text)
    assert.equal(inside.length, 3)
    assert.deepEqual(
      inside.map((text) => /FIRST|ANSWER|SECOND/.exec(text)?.[0]),
      ['FIRST', 'ANSWER', 'SECOND'],
    )
    assert.match(inside[2] ?? '', /\[quoted history folded: 1 line\]/)
    assert.match(outside, /3 messages, unread/)
    assert.match(outside, /outbound, from /)
    assert.equal(view.nextOffset, null)
    assert.equal(view.totalChars, inside.join('').length)
  })

  test('quoted history is folded if the thread holds it, and shown otherwise or on request', async () => {
    const inbox = await world.inbox()
    const body = 'Here.\r\n\r\nOn Mon, 2 Nov 2026, Cy wrote:\r\n> The plan\r\n> is new.\r\n'
    const fresh = await mail(inbox, FRIEND, { messageId: '<fresh@friend.example>', body })
    assert.match(
      (await viewOf(fresh.id)).inside.join(''),
      /Here\.[\s\S]*Cy wrote:\n> The plan\n> is new\./,
    )
    assert.doesNotMatch((await viewOf(fresh.id)).text, /folded/)
    const answer =
      'Thanks.\r\n\r\nAnn wrote:\r\n\r\n> Here.\r\n>\r\n> On Mon, 2 Nov 2026, Cy wrote:\r\n>> The plan is\r\n>> new.\r\n'
    const headers = ['In-Reply-To: <fresh@friend.example>']
    const last = await mail(inbox, FRIEND, { headers, body: answer })
    assert.equal(last.threadId, fresh.threadId)
    for (const view of [await viewOf(last.id), await world.client.threads.view(last.threadId)]) {
      assert.match(view.text, /Thanks\.\n\n\[quoted history folded: 6 lines\]/)
      assert.match(view.text, /unfold=true shows it here/)
    }
    for (const unfolded of [
      await world.client.messages.view(last.id, { unfold: true }),
      await world.client.threads.view(last.threadId, { unfold: true }),
    ]) {
      const { inside } = readFences(unfolded.text)
      assert.match(inside.at(-1) ?? '', />> The plan is\n>> new\./)
      assert.doesNotMatch(unfolded.text, /folded/)
    }
    const refused = await world.fetch(`/v1/messages/${last.id}/view?unfold=perhaps`)
    assert.equal(refused.status, 400)
  })

  test('has pages that together are the whole, and a random number for each', async () => {
    const inbox = await world.inbox()
    const body = Array.from({ length: 400 }, (_, line) => `Line ${line} of it.`).join('\r\n')
    const message = await mail(inbox, FRIEND, { messageId: '<long@friend.example>', body })
    await mail(inbox, FRIEND, { headers: ['In-Reply-To: <long@friend.example>'], body: 'END' })
    const whole = readFences((await world.client.threads.view(message.threadId)).text).inside.join(
      '',
    )
    let read = ''
    const nonces = new Set<string>()
    let pages = 0
    for (let offset: number | null = 0; offset !== null; pages++) {
      const page = await world.client.threads.view(message.threadId, { maxChars: 1_000, offset })
      assert.ok(Array.from(page.text).length <= 1_000)
      const { inside, nonces: found } = readFences(page.text)
      for (const nonce of found) nonces.add(nonce)
      read += inside.join('')
      offset = page.nextOffset
    }
    assert.equal(read, whole)
    assert.equal(nonces.size, pages)
    assert.ok(pages > 5)
  })

  test('has full long links on request', async () => {
    const inbox = await world.inbox()
    const url = `https://a.example/${'x'.repeat(200)}`
    const message = await mail(inbox, FRIEND, { body: url })
    assert.doesNotMatch((await viewOf(message.id)).text, new RegExp(url))
    assert.match((await viewOf(message.id)).outside, /1 link; links=full/)
    const full = await world.client.messages.view(message.id, { links: 'full' })
    assert.ok(full.text.includes(url))
  })

  test('lists attachments by their names within the marks', async () => {
    const inbox = await world.inbox()
    const { id } = await world.client.inboxes
      .send(inbox.id, {
        to: 'bob@far.example',
        subject: 'Files',
        body: 'See.',
        attachments: [
          { filename: 'a b.txt', contentType: 'text/plain', data: Buffer.from('x'.repeat(3_000)) },
        ],
      })
      .then(({ messageId }) => ({ id: messageId }))
    const { inside, outside } = await viewOf(id)
    assert.match(inside.join(''), /Attachments:\n- a b\.txt \(text\/plain, 3 kB\)/)
    assert.match(outside, /1 attachment, 3 kB/)
    assert.doesNotMatch(outside, /a b\.txt/)
  })

  test('of a thread that is long shows its newest messages and says so', async () => {
    const inbox = await world.inbox()
    const messageId = '<many@friend.example>'
    const first = await mail(inbox, FRIEND, { messageId, body: 'number 1.' })
    for (let count = 2; count <= 103; count++) {
      const headers = [`In-Reply-To: ${messageId}`]
      await mail(inbox, FRIEND, { headers, body: `number ${count}.` })
    }
    const { text } = await world.client.threads.view(first.threadId, { maxChars: 200_000 })
    const { inside, outside } = readFences(text)
    assert.equal(inside.length, 53)
    assert.match(inside[0] ?? '', /number 51\./)
    assert.match(inside.at(-1) ?? '', /number 103\./)
    assert.match(outside, /The oldest 50 are not in this view/)
  })

  test('is only for the account, and only of existing mail', async () => {
    const inbox = await world.inbox()
    const message = await mail(inbox, FRIEND)
    const { client } = await world.newAccount()
    const refused = [
      client.messages.view(message.id),
      client.threads.view(message.threadId),
      world.client.messages.view('msg_01h455vb4pex5vsknk084sn02q'),
      world.client.threads.view('nothing'),
    ]
    assert.deepEqual(await countOutcomes(refused), { '404 not_found': 4 })
    await world.client.inboxes.delete(inbox.id)
    assert.equal(await refusal(world.client.messages.view(message.id)), '404 not_found')
  })

  test('is refused for parameters out of range', async () => {
    const message = await mail(await world.inbox(), FRIEND)
    for (const query of [
      'max_chars=499',
      'max_chars=200001',
      'max_chars=x',
      'offset=-1',
      'links=all',
    ]) {
      const response = await world.fetch(`/v1/messages/${message.id}/view?${query}`)
      assert.equal(response.status, 400, query)
    }
    const head = await world.fetch(`/v1/messages/${message.id}/view`, { method: 'HEAD' })
    assert.equal(head.status, 200)
  })
})

const EXTRACTED = {
  codes: [{ value: '482 913', confidence: 0.96, source: 'Your verification code is 482 913.' }],
  links: [
    { url: 'https://harbor.example/verify?t=a1b2&utm_source=mail', kind: 'verify' },
    { url: 'https://harbor.example/unsubscribe/1', kind: 'unsubscribe' },
  ],
  invites: [],
}
const BODY = `Your verification code is 482 913.

Or open https://harbor.example/verify?t=a1b2&utm_source=mail

Unsubscribe: https://harbor.example/unsubscribe/1
`.replaceAll('\n', '\r\n')

onEachEngine('the findings in a message', (engine) => {
  const world = opened(() => openTenant(engine))

  test('are the same in every answer that holds them', async () => {
    const inbox = await world.inbox()
    const message = await deliver(world, inbox, plainMail({ to: inbox.address, body: BODY }))
    assert.deepEqual(message.extracted, EXTRACTED)
    assert.deepEqual((await world.client.messages.get(message.id)).extracted, EXTRACTED)
    const thread = await world.client.threads.messages(message.threadId)
    assert.deepEqual(thread.data[0]?.extracted, EXTRACTED)
    await untilReadable(world)
    const { data } = await world.client.events.list({ inbox_id: inbox.id }).page()
    assert.deepEqual(
      data.map((event) => event.message?.extracted),
      [EXTRACTED],
    )
  })

  test('are the same for a body that lists read separately and events cut', async () => {
    const inbox = await world.inbox()
    const html = `<p>Your verification code is 482 913.</p>${'<p>More to read.</p>\r\n'.repeat(20_000)}`
    const headers = ['Content-Type: text/html; charset=utf-8']
    const raw = plainMail({ to: inbox.address, headers, body: html })
    const { extracted, id } = await deliver(world, inbox, raw)
    assert.deepEqual(
      extracted?.codes.map(({ value }) => value),
      ['482 913'],
    )
    await untilReadable(world)
    // As in another process, which has not read the message before.
    world.app.deps.extractions = openExtractions()
    const { data } = await world.client.events.list({ inbox_id: inbox.id }).page()
    assert.equal(data[0]?.message?.truncated, true)
    assert.equal(data[0]?.message?.id, id)
    assert.deepEqual(data[0]?.message?.extracted, extracted)
  })

  test('are absent for sent mail', async () => {
    const inbox = await world.inbox()
    const { messageId } = await world.client.inboxes.send(inbox.id, {
      to: 'ann@client.example',
      subject: 'Your code',
      body: BODY,
    })
    assert.equal((await world.client.messages.get(messageId)).extracted, null)
  })
})

const inbound = (id: string, bodyText = 'Your verification code is 482913.') => ({
  id,
  direction: 'inbound' as const,
  subject: '',
  bodyText,
  bodyHtml: '',
  defects: [],
})

test('stay cached while recent, and the one requested longest ago is dropped first', async () => {
  const extractions = openExtractions(1_200)
  const first = await extractions.of(inbound('msg_1'))
  const second = await extractions.of(inbound('msg_2'))
  assert.equal(await extractions.of(inbound('msg_1')), first)
  await extractions.of(inbound('msg_3'))
  assert.equal(await extractions.of(inbound('msg_1')), first)
  assert.notEqual(await extractions.of(inbound('msg_2')), second)
})

test('are computed even for a message too large for the cache', async () => {
  const extractions = openExtractions(10)
  const first = await extractions.of(inbound('msg_1'))
  assert.equal(first?.extracted.codes.length, 1)
  assert.notEqual(await extractions.of(inbound('msg_1')), first)
})
