import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { listServiceRecords } from '#domains/signing/signing.ts'
import { openLog } from '#platform/log.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { readFigures } from '#test/scenarios/figures.ts'
import { errorOf, outcomeOf, refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import {
  arrived,
  fieldOf,
  openSendingWorld,
  type SendingWorld,
  send,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, plainMail } from '#test/world.ts'

onEachEngine('unsubscribing', (engine) => {
  let world: SendingWorld
  let log = ''
  const tokens: string[] = []
  before(async () => {
    const opened = await openLog({
      level: 'debug',
      isTerminal: false,
      output: { write: (line) => (log += line) },
    })
    world = await openSendingWorld(engine, { log: opened.log })
  })
  after(() => world.close())

  let recipients = 0
  const newRecipient = () => `bob${++recipients}@friend.example`

  /** The path of the link in the sent message. */
  async function linkOf(inbox: Inbox, to: string): Promise<string> {
    const { raw } = await arrived(world, await send(world, inbox, { to, unsubscribe: true }))
    const link = /^<(.*)>$/.exec(fieldOf(raw, 'list-unsubscribe') ?? '')?.[1] ?? ''
    assert.ok(link.startsWith(`${world.baseUrl}/unsubscribe/`), link)
    const { pathname } = new URL(link)
    tokens.push(pathname.split('/').at(-1) ?? '')
    return pathname
  }

  const ask = (path: string, init: RequestInit = {}) => fetch(`${world.baseUrl}${path}`, init)
  const suppressionOf = async (address: string) =>
    (await world.client.suppressions.list({ address }).page()).data[0]

  test('is offered on the message, in fields that its signature covers', async () => {
    const inbox = await world.inbox()
    const { raw } = await arrived(world, await send(world, inbox, { unsubscribe: true }))
    assert.equal(fieldOf(raw, 'list-unsubscribe-post'), 'List-Unsubscribe=One-Click')
    const head = raw.toString('latin1').split('\r\n\r\n', 1)[0] ?? ''
    assert.match(head, /^List-Unsubscribe: <http[^\s<>]+>\r$/m)
    const records = await listServiceRecords(world.app.deps, world.settings)
    const resolver = async (name: string, type: string) =>
      records.filter((one) => one.name === name && one.type === type).map(({ value }) => [value])
    const { results } = await dkimVerify(raw, { resolver, curTime: world.clock.now() })
    const [result] = results
    assert.equal(result?.status.result, 'pass')
    const signed = String(result?.signingHeaders?.keys).toLowerCase()
    assert.match(signed, /list-unsubscribe\b/)
    assert.match(signed, /list-unsubscribe-post\b/)
  })

  test('is offered only on request', async () => {
    const inbox = await world.inbox()
    for (const fields of [{}, { unsubscribe: false }]) {
      const { raw } = await arrived(world, await send(world, inbox, fields))
      assert.equal(fieldOf(raw, 'list-unsubscribe'), null)
      assert.equal(fieldOf(raw, 'list-unsubscribe-post'), null)
    }
  })

  test('is offered by a form as well', async () => {
    const inbox = await world.inbox()
    const post = async (unsubscribe: string) => {
      const form = new FormData()
      const fields = { to: newRecipient(), subject: 'A subject', body: 'Hello', unsubscribe }
      for (const [name, value] of Object.entries(fields)) form.set(name, value)
      const headers = { 'idempotency-key': randomUUID() }
      const path = `/v1/inboxes/${inbox.id}/send`
      return world.fetch(path, { method: 'POST', headers, body: form })
    }
    for (const [text, isOffered] of [
      ['true', true],
      ['false', false],
    ] as const) {
      const sent = (await (await post(text)).json()) as { providerMessageId: string }
      const { raw } = await arrived(world, sent)
      assert.equal(fieldOf(raw, 'list-unsubscribe') !== null, isOffered)
    }
    assert.equal(await outcomeOf(post('yes')), '400 bad_request')
  })

  test('is offered to one recipient only, and a refusal gives the reason and uses up nothing', async () => {
    const inbox = await world.inbox()
    const [to, key] = [newRecipient(), randomUUID()]
    const refused = await refusalOf(
      send(world, inbox, { to, cc: ['ann@friend.example'], unsubscribe: true }, key),
    )
    assert.deepEqual([refused.status, refused.code], [400, 'bad_request'])
    assert.deepEqual(
      refused.details?.map(({ path }) => path),
      ['cc'],
    )
    assert.match(refused.message, /one recipient/)
    const more = { to: { to: [to, newRecipient()] }, bcc: { to, bcc: [newRecipient()] } }
    for (const [path, fields] of Object.entries(more)) {
      const { details } = await refusalOf(send(world, inbox, { ...fields, unsubscribe: true }, key))
      assert.deepEqual(
        [details[0]?.path, /because the link is for one/.test(details[0]?.message ?? '')],
        [path, true],
      )
    }
    // The key is still free, and one address in two spellings is one recipient.
    const sent = await send(world, inbox, { to, cc: [to.toUpperCase()], unsubscribe: true }, key)
    assert.equal((await arrived(world, sent)).recipients.length, 1)
  })

  test('is refused for a reply that also goes to people copied with the inbox', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: 'desk@friend.example', headers: [`Cc: ${inbox.address}`] })
    const { threadId } = await deliver(world, inbox, raw)
    const reply = { to: newRecipient(), threadId, unsubscribe: true }
    const refused = await refusalOf(send(world, inbox, reply))
    assert.deepEqual([refused.status, refused.code], [400, 'bad_request'])
    assert.match(refused.message, /ann@sender\.example/)
    await send(world, inbox, { ...reply, to: 'ann@sender.example' })
  })

  test('is part of the request that an Idempotency-Key stands for', async () => {
    const inbox = await world.inbox()
    const [to, key] = [newRecipient(), randomUUID()]
    const sent = await send(world, inbox, { to, unsubscribe: true }, key)
    assert.equal((await send(world, inbox, { to, unsubscribe: true }, key)).id, sent.id)
    assert.equal(await refusal(send(world, inbox, { to }, key)), '422 idempotency_key_reused')
    const plain = randomUUID()
    const first = await send(world, inbox, { to, unsubscribe: false }, plain)
    assert.equal((await send(world, inbox, { to }, plain)).id, first.id)
  })

  test('needs a click on a page that changes nothing by itself', async () => {
    const to = newRecipient()
    const path = await linkOf(await world.inbox(), to)
    for (const method of ['GET', 'HEAD', 'GET']) {
      const response = await ask(path, { method })
      assert.equal(response.status, 200)
      const page = await response.text()
      if (method === 'GET') {
        assert.match(page, /<form method="post"><button type="submit">/)
        assert.ok(page.includes(to))
      }
    }
    assert.equal(await suppressionOf(to), undefined)
    await send(world, await world.inbox(), { to })
  })

  test('has pages only for the holder of the link, without scripts or requests elsewhere', async () => {
    const path = await linkOf(await world.inbox(), newRecipient())
    const accept = { accept: 'text/html' }
    for (const [asked, init, status] of [
      [path, {}, 200],
      [path, { method: 'POST' }, 200],
      [`${path}x`, { headers: accept }, 404],
      [`${path}x`, { method: 'POST', headers: accept }, 404],
    ] as const) {
      const response = await ask(asked, init)
      assert.equal(response.status, status)
      const page = await response.text()
      assert.doesNotMatch(page, /<script|https?:|src=|@import|url\(|\son\w+=/i)
      assert.match(page, /color-scheme: light dark/)
      const headers = Object.fromEntries(response.headers)
      assert.equal(headers['content-type'], 'text/html; charset=utf-8')
      assert.equal(headers['cache-control'], 'no-store')
      assert.equal(headers['referrer-policy'], 'no-referrer')
      assert.match(headers['x-robots-tag'] ?? '', /noindex/)
      const policy = headers['content-security-policy'] ?? ''
      assert.match(policy, /default-src 'none'.*form-action 'self'.*frame-ancestors 'none'/)
      assert.doesNotMatch(policy, /unsafe/)
    }
  })

  test('accepts a POST of any kind, once and for all inboxes of the account', async () => {
    const inbox = await world.inbox()
    const form = new FormData()
    form.set('List-Unsubscribe', 'One-Click')
    const bodies: RequestInit[] = [
      { body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) },
      { body: form },
      {},
      { body: 'x', headers: { 'content-type': 'text/plain' } },
      { body: '{"', headers: { 'content-type': 'application/json' } },
      { body: 'x', headers: { 'content-type': 'no type at all' } },
      { body: '' },
      { body: 'x'.repeat(300_000) },
    ]
    for (const init of bodies) {
      const to = newRecipient()
      const path = await linkOf(inbox, to)
      const entries = []
      for (let time = 0; time < 2; time++) {
        const response = await ask(path, { method: 'POST', ...init })
        assert.equal(response.status, 200, String(init.body))
        assert.match(await response.text(), /You are unsubscribed/)
        entries.push(await suppressionOf(to))
      }
      const [entry, again] = entries
      assert.deepEqual(again, entry)
      assert.deepEqual([entry?.type, entry?.address], ['unsub', to])
      assert.match(entry?.reason ?? '', /msg_[0-9a-z]{26}/)
      const refused = await refusalOf(send(world, await world.inbox(), { to }))
      assert.equal(refused.code, 'recipient_suppressed')
    }
  })

  test('in concurrent requests makes one suppression', async () => {
    const to = newRecipient()
    const path = await linkOf(await world.inbox(), to)
    const before = (await world.client.suppressions.list().page()).total
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => ask(path, { method: 'POST' })),
    )
    for (const { status } of answers) assert.equal(status, 200)
    assert.equal((await world.client.suppressions.list().page()).total, before + 1)
  })

  test('leaves an existing suppression unchanged', async () => {
    const to = newRecipient()
    const path = await linkOf(await world.inbox(), to)
    const entry = await world.client.suppressions.create({ address: to })
    assert.equal((await ask(path, { method: 'POST' })).status, 200)
    assert.deepEqual(await suppressionOf(to), entry)
  })

  test('affects only the account that sent the message', async () => {
    const to = newRecipient()
    const other = await world.newAccount()
    const theirs = await other.client.inboxes.create()
    const path = await linkOf(await world.inbox(), to)
    assert.equal((await ask(path, { method: 'POST' })).status, 200)
    assert.equal((await other.client.suppressions.list().page()).total, 0)
    await send(other, theirs, { to })
  })

  test('works after the inbox is deleted, and years later', async () => {
    const inbox = await world.inbox()
    const to = newRecipient()
    const path = await linkOf(inbox, to)
    await world.client.inboxes.delete(inbox.id)
    assert.equal((await ask(path, { method: 'POST' })).status, 200)
    assert.equal((await suppressionOf(to))?.type, 'unsub')
  })

  test('fails with a link that the service did not make', async () => {
    const to = newRecipient()
    const path = await linkOf(await world.inbox(), to)
    const last = path.at(-1) === 'A' ? 'B' : 'A'
    const wrong = [
      `${path.slice(0, -1)}${last}`,
      `${path}A`,
      path.slice(0, -4),
      '/unsubscribe/x',
      '/unsubscribe/%00',
      '/unsubscribe/..%2f..%2fetc%2fpasswd',
      `/unsubscribe/${'A'.repeat(3_000)}`,
    ]
    for (const method of ['GET', 'POST']) {
      for (const other of wrong) {
        const response = await ask(other, { method })
        assert.equal(response.status, 404, other)
        assert.equal((await errorOf(response)).error, 'not_found')
      }
    }
    assert.equal(await suppressionOf(to), undefined)
    assert.equal(await outcomeOf(ask(path, { method: 'DELETE' })), '405 method_not_allowed')
    assert.equal(await outcomeOf(ask('/unsubscribe/')), '404 not_found')
  })

  test('shows an address as text, whatever it contains', async () => {
    const inbox = await world.inbox()
    const to = "bob&'amp{}@friend.example"
    const link = await linkOf(inbox, to)
    for (const method of ['GET', 'POST']) {
      const page = await (await ask(link, { method })).text()
      assert.ok(page.includes('<b>bob&amp;&#39;amp{}@friend.example</b>'), page)
    }
  })

  test('marks mail between inboxes as list mail', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    const { id: after } = await deliver(world, other, plainMail({ to: other.address }))
    await send(world, inbox, { to: other.address, unsubscribe: true })
    const { message } = await world.client.inboxes.wait(other.id, { after })
    assert.equal(message?.automaticReason, 'list')
  })

  test('appears in no log', async () => {
    const path = await linkOf(await world.inbox(), newRecipient())
    await ask(`${path}x`)
    assert.ok(tokens.length > 10 && log.length > 0)
    for (const token of tokens) assert.ok(!log.includes(token))
    const metrics = await readFigures(world)
    assert.ok(metrics.includes('/unsubscribe/{token}'))
    for (const token of tokens) assert.ok(!metrics.includes(token))
  })

  test('is limited for each client, and possible again a minute later', async () => {
    const path = await linkOf(await world.inbox(), newRecipient())
    const statuses = new Set<number>()
    let refused: Response | null = null
    for (let round = 0; round < 700 && refused === null; round += 20) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask(path)))
      for (const response of answers) {
        statuses.add(response.status)
        if (response.status === 429) refused ??= response
        else await response.arrayBuffer()
      }
    }
    assert.deepEqual([...statuses], [200, 429])
    assert.ok(refused !== null)
    assert.ok(Number(refused.headers.get('retry-after')) <= 60)
    assert.equal((await errorOf(refused)).error, 'rate_limit_exceeded')
    world.clock.advance(60_000)
    assert.equal((await ask(path)).status, 200)
  })
})
