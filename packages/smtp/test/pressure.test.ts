import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reply } from '@mailroom/mail/smtp/reply.ts'
import { RecordingReceiver } from './recording-receiver.ts'
import { MemoryPeer, openSmtpWorld } from './smtp-world.ts'

const LATER = reply(451, '4.3.0', 'Later')
const ENVELOPE = 'EHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<u@x.example>\r\n'

describe('a receiver that is overloaded', () => {
  test('defers MAIL, and DATA of earlier transactions, and accepts the next attempt', () => {
    const stages: string[] = []
    let refused = ''
    const receiver = Object.assign(new RecordingReceiver(), {
      findObstacle(stage: string, underWay: number) {
        stages.push(`${stage} ${underWay}`)
        return stage === refused ? LATER : null
      },
    })
    const peer = new MemoryPeer({ receiver })
    refused = 'sender'
    peer.send('EHLO c\r\nMAIL FROM:<>\r\n')
    assert.match(peer.reader.take().at(-1) ?? '', /^451 4\.3\.0/)
    refused = 'content'
    peer.send('MAIL FROM:<>\r\nRCPT TO:<u@x.example>\r\nDATA\r\n')
    assert.deepEqual(
      peer.reader.take().map((line) => line.slice(0, 3)),
      ['250', '250', '451'],
    )
    refused = ''
    peer.send('MAIL FROM:<>\r\nRCPT TO:<u@x.example>\r\nDATA\r\nx\r\n.\r\n')
    assert.equal(peer.reader.take().at(-1)?.slice(0, 3), '250')
    assert.equal(peer.receiver.received.length, 1)
    assert.equal(peer.intake.messages, 0)
    assert.deepEqual(stages, ['sender 0', 'sender 0', 'content 0', 'sender 0', 'content 0'])
    const refusals = peer.outcomes.filter(({ kind }) => kind === 'message-refused')
    assert.equal(refusals.length, 2)
  })

  test('refuses further connections at the greeting', async () => {
    await using world = await openSmtpWorld({ limits: { strainedConnectionsMax: 1 } })
    let isStrained = true
    Object.assign(world.receiver, { isStrained: () => isStrained })
    const first = await world.connect()
    assert.match(await first.reply(), /^220/)
    const second = await world.connect()
    assert.match(await second.reply(), /^421 4\.3\.2/)
    isStrained = false
    const third = await world.connect()
    assert.match(await third.reply(), /^220/)
  })
})

describe('memory that one address fills', () => {
  test('is refused to it at DATA or at the real end, and left to others', () => {
    const limits = { intakeBytesMax: 100_000, intakeBytesPerAddressMax: 10_000 }
    const full = new MemoryPeer({ limits })
    full.intake.counts.hold('192.0.2.1', 10_000)
    full.send(`${ENVELOPE}DATA\r\n`)
    assert.match(full.reader.take().at(-1) ?? '', /^452 4\.3\.1/)
    full.intake.counts.hold('192.0.2.1', -5_000)
    full.send('DATA\r\n')
    full.send('x'.repeat(6_000))
    assert.equal(full.intake.counts.heldBytesOf('192.0.2.1'), 5_000)
    full.send('\r\n.\r\n')
    assert.match(full.reader.take().at(-1) ?? '', /^452 4\.3\.1/)
    const other = new MemoryPeer({ limits })
    other.intake.counts.hold('192.0.2.9', 10_000)
    other.send(`${ENVELOPE}DATA\r\nx\r\n.\r\n`)
    assert.match(other.reader.take().at(-1) ?? '', /^250/)
    assert.equal(other.intake.counts.heldBytes, 10_000)
  })
})
