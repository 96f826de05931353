import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { MemoryPeer, openSmtpWorld, type SmtpWorld, SocketPeer } from '#test/smtp-world.ts'

const OPENING = ['EHLO c.example', 'MAIL FROM:<a@b.example>', 'RCPT TO:<u@x.example>', 'DATA']

async function openData(world: SmtpWorld): Promise<SocketPeer> {
  const peer = await world.connect()
  await peer.reply()
  await peer.dialogue(...OPENING)
  return peer
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}

describe('too many connections', () => {
  test('500 from one address leave room for another, at once', async () => {
    await using world = await openSmtpWorld()
    const idle = await Promise.all(Array.from({ length: 500 }, () => world.connect('127.0.0.2')))
    const startMs = performance.now()
    const good = await world.connect('127.0.0.3')
    assert.match(await good.reply(), /^220/)
    assert.ok(performance.now() - startMs < 20_000)
    const greetings = await Promise.all(idle.map((peer) => peer.reply()))
    assert.equal(greetings.filter((greeting) => greeting.startsWith('220')).length, 50)
    assert.equal(greetings.filter((greeting) => greeting.startsWith('421 4.7.0')).length, 450)
    for (const peer of idle) peer.socket.destroy()
    await until(() => world.server.stats().connections === 1)
    assert.match(await (await world.connect('127.0.0.2')).reply(), /^220/)
  })

  test('the whole listener has a limit too', async () => {
    await using world = await openSmtpWorld({ limits: { connectionsMax: 2 } })
    const peers = [await world.connect(), await world.connect(), await world.connect()]
    const greetings = await Promise.all(peers.map((peer) => peer.reply()))
    assert.deepEqual(
      greetings.map((greeting) => greeting.slice(0, 3)),
      ['220', '220', '421'],
    )
    assert.equal(world.outcomes.filter(({ kind }) => kind === 'connection-refused').length, 1)
  })
})

test('a client that speaks before the greeting is cut', async () => {
  await using world = await openSmtpWorld({ limits: { greetingDelayMs: 50 } })
  const peer = await world.connect()
  peer.send('EHLO c.example\r\nMAIL FROM:<a@b.example>\r\n')
  assert.match(await peer.reply(), /^421 4\.7\.0/)
  assert.deepEqual(await peer.end(), [])
})

describe('a connection that ends within DATA', () => {
  const ends: Record<string, (peer: SocketPeer) => void> = {
    FIN: (peer) => peer.socket.end(),
    RST: (peer) => peer.socket.resetAndDestroy(),
  }
  for (const [name, end] of Object.entries(ends)) {
    test(`by ${name} hands nothing over`, async () => {
      await using world = await openSmtpWorld()
      const peer = await openData(world)
      peer.send('Subject: half a message\r\n\r\nhal')
      await until(() => world.server.stats().heldBytes > 0)
      end(peer)
      await until(() => world.server.stats().connections === 0)
      assert.equal(world.receiver.received.length, 0)
      assert.equal(world.server.stats().heldBytes, 0)
      assert.equal(world.outcomes.filter(({ kind }) => kind === 'message-aborted').length, 1)
    })
  }
})

test('a client that closes its side after the last command still gets its replies', async () => {
  await using world = await openSmtpWorld()
  world.receiver.gate = new Promise((resolve) => setTimeout(resolve, 5))
  const peer = await world.connect()
  await peer.reply()
  peer.socket.end(`${OPENING.join('\r\n')}\r\nhello\r\n.\r\n`)
  const answers = await peer.end()
  assert.equal(answers.at(-1)?.slice(0, 3), '250')
  assert.equal(world.receiver.received.length, 1)
})

test('a message is stored even if its client has disconnected before the reply', async () => {
  await using world = await openSmtpWorld()
  const gate = Promise.withResolvers<void>()
  const peer = await openData(world)
  world.receiver.gate = gate.promise
  peer.send('hello\r\n.\r\n')
  await until(() => world.receiver.received.length === 1)
  peer.socket.resetAndDestroy()
  await until(() => world.server.stats().connections === 0)
  gate.resolve()
  await until(() => world.outcomes.at(-1)?.kind === 'message-accepted')
  assert.equal(world.server.stats().heldBytes, 0)
})

test('replies to pipelined commands leave together', () => {
  const peer = new MemoryPeer()
  const before = peer.writes
  peer.send(`${OPENING.join('\r\n')}\r\n`)
  assert.equal(peer.reader.take().length, 1 + OPENING.length)
  assert.equal(peer.writes, before + 1)
})

for (const isLate of [false, true]) {
  test(`an internal error${isLate ? ', later,' : ''} ends one connection and is logged`, async () => {
    await using world = await openSmtpWorld()
    const [peer, other] = [await world.connect(), await world.connect()]
    await Promise.all([peer.reply(), other.reply()])
    await peer.dialogue('EHLO c.example', 'MAIL FROM:<>')
    const noReply = JSON.parse('{ "code": 250 }')
    world.receiver.checkRecipient = () => (isLate ? Promise.resolve(noReply) : noReply)
    peer.send('RCPT TO:<u@x.example>\r\n')
    assert.deepEqual(await peer.end(), [])
    const [noop] = await other.dialogue('NOOP')
    assert.match(noop ?? '', /^250/)
    assert.equal(world.log.lines.length, 1)
  })
}

test('a reply that makes its reader fail affects nothing else', async () => {
  await using world = await openSmtpWorld()
  const peer = await world.connect()
  await peer.reply()
  await peer.dialogue('EHLO c.example', 'MAIL FROM:<>', 'RCPT TO:<crash@x.example>')
  assert.equal(world.log.lines.length, 1)
  const [again] = await peer.dialogue('RCPT TO:<u@x.example>')
  assert.match(again ?? '', /^250/)
})

describe('the end of service', () => {
  test('closes idle connections with 421 4.3.2 and accepts no new ones', async () => {
    const world = await openSmtpWorld()
    const peer = await world.connect()
    await peer.reply()
    const { port } = world.server.address
    const closed = world.server.close({ drainMs: 5_000 })
    assert.match(await peer.reply(), /^421 4\.3\.2/)
    await closed
    assert.ok(!world.server.isListening())
    await assert.rejects(SocketPeer.connect(port))
  })

  test('lets a running message finish and answers it', async () => {
    const world = await openSmtpWorld()
    const peer = await openData(world)
    const closed = world.server.close({ drainMs: 5_000 })
    peer.send('hello\r\n.\r\n')
    assert.match(await peer.reply(), /^250/)
    assert.match(await peer.reply(), /^421 4\.3\.2/)
    await closed
    assert.equal(world.receiver.received.length, 1)
  })

  test('cuts a message that is not complete in time', async () => {
    const world = await openSmtpWorld()
    const peer = await openData(world)
    peer.send('half')
    await world.server.close({ drainMs: 20 })
    assert.match(await peer.reply(), /^421 4\.3\.2/)
    assert.equal(world.receiver.received.length, 0)
  })

  test('returns the same promise on a second call', async () => {
    const world = await openSmtpWorld()
    assert.equal(world.server.close({ drainMs: 0 }), world.server.close({ drainMs: 9_999 }))
  })
})

test('an address in use is an error of opening, not of the process', async () => {
  await using world = await openSmtpWorld()
  const { port } = world.server.address
  const { openSmtpServer } = await import('@mailroom/smtp/server/server.ts')
  const { receiver, clock, log } = world
  await assert.rejects(
    openSmtpServer({ host: '0.0.0.0', port, hostname: 'mx.example', receiver, clock, log }),
    { code: 'EADDRINUSE' },
  )
})

test('a client that stays after its 421 is disconnected', async () => {
  await using world = await openSmtpWorld()
  const peer = await world.connect()
  await peer.reply()
  peer.socket.pause()
  peer.send('GET / HTTP/1.1\r\n')
  await until(() => world.outcomes.some(({ kind }) => kind === 'connection-cut'))
  world.clock.advance(5_000)
  world.server.sweep()
  await until(() => world.server.stats().connections === 0)
  peer.socket.resume()
  await once(peer.socket, 'close')
})
