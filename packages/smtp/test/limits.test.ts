import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryPeer, openSmtpWorld } from '#test/smtp-world.ts'

const OPENING = ['EHLO c.example', 'MAIL FROM:<a@b.example>', 'RCPT TO:<u@x.example>', 'DATA']

function memoryData(limits: ConstructorParameters<typeof MemoryPeer>[0]): MemoryPeer {
  const peer = new MemoryPeer(limits)
  peer.send(OPENING.map((line) => `${line}\r\n`).join(''))
  peer.reader.take()
  return peer
}

describe('size', () => {
  for (const excess of [1, 10_000]) {
    test(`${excess} octets too many are refused at the end of DATA and the connection stays open`, () => {
      const peer = memoryData({ limits: { messageBytesMax: 1_000 } })
      peer.send('x'.repeat(998 + excess))
      peer.send('\r\n.\r\nRSET\r\nMAIL FROM:<a@b.example>\r\n')
      const answers = peer.reader.take().map((reply) => reply.slice(0, 9))
      assert.deepEqual(answers, ['552 5.3.4', '250 2.0.0', '250 2.1.0'])
      assert.equal(peer.receiver.received.length, 0)
      assert.equal(peer.intake.counts.heldBytes, 0)
    })
  }

  test('a message of exactly the limit is accepted, its stuffed dots not counted', () => {
    const peer = memoryData({ limits: { messageBytesMax: 1_000 } })
    peer.send(`..${'x'.repeat(997)}\r\n.\r\n`)
    assert.match(peer.reader.take()[0] ?? '', /^250/)
  })

  test('the minimum sizes of RFC 5321 §4.5.3.1 and senders that forwarders rewrote are accepted', async () => {
    await using world = await openSmtpWorld()
    const peer = await world.connect()
    await peer.reply()
    const label = 'a'.repeat(63)
    const sender = `${'l'.repeat(255)}@${label}.${label}.${label}.${label}`
    const answers = await peer.dialogue('EHLO c.example', `MAIL FROM:<${sender}>`)
    for (let n = 0; n < 100; n += 1)
      answers.push(...(await peer.dialogue(`RCPT TO:<u${n}@x.example>`)))
    answers.push(...(await peer.dialogue('DATA')))
    assert.ok(answers.every((answer) => /^[23]/.test(answer)))
    const text = `${'y'.repeat(998)}\r\n`.repeat(66)
    peer.send(`${text}${'z'.repeat(100_000)}\r\n.\r\n`)
    assert.match(await peer.reply(), /^250/)
    const [message] = world.receiver.received
    assert.equal(message?.content.toString(), `${text}${'z'.repeat(100_000)}\r\n`)
    assert.equal(message?.envelope.recipients.length, 100)
    assert.equal(message?.envelope.reversePath, sender)
    const [noop] = await peer.dialogue(`NOOP ${'x'.repeat(505)}`)
    assert.match(noop ?? '', /^250/)
  })

  test('a local part of 256 octets is 501', () => {
    const peer = new MemoryPeer()
    peer.send(`EHLO c\r\nMAIL FROM:<${'l'.repeat(256)}@b.example>\r\n`)
    assert.match(peer.reader.take().at(-1) ?? '', /^501 5\.1\.7/)
  })

  test('a command line of 20 kB is 500 and the next command is accepted, one of 1 MB is cut', async () => {
    await using world = await openSmtpWorld()
    const peer = await world.connect()
    await peer.reply()
    const [long, noop] = await peer.dialogue(`NOOP ${'x'.repeat(20_000)}`, 'NOOP')
    assert.match(long ?? '', /^500 5\.5\.2/)
    assert.match(noop ?? '', /^250/)
    peer.send('x'.repeat(1_000_000))
    assert.match(await peer.reply(), /^421/)
    assert.deepEqual(await peer.end(), [])
  })
})

describe('counts', () => {
  test('recipients beyond the limit are 452 and the message goes to the others', () => {
    const peer = new MemoryPeer({ limits: { recipientsMax: 3 } })
    const rcpt = 'RCPT TO:<u@x.example>\r\n'
    peer.send(`EHLO c\r\nMAIL FROM:<a@b.example>\r\n${rcpt.repeat(5)}DATA\r\n.\r\n`)
    const codes = peer.reader.take().map((reply) => reply.slice(0, 3))
    assert.deepEqual(codes.slice(3), ['250', '250', '250', '452', '452', '354', '250'])
    assert.equal(peer.receiver.received[0]?.envelope.recipients.length, 3)
  })

  for (const junk of ['NOOP', 'RSET', 'HELP', 'VRFY u', 'EHLO c', 'FOO', 'RCPT TO:<>', '']) {
    test(`of ${JSON.stringify(junk)} 100 are answered, then 421`, async () => {
      const peer = new MemoryPeer()
      for (let n = 0; n < 100; n += 1) peer.send(`${junk}\r\n`)
      const answers = peer.reader.take()
      assert.equal(answers.length, 101)
      assert.ok(!answers.at(-1)?.startsWith('421'))
      peer.send(`${junk}\r\n`)
      const [last, ...more] = await peer.end()
      assert.match(last ?? '', /^421 4\.7\.0/)
      assert.deepEqual(more, [])
    })
  }

  test('refused messages count as useless commands, too', async () => {
    const peer = new MemoryPeer({ limits: { idleCommandsMax: 10 } })
    peer.send('EHLO c\r\n')
    const mail = 'MAIL FROM:<>\r\nRCPT TO:<u@x.example>\r\nDATA\r\nREFUSE\r\n.\r\n'
    for (let n = 0; n < 20; n += 1) peer.send(mail)
    const answers = await peer.end()
    assert.equal(answers.filter((answer) => answer.startsWith('550')).length, 10)
    assert.match(answers.at(-1) ?? '', /^421/)
  })

  test('an accepted mail in between resets the count of useless commands', () => {
    const peer = new MemoryPeer()
    for (let n = 0; n < 300; n += 1) {
      peer.send('EHLO c\r\nRSET\r\nMAIL FROM:<>\r\nRCPT TO:<u@x.example>\r\nDATA\r\n.\r\n')
    }
    assert.equal(peer.receiver.received.length, 300)
  })

  test('20 refused recipients get their replies, then 421', async () => {
    const peer = new MemoryPeer()
    peer.send('EHLO c\r\nMAIL FROM:<a@b.example>\r\n')
    peer.reader.take()
    peer.send('RCPT TO:<nobody@x.example>\r\n'.repeat(25))
    const answers = await peer.end()
    assert.equal(answers.length, 21)
    assert.ok(answers.slice(0, 20).every((answer) => answer.startsWith('550 5.1.1')))
    assert.match(answers[20] ?? '', /^421 4\.7\.0/)
  })
})

describe('deadlines', () => {
  const TWENTY_SECONDS = 20_000

  function passTime(peer: MemoryPeer, ms: number): void {
    peer.clock.advance(ms)
    peer.dialogue.checkDeadlines(peer.clock.monotonic())
  }

  test('octets of a command now and then do not extend the five minutes', async () => {
    const peer = new MemoryPeer()
    let passedMs = 0
    while (!peer.reader.isClosed && passedMs < 3_600_000) {
      peer.send('x')
      passTime(peer, TWENTY_SECONDS)
      passedMs += TWENTY_SECONDS
    }
    assert.equal(passedMs, 300_000)
    assert.match((await peer.end()).at(-1) ?? '', /^421 4\.4\.2/)
  })

  test('DATA slower than 500 octets a second is cut after a minute', async () => {
    for (const [bytes, isCut] of [
      [9_900, true],
      [10_100, false],
    ] as const) {
      const peer = memoryData({})
      for (let n = 0; n < 3; n += 1) {
        peer.send('x'.repeat(bytes))
        passTime(peer, TWENTY_SECONDS)
      }
      assert.equal(peer.reader.isClosed, isCut)
      if (!isCut) continue
      assert.match((await peer.end()).at(-1) ?? '', /^421 4\.4\.2/)
      assert.equal(peer.intake.counts.heldBytes, 0)
      assert.equal(peer.outcomes.at(-1)?.kind, 'message-aborted')
    }
  })

  test('a fast start does not allow a standstill later', () => {
    const peer = memoryData({})
    peer.send('x'.repeat(1_000_000))
    passTime(peer, 60_000)
    passTime(peer, 60_000)
    assert.ok(peer.reader.isClosed)
  })

  test('a connection lasts at most 20 minutes, busy or not', async () => {
    const peer = new MemoryPeer()
    for (let n = 0; n < 59; n += 1) {
      peer.send('NOOP\r\n')
      passTime(peer, TWENTY_SECONDS)
    }
    assert.ok(!peer.reader.isClosed)
    passTime(peer, TWENTY_SECONDS)
    assert.match((await peer.end()).at(-1) ?? '', /^421 4\.4\.2/)
  })

  test('a message being stored gets its real reply, however long that takes', async () => {
    const gate = Promise.withResolvers<void>()
    const peer = memoryData({})
    peer.receiver.gate = gate.promise
    peer.send('x\r\n.\r\n')
    passTime(peer, 21 * 60_000)
    gate.resolve()
    assert.match(await peer.reply(), /^250/)
  })

  test('the listener checks its sockets periodically', async () => {
    await using world = await openSmtpWorld()
    const peer = await world.connect()
    await peer.reply()
    world.clock.advance(300_000)
    world.server.sweep()
    const [last] = await peer.end()
    assert.match(last ?? '', /^421 4\.4\.2/)
  })
})

const ANOTHER = '198.51.100.7'

describe('memory', () => {
  test('past the budget of all connections a message is 452 after its real end', () => {
    const peer = memoryData({ limits: { intakeBytesMax: 10_000 } })
    peer.intake.counts.hold(ANOTHER, 5_000)
    peer.send('x'.repeat(6_000))
    assert.equal(peer.intake.counts.heldBytes, 5_000)
    peer.send('\r\n.\r\nNOOP\r\n')
    assert.deepEqual(
      peer.reader.take().map((reply) => reply.slice(0, 9)),
      ['452 4.3.1', '250 2.0.0'],
    )
    assert.equal(peer.receiver.received.length, 0)
  })

  test('DATA is refused while the budget is used up', () => {
    const peer = new MemoryPeer({ limits: { intakeBytesMax: 10_000 } })
    peer.intake.counts.hold(ANOTHER, 10_000)
    peer.send('EHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<u@x.example>\r\nDATA\r\n')
    assert.match(peer.reader.take().at(-1) ?? '', /^452 4\.3\.1/)
  })

  test('a message counts against the budget until it is stored', async () => {
    const gate = Promise.withResolvers<void>()
    const peer = memoryData({})
    peer.receiver.gate = gate.promise
    peer.send(`${'x'.repeat(998)}\r\n.\r\n`)
    assert.equal(peer.intake.counts.heldBytes, 1_000)
    peer.dialogue.close()
    assert.equal(peer.intake.counts.heldBytes, 1_000)
    gate.resolve()
    await gate.promise
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(peer.intake.counts.heldBytes, 0)
    assert.equal(peer.outcomes.at(-1)?.kind, 'message-accepted')
  })

  test("while the receiver decides, the client's later input is not read", () => {
    const peer = memoryData({})
    peer.receiver.gate = new Promise(() => {})
    peer.send('x\r\n.\r\n')
    assert.ok(peer.isReading)
    peer.send('NOOP\r\n')
    assert.ok(!peer.isReading)
  })

  test('a client that never reads costs no memory and is closed', async () => {
    await using world = await openSmtpWorld({ limits: { idleCommandsMax: 1_000_000 } })
    const peer = await world.connect()
    await peer.reply()
    peer.socket.pause()
    const before = process.memoryUsage().rss
    for (let n = 0; n < 400; n += 1) {
      if (!peer.socket.write('HELP\r\n'.repeat(5_000))) await new Promise((r) => setTimeout(r, 1))
    }
    assert.ok(process.memoryUsage().rss - before < 40_000_000)
    world.clock.advance(300_000)
    world.server.sweep()
    world.clock.advance(10_000)
    world.server.sweep()
    while (world.server.stats().connections > 0) await new Promise((r) => setImmediate(r))
  })
})
