import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SentMessage } from '@mailroom/sdk'
import { type Mta, type MtaScript, openMta } from '@mailroom/smtp/test/peers/mta.ts'
import {
  attempted,
  deliveryOf,
  openSendingTenant,
  openSendingWorld,
  passTime,
  type SendingWorld,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened } from '#test/world.ts'

const mx = (...hosts: string[]) => ({
  MX: hosts.map((exchange, index) => ({ exchange, preference: 10 * (index + 1) })),
})

onEachEngine('a destination', (engine) => {
  const world = opened(() => openSendingTenant(engine))
  before(async () => {
    Object.assign(world.dns.zone, {
      'null.example': mx('.'),
      'servfail.example': 'servfail',
      'bare.example': { A: ['127.0.0.1'] },
      'loop.example': { CNAME: 'loop2.example' },
      'loop2.example': { CNAME: 'loop.example' },
      'alias.example': { CNAME: 'friend.example' },
      'homeless.example': mx('nothing.example'),
      'closed.example': { A: ['127.0.0.9'] },
      'spare.example': mx('gone.example', 'mx.friend.example'),
      'gone.example': { A: ['127.0.0.9'] },
      'crowd.example': mx(...Array.from({ length: 50 }, (_, index) => `h${index}.crowd.example`)),
      'xn--bcher-kva.example': { A: ['127.0.0.1'] },
    })
    for (let index = 0; index < 50; index++) {
      world.dns.zone[`h${index}.crowd.example`] = { A: [`127.0.1.${index + 1}`] }
    }
  })

  const sendTo = async (to: string) => send(world, await world.inbox(), { to })

  const FAILING: [name: string, to: string, codes: string][] = [
    ['does not exist', 'bob@nowhere.example', '550 5.1.2'],
    ['says that it takes no mail', 'bob@null.example', '556 5.1.10'],
  ]
  for (const [name, to, codes] of FAILING) {
    test(`where ${name} fails at once`, async () => {
      const sent = await sendTo(to)
      const message = await settled(world, sent)
      const { status, attempts, responseCode, enhancedCode, host } = await deliveryOf(world, sent)
      assert.deepEqual([message.status, status, attempts, host], ['failed', 'failed', 1, null])
      assert.equal(`${responseCode} ${enhancedCode}`, codes)
      assert.ok(message.failureReason?.startsWith(`${to}: ${codes} `), `${message.failureReason}`)
    })
  }

  const DEFERRED: [name: string, to: string][] = [
    ['that DNS cannot tell of now', 'bob@servfail.example'],
    ['whose server refuses connections', 'bob@closed.example'],
    ['with fifty servers that refuse connections', 'bob@crowd.example'],
  ]
  for (const [name, to] of DEFERRED) {
    test(`where ${name} is tried again in a minute`, async () => {
      const sent = await sendTo(to)
      const delivery = await attempted(world, sent, 1)
      assert.deepEqual([delivery.status, delivery.responseCode], ['deferred', null])
      assert.notEqual(delivery.nextAttemptAt, null)
      assert.notEqual(delivery.response, '')
      assert.equal((await world.client.messages.get(sent.messageId)).status, 'pending')
      world.dns.zone[to.slice(4)] = { A: ['127.0.0.1'] }
      world.clock.advance(5 * 60_000)
      await passTime(world, 0)
      assert.equal((await settled(world, sent)).status, 'sent')
    })
  }

  test('with fifty servers is tried at no more than five of them', async () => {
    const hosts = Array.from({ length: 50 }, (_, index) => `m${index}.many.example`)
    world.dns.zone['many.example'] = mx(...hosts)
    const peers = await Promise.all(
      hosts.map((host, index) => {
        const address = `127.0.2.${index + 1}`
        world.dns.zone[host] = { A: [address] }
        return openMta({ greeting: '421 4.3.2 Busy' }, world.mta.port, address)
      }),
    )
    const sent = await sendTo('bob@many.example')
    assert.equal((await attempted(world, sent, 1)).status, 'deferred')
    const tried = peers.filter(({ connections }) => connections.opened > 0)
    assert.equal(tried.length, 5)
    await Promise.all(peers.map((peer) => peer.close()))
  })

  test('is found by address without MX, behind an alias and after a server that is down', async () => {
    const table: [to: string, host: string][] = [
      ['bob@bare.example', 'bare.example'],
      ['bob@alias.example', 'mx.friend.example'],
      ['bob@spare.example', 'mx.friend.example'],
      ['bob@bücher.example', 'xn--bcher-kva.example'],
      ['bob@[127.0.0.1]', '[127.0.0.1]'],
    ]
    for (const [to, host] of table) {
      const sent = await sendTo(to)
      assert.equal((await settled(world, sent)).status, 'sent', to)
      const delivery = await deliveryOf(world, sent)
      assert.equal(delivery.recipient, to)
      assert.ok(host.includes(delivery.host ?? 'no host'), `${to} by ${delivery.host}`)
    }
  })

  test('with an MX loop or a name without an address gets no mail', async () => {
    for (const to of ['bob@loop.example', 'bob@homeless.example']) {
      const { status, host } = await attempted(world, await sendTo(to), 1)
      assert.ok(status === 'deferred' || status === 'failed')
      assert.equal(host, null)
    }
  })

  test('that is slow or down delays no other', async () => {
    world.dns.zone['stuck.example'] = { A: ['127.0.0.5'] }
    await using _stuck = await openMta({ greeting: 'hang' }, world.mta.port, '127.0.0.5')
    const inbox = await world.inbox()
    const held = Array.from({ length: 20 }, (_, index) =>
      send(world, inbox, { to: `b${index}@stuck.example` }),
    )
    await Promise.all(held)
    const free = await send(world, inbox)
    assert.equal((await settled(world, free)).status, 'sent')
    for (const sent of await Promise.all(held)) {
      assert.equal((await world.client.messages.get(sent.messageId)).status, 'pending')
    }
    await world.client.inboxes.delete(inbox.id)
  })
})

onEachEngine('where private addresses are blocked', (engine) => {
  const world = opened(() =>
    openSendingWorld(engine, { env: { MAILROOM_ALLOW_PRIVATE_EGRESS: 'false' } }),
  )

  test('a destination with only private addresses gets no connection, and the mail fails', async () => {
    const addresses = ['127.0.0.1', '10.1.2.3', '192.168.7.7', '169.254.169.254', '0.0.0.0']
    for (const [index, address] of addresses.entries()) {
      world.dns.zone[`p${index}.example`] = { A: [address] }
    }
    world.dns.zone['six.example'] = { AAAA: ['::1'] }
    world.dns.zone['mapped.example'] = { AAAA: ['::ffff:127.0.0.1'] }
    const destinations = [...addresses.keys()].map((index) => `p${index}.example`)
    const inbox = await world.inbox()
    const all = [...destinations, 'six.example', 'mapped.example', 'friend.example', '[127.0.0.1]']
    for (const destination of all) {
      const sent = await send(world, inbox, { to: `bob@${destination}` })
      const message = await settled(world, sent)
      assert.equal(message.status, 'failed', destination)
      const { host } = await deliveryOf(world, sent)
      assert.equal(host, null)
    }
    assert.equal(world.mta.connections.opened, 0)
  })

  test('mail between inboxes is delivered', async () => {
    const [one, two] = [await world.inbox(), await world.inbox()]
    const sent = await send(world, one, { to: two.address })
    assert.equal((await settled(world, sent)).status, 'sent')
  })
})

onEachEngine('with a relay', (engine) => {
  let world: SendingWorld
  const relay = opened(() => openMta({ auth: { user: 'desk', password: 'p@ss' } }))
  before(async () => {
    const url = `smtp://desk:p%40ss@127.0.0.1:${relay.port}`
    world = await openSendingWorld(engine, {
      env: { MAILROOM_DELIVERY: 'relay', MAILROOM_RELAY_URL: url },
    })
  })
  after(async () => {
    await world.close()
  })

  test('mail to every destination goes through it, one message for each, and nowhere else', async () => {
    const inbox = await world.inbox()
    const cc = ['ann@nowhere.example', 'cid@friend.example', inbox.address]
    const sent = await send(world, inbox, { cc })
    assert.equal((await settled(world, sent)).status, 'sent')
    const envelopes = relay.transactions.map(({ recipients }) => recipients)
    const expected = [['ann@nowhere.example'], ['bob@friend.example', 'cid@friend.example']]
    assert.deepEqual(envelopes.toSorted(), expected)
    const paths = new Set(relay.transactions.map(({ reversePath }) => reversePath))
    assert.equal(paths.size, 2, 'who hears of one cannot report of the other')
    assert.ok(relay.transactions.every(({ authUser }) => authUser === 'desk'))
    const { data } = await world.client.messages.deliveries(sent.messageId).page()
    assert.deepEqual(
      data.map(({ status, host }) => [status, host]),
      [...Array(3).fill(['accepted', '127.0.0.1']), ['accepted', 'mailroom.localhost']],
    )
    assert.equal(world.mta.connections.opened, 0)
    assert.equal(world.dns.asked.length, 0)
  })

  test('a refusal of one recipient affects only that recipient', async () => {
    relay.script = {
      ...relay.script,
      onRcpt: (address) => (address.startsWith('no') ? '550 5.1.1 No such user' : undefined),
    }
    const sent = await send(world, await world.inbox(), { cc: ['no@elsewhere.example'] })
    assert.equal((await settled(world, sent)).status, 'sent')
    const { data } = await world.client.messages.deliveries(sent.messageId).page()
    assert.deepEqual(
      data.map(({ status }) => status),
      ['accepted', 'failed'],
    )
    const [suppression] = (await world.client.suppressions.list().page()).data
    assert.equal(suppression?.address, 'no@elsewhere.example')
  })

  test('mail waits while the relay is down', async () => {
    relay.script = { ...relay.script, onMail: '421 4.3.2 Going down' }
    const sent = await send(world, await world.inbox())
    assert.equal((await attempted(world, sent, 1)).status, 'deferred')
    const { onMail: _, ...polite } = relay.script
    relay.script = polite
    await passTime(world, 60_000)
    assert.equal((await settled(world, sent)).status, 'sent')
    assert.ok((await arrivedAt(relay, sent.providerMessageId)) !== undefined)
  })

  const arrivedAt = async ({ transactions }: Mta, id: string) =>
    transactions.find(({ raw }) => raw.includes(id))
})

const BROKEN: Record<string, MtaScript> = {
  'is closing': { greeting: '421 4.3.2 Closing' },
  'closes instead of a greeting': { greeting: 'close' },
  'says something else than SMTP': { greeting: { octets: 'HTTP/1.1 400 Bad Request\r\n\r\n' } },
  'says 354 in its greeting': { greeting: '354 Go ahead' },
  'never ends its reply': { onEhlo: 'endless-lines' },
  'never ends its line': { onEhlo: 'endless-line' },
  'closes after EHLO': { onEhlo: 'close' },
  'resets at MAIL': { onMail: 'reset' },
  'says 354 to RCPT': { onRcpt: '354 Go ahead' },
  'is closing at RCPT': { onRcpt: '421 4.3.2 Closing' },
  'resets at DATA': { onData: 'reset' },
  'says 250 to DATA': { onData: '250 2.0.0 Ok' },
  'is out of room at the final dot': { onFinalDot: '452 4.3.1 No room' },
  'says 354 to the final dot': { onFinalDot: '354 Go on' },
}

onEachEngine('a server that', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  test('misbehaves in any known way gets the message later, complete and once', async (t) => {
    const inbox = await world.inbox()
    const cases: { name: string; mta: Mta; sent: SentMessage }[] = []
    for (const [index, [name, script]] of Object.entries(BROKEN).entries()) {
      const address = `127.0.3.${index + 1}`
      const mta = await openMta(script, world.mta.port, address)
      t.after(() => mta.close())
      const destination = `broken${index}.example`
      world.dns.zone[destination] = { A: [address] }
      cases.push({ name, mta, sent: await send(world, inbox, { to: `bob@${destination}` }) })
    }
    for (const { name, mta, sent } of cases) {
      const delivery = await attempted(world, sent, 1)
      assert.equal(delivery.status, 'deferred', `${name}: ${JSON.stringify(delivery)}`)
      assert.ok((delivery.response ?? '').length <= 1_000)
      assert.equal(mta.transactions.length, 0)
      mta.script = {}
    }
    await passTime(world, 60_000)
    for (const { name, mta, sent } of cases) {
      assert.equal((await settled(world, sent)).status, 'sent', name)
      const { content } = await world.client.messages.raw(sent.messageId)
      assert.equal(mta.transactions.length, 1, name)
      assert.ok(mta.transactions[0]?.raw.equals(content), name)
    }
  })
})
