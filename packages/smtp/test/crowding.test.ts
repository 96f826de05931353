import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openSmtpWorld, type SmtpWorld, type SocketPeer } from './smtp-world.ts'

const ENVELOPE = ['EHLO c.example', 'MAIL FROM:<a@b.example>', 'RCPT TO:<u@x.example>', 'DATA']

/** A hundredth of the real limits. */
const LIMITS = {
  messageBytesMax: 300_000,
  intakeBytesMax: 2_560_000,
  intakeBytesPerAddressMax: 1_280_000,
}

/** Begins a message and sends this much of it, without its end. */
async function begin(world: SmtpWorld, from: string, bytes: number): Promise<SocketPeer> {
  const peer = await world.connect(from)
  await peer.reply()
  assert.match((await peer.dialogue(...ENVELOPE)).at(-1) ?? '', /^354/)
  const heldBefore = world.server.stats().heldBytes
  peer.send('x'.repeat(bytes))
  while (world.server.stats().heldBytes < heldBefore + bytes) await nextTurn()
  return peer
}

async function sendWhole(world: SmtpWorld, from: string, bytes: number): Promise<string> {
  const peer = await world.connect(from)
  await peer.reply()
  const replies = await peer.dialogue(...ENVELOPE)
  assert.match(replies.at(-1) ?? '', /^354/)
  peer.send(`${'y'.repeat(bytes)}\r\n.\r\n`)
  return peer.reply()
}

describe('memory for messages', () => {
  test('held by three addresses is freed for a large message of another', async () => {
    await using world = await openSmtpWorld({ limits: LIMITS })
    const holders: SocketPeer[] = []
    for (const from of ['127.0.0.2', '127.0.0.3', '127.0.0.4']) {
      for (let n = 0; n < 3; n++) holders.push(await begin(world, from, 284_000))
    }
    assert.ok(world.server.stats().heldBytes > 0.99 * LIMITS.intakeBytesMax)
    assert.match(await sendWhole(world, '127.0.0.9', 250_000), /^250/)
    assert.equal(world.receiver.received[0]?.content.length, 250_002)
    const cut = world.outcomes.filter(({ kind }) => kind === 'connection-cut')
    assert.deepEqual(cut, [{ kind: 'connection-cut', reason: 'crowded-out' }])
    const open = holders.filter(({ socket }) => !socket.readableEnded)
    assert.equal(open.length, holders.length - 1)
  })

  test('is freed by slow senders of any address, and not by active ones', async () => {
    await using world = await openSmtpWorld({ limits: LIMITS })
    const slow: SocketPeer[] = []
    for (let n = 0; n < 23; n++) slow.push(await begin(world, `127.0.0.${20 + n}`, 100_000))
    const quick = await begin(world, '127.0.0.5', 150_000)
    world.clock.advance(5_000)
    world.server.sweep()
    // No sender is known to be slow yet, and none holds more than one message.
    assert.match(await sendWhole(world, '127.0.0.9', 250_000), /^452 4\.3\.1/)
    const heldBefore = world.server.stats().heldBytes
    quick.send('x'.repeat(90_000))
    for (const peer of slow) peer.send('x'.repeat(100))
    while (world.server.stats().heldBytes < heldBefore + 92_300) await nextTurn()
    world.clock.advance(5_000)
    world.server.sweep()
    assert.match(await sendWhole(world, '127.0.0.9', 250_000), /^250/)
    quick.send('\r\n.\r\n')
    assert.match(await quick.reply(), /^250/)
    assert.equal(world.receiver.received.length, 2)
    const cut = world.outcomes.filter(({ kind }) => kind === 'connection-cut')
    assert.deepEqual(new Set(cut.map((one) => JSON.stringify(one))).size, 1)
    assert.ok(cut.length <= 3, `${cut.length} were cut`)
  })

  test('that one address holds up to its limit leaves others unaffected', async () => {
    await using world = await openSmtpWorld({ limits: LIMITS })
    const others = [await begin(world, '127.0.0.2', 100_000), await begin(world, '127.0.0.3', 100)]
    for (let n = 0; n < 4; n++) await begin(world, '127.0.0.9', 299_000)
    world.clock.advance(30_000)
    world.server.sweep()
    assert.match(await sendWhole(world, '127.0.0.9', 250_000), /^452 4\.3\.1/)
    for (const peer of others) peer.send('\r\n.\r\n')
    for (const peer of others) assert.match(await peer.reply(), /^250/)
  })
})

describe('places for connections', () => {
  const limits = { connectionsMax: 100, connectionsPerAddressMax: 5 }

  async function fill(world: SmtpWorld, addresses: number, ofEach: number): Promise<SocketPeer[]> {
    const peers: SocketPeer[] = []
    for (let n = 0; n < addresses * ofEach; n++) {
      const peer = await world.connect(`127.0.1.${1 + Math.floor(n / ofEach)}`)
      assert.match(await peer.reply(), /^220/)
      peers.push(peer)
    }
    return peers
  }

  test('held idle by few addresses are freed, the longest idle first, and a new client is served', async () => {
    await using world = await openSmtpWorld({ limits })
    const idle = await fill(world, 20, 5)
    world.clock.advance(1_000)
    // All but one have sent something since.
    const idlest = idle[42]
    await Promise.all(idle.filter((peer) => peer !== idlest).map((peer) => peer.dialogue('NOOP')))
    assert.match(await sendWhole(world, '127.0.0.9', 1_000), /^250/)
    assert.deepEqual(
      (await idlest?.end())?.map((line) => line.slice(0, 9)),
      ['421 4.3.2'],
    )
    assert.equal(world.outcomes.filter(({ kind }) => kind === 'connection-cut').length, 1)
    assert.ok(world.server.stats().connections <= limits.connectionsMax)
  })

  test('held by slow messages are freed as well', async () => {
    await using world = await openSmtpWorld({ limits: { ...limits, connectionsMax: 10 } })
    for (let n = 0; n < 10; n++) await begin(world, `127.0.1.${1 + (n >> 2)}`, 1_000)
    const turnedAway = await world.connect('127.0.0.9')
    assert.match(await turnedAway.reply(), /^421 4\.7\.0/)
    world.clock.advance(5_000)
    world.server.sweep()
    assert.match(await sendWhole(world, '127.0.0.9', 1_000), /^250/)
  })

  test('with one for each address are freed after ten seconds, not before', async () => {
    await using world = await openSmtpWorld({ limits })
    await fill(world, 100, 1)
    const early = await world.connect('127.0.0.9')
    assert.match(await early.reply(), /^421 4\.7\.0/)
    world.clock.advance(10_000)
    assert.match(await sendWhole(world, '127.0.0.9', 1_000), /^250/)
  })

  test('of messages that are being stored are kept', async () => {
    await using world = await openSmtpWorld({ limits: { ...limits, connectionsMax: 1 } })
    const gate = Promise.withResolvers<void>()
    const busy = await begin(world, '127.0.0.2', 100)
    world.receiver.gate = gate.promise
    busy.send('\r\n.\r\n')
    while (world.receiver.received.length === 0) await nextTurn()
    world.clock.advance(60_000)
    const newcomer = await world.connect('127.0.0.9')
    assert.match(await newcomer.reply(), /^421 4\.7\.0/)
    gate.resolve()
    assert.match(await busy.reply(), /^250/)
  })
})
