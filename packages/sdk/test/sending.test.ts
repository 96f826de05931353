import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Mailroom,
  MailroomConnectionError,
  type RepliedMessage,
  type ReplyToSend,
  type SentMessage,
} from '@mailroom/sdk/client.ts'
import { openPeer, type Peer, type Step } from './peer.ts'

async function withPeer(
  steps: Step[],
  run: (client: Mailroom, peer: Peer) => Promise<void>,
): Promise<void> {
  await using peer = await openPeer(...steps)
  await run(new Mailroom({ baseUrl: peer.baseUrl, apiKey: 'key' }), peer)
}

const message = { to: 'ann@example.com', subject: 'A subject', body: 'A body.' }
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const keysOf = ({ requests }: Peer) => requests.map(({ headers }) => headers['idempotency-key'])

test('a send whose connection broke is repeated under its key', async () => {
  const refused: Step = { status: 500, body: { error: 'internal_error' } }
  await withPeer(['hang-up', refused, { body: { messageId: 'msg_1' } }], async (client, peer) => {
    const sent = await client.inboxes.send('inb_1', message)
    assert.equal(sent.messageId, 'msg_1')
    for (const { method, url } of peer.requests) {
      assert.deepEqual([method, url], ['POST', '/v1/inboxes/inb_1/send'])
    }
    for (const { body } of peer.requests.slice(1)) assert.deepEqual(JSON.parse(body), message)
    const [key, ...others] = keysOf(peer)
    assert.match(String(key), UUID)
    assert.deepEqual(others, [key, key])
  })
})

test('a send that a gateway answered with 502 is repeated under its key', async () => {
  const keys: (string | null)[] = []
  const gateway = async (_url: unknown, init: RequestInit = {}) => {
    keys.push(new Headers(init.headers).get('idempotency-key'))
    return keys.length === 1 ? new Response('Bad gateway', { status: 502 }) : Response.json({})
  }
  const client = new Mailroom({ baseUrl: 'http://a.example', apiKey: 'key', fetch: gateway })
  await client.inboxes.send('inb_1', message, { idempotencyKey: 'mine' })
  assert.deepEqual(keys, ['mine', 'mine'])
})

test('what sends says whether the message is held', async () => {
  const hold = { id: 'rev_1', reasons: [], expiresAt: '2026-12-01T00:00:00.000Z' }
  const held = { body: { messageId: 'msg_1', hold } }
  const free = { body: { messageId: 'msg_2' } }
  const original = { threadId: 'thr_1', fromAddr: 'ann@example.com' }
  await withPeer([held, held, held, held, held, free], async (client) => {
    const { inboxes, drafts, messages } = client
    const sent: SentMessage[] = [
      await inboxes.send('inb_1', message),
      await inboxes.reply('inb_1', original, { body: 'A reply.' }),
      await messages.forward('msg_0', { to: 'ann@example.com' }),
      await messages.rsvp('msg_0', { response: 'accepted' }),
      await drafts.send('drf_1'),
      (await inboxes.send('inb_1', message).withResponse()).data,
    ]
    assert.deepEqual(
      sent.map(({ isHeld }) => isHeld),
      [true, true, true, true, true, false],
    )
  })
})

test('each send has its own key unless one is given', async () => {
  await withPeer([{}], async (client, peer) => {
    await client.inboxes.send('inb_1', message)
    await client.inboxes.send('inb_1', message)
    await client.inboxes.send('inb_1', message, { idempotencyKey: 'mine', maxRetries: 0 })
    const [first, second, third] = keysOf(peer)
    assert.notEqual(first, second)
    assert.equal(third, 'mine')
  })
})

test('a simulated inbound message is not repeated when its connection broke', async () => {
  await withPeer(['hang-up', {}], async (client, peer) => {
    const mail = { from: 'a@b.example', to: 'c@d.example', subject: 'x' }
    await assert.rejects(client.sandbox.receive(mail), MailroomConnectionError)
    assert.equal(peer.requests.length, 1)
    assert.deepEqual(keysOf(peer), [undefined])
  })
})

test('files may be octets or base64', async () => {
  const octets = Uint8Array.from({ length: 100_001 }, (_, index) => (index * 31) % 256)
  const kept = { filename: 'a.bin', contentType: 'image/png', contentId: 'a@b' }
  await withPeer([{}], async (client, peer) => {
    const attachments = [
      { ...kept, data: octets },
      { ...kept, data: new Uint8Array() },
      { ...kept, data: 'aGk=' },
    ]
    await client.inboxes.send('inb_1', { ...message, attachments })
    const mail = { from: 'a@b.example', to: ['c@d.example'], subject: 'x', attachments }
    await client.sandbox.receive(mail)
    const expected = [Buffer.from(octets).toString('base64'), '', 'aGk=']
    for (const { body } of peer.requests) {
      assert.deepEqual(
        JSON.parse(body).attachments,
        expected.map((data) => ({ ...kept, data })),
      )
    }
  })
})

const inbound = {
  threadId: 'thr_1',
  fromAddr: 'Ann <ann@example.com>',
  direction: 'inbound',
} as const
const replies: [string, RepliedMessage, Partial<ReplyToSend>, string][] = [
  ['the sender', inbound, {}, 'ann@example.com'],
  ['a bare sender', { ...inbound, fromAddr: 'ann@example.com' }, {}, 'ann@example.com'],
  [
    'a sender whose name looks like an address',
    { ...inbound, fromAddr: '"Bob <bob@example.com>" <ann@example.com>' },
    {},
    'ann@example.com',
  ],
  [
    'where the sender wants answers',
    { ...inbound, replyTo: 'list@example.com, bob@example.com' },
    {},
    'list@example.com',
  ],
  [
    'the first that the sender wrote to, where the inbox was copied',
    { ...inbound, deliveryRole: 'cc', headerTo: 'bob@example.com, eve@example.com' },
    {},
    'bob@example.com',
  ],
  [
    'the sender where the inbox was written to',
    { ...inbound, deliveryRole: 'to', headerTo: 'inbox@example.com' },
    {},
    'ann@example.com',
  ],
  [
    'the sender who wants replies at the inbox itself',
    {
      ...inbound,
      toAddr: 'inbox@example.com',
      recipient: 'sales@example.com',
      replyTo: 'Inbox+back@Example.com, sales+x@example.com',
    },
    {},
    'ann@example.com',
  ],
  [
    'the first wanted address that is not the inbox',
    { ...inbound, toAddr: 'inbox@example.com', replyTo: 'inbox@example.com, "a, b"@example.com' },
    {},
    '"a, b"@example.com',
  ],
  [
    'whom one’s own message went to',
    { ...inbound, direction: 'outbound', toAddr: 'bob@example.com' },
    {},
    'bob@example.com',
  ],
  ['whom the caller names', inbound, { to: 'eve@example.com' }, 'eve@example.com'],
]

for (const [name, replied, fields, to] of replies) {
  test(`a reply goes to ${name}, in its thread`, async () => {
    await withPeer([{}], async (client, peer) => {
      await client.inboxes.reply('inb_1', replied, { body: 'Yes.', ...fields })
      const [request] = peer.requests
      assert.equal(request?.url, '/v1/inboxes/inb_1/send')
      assert.match(String(keysOf(peer)[0]), UUID)
      assert.deepEqual(JSON.parse(request?.body ?? ''), { body: 'Yes.', to, threadId: 'thr_1' })
    })
  })
}

test('a raw message arrives with its envelope', async () => {
  await withPeer([{ status: 201, body: { data: [], total: 0 } }], async (client, peer) => {
    const raw = 'From: a@b.example\r\n\r\nx'
    await client.sandbox.receiveRaw(raw, {
      from: 'a@b.example',
      to: ['c@d.example', 'e@f.example'],
    })
    await client.sandbox.receiveRaw(new TextEncoder().encode(raw))
    for (const { headers, body } of peer.requests) {
      assert.deepEqual([headers['content-type'], body], ['message/rfc822', raw])
    }
    assert.deepEqual(
      peer.requests.map(({ url }) => url),
      [
        '/v1/sandbox/inbound?from=a%40b.example&to=c%40d.example&to=e%40f.example',
        '/v1/sandbox/inbound',
      ],
    )
  })
})

test('an address in a path is one segment', async () => {
  await withPeer([{ status: 204 }], async (client, peer) => {
    await client.suppressions.delete('a/b+c?d@example.com')
    assert.equal(peer.requests[0]?.url, '/v1/suppressions/a%2Fb%2Bc%3Fd%40example.com')
  })
})

test('a large message has a longer timeout unless the caller gives one', async (t) => {
  const times: number[] = []
  t.mock.method(AbortSignal, 'timeout', (ms: number) => {
    times.push(ms)
    return new AbortController().signal
  })
  const answer = async () => Response.json({})
  const client = new Mailroom({ baseUrl: 'http://a.example', apiKey: 'key', fetch: answer })
  const data = new Uint8Array(4.5 * 1024 * 1024)
  const attachments = [{ filename: 'a', contentType: 'b/c', data }]
  await client.inboxes.send('inb_1', message)
  await client.inboxes.send('inb_1', { ...message, attachments })
  await client.inboxes.send('inb_1', { ...message, attachments }, { timeoutMs: 5 })
  assert.deepEqual(times, [30_000, 30_000 + 24_000, 5])
})

test('a reply goes to the first address, even if a quoted name holds a comma', async () => {
  for (const [replyTo, to] of [
    ['"a, b"@x.example, c@x.example', '"a, b"@x.example'],
    ['"a\\", b"@x.example', '"a\\", b"@x.example'],
    ['a@x.example, "b, c"@x.example', 'a@x.example'],
  ] as const) {
    await withPeer([{}], async (client, peer) => {
      const replied = { threadId: 'thr_1', fromAddr: 'z@x.example', replyTo }
      await client.inboxes.reply('inb_1', replied, { body: 'x' })
      assert.equal(JSON.parse(peer.requests[0]?.body ?? '{}').to, to)
    })
  }
})

test('a reply to a thread answers its newest received message', async () => {
  const from = (id: string, direction: string, fromAddr: string) => ({
    ...{ id, direction, fromAddr, threadId: 'thr_1', toAddr: 'ada@mail.example' },
  })
  const data = [
    from('msg_1', 'inbound', 'Ann <ann@example.com>'),
    from('msg_2', 'inbound', 'Bob <bob@example.com>'),
    from('msg_3', 'outbound', 'ada@mail.example'),
  ]
  await using peer = await openPeer(
    { body: { inboxId: 'inb_1', data } },
    { body: { messageId: 'msg_4' } },
  )
  const client = new Mailroom({ baseUrl: peer.baseUrl, apiKey: 'mr_key' })
  await client.threads.reply('thr_1', { body: 'Thanks.' }, { idempotencyKey: 'once' })
  const [read, sent] = peer.requests
  assert.equal(read?.url, '/v1/threads/thr_1/messages')
  assert.equal(sent?.url, '/v1/inboxes/inb_1/send')
  assert.equal(sent?.headers['idempotency-key'], 'once')
  const expected = { body: 'Thanks.', to: 'bob@example.com', threadId: 'thr_1' }
  assert.deepEqual(JSON.parse(sent?.body ?? ''), expected)
})
