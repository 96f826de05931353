import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryPeer, openSmtpWorld } from '#test/smtp-world.ts'

const ENDS = [
  '\n.\n',
  '\n.\r\n',
  '\r\n.\n',
  '\r.\r',
  '\r.\r\n',
  '\r\n.\r',
  '\r.\n',
  '\n.\r',
  '\r\n\0.\r\n',
  '\r\n.\0\r\n',
  '\r\n.\v\r\n',
  '\r\n.\f\r\n',
  '\r\n\x85.\r\n',
  '\r\n.\x85\r\n',
  '\r\n .\r\n',
  '\r\n. \r\n',
  '\r\n..\r\n',
  '\r\n.\r\r\n',
  '\n\n.\r\n',
  '\r\n.\n.\r\n',
  '\n..\r\n',
]
const INJECTED =
  'MAIL FROM:<evil@b.example>\r\nRCPT TO:<u2@x.example>\r\nDATA\r\nSubject: evil\r\n\r\nevil'
const OPENING =
  'EHLO client.example\r\nMAIL FROM:<a@b.example>\r\nRCPT TO:<u@x.example>\r\nDATA\r\n'

type Send = (peer: { send(bytes: Buffer): void }, bytes: Buffer, end: string) => void
const SEGMENTATIONS: Record<string, Send> = {
  whole: (peer, bytes) => peer.send(bytes),
  'octet by octet': (peer, bytes) => {
    for (const byte of bytes) peer.send(Buffer.of(byte))
  },
  'split within the sequence': (peer, bytes, end) => {
    const dot = bytes.indexOf(Buffer.from(end, 'latin1')) + end.indexOf('.')
    for (const piece of [
      bytes.subarray(0, dot),
      bytes.subarray(dot, dot + 1),
      bytes.subarray(dot + 1),
    ]) {
      peer.send(piece)
    }
  },
}

for (const [name, send] of Object.entries(SEGMENTATIONS)) {
  describe(`sent ${name}`, () => {
    for (const end of ENDS) {
      for (const [position, before] of [
        ['at the start', ''],
        ['after text', 'Subject: x\r\n\r\nhello'],
      ] as const) {
        test(`${JSON.stringify(end)} ${position} begins no second transaction`, async () => {
          const peer = new MemoryPeer()
          const body = `${before}${end}${INJECTED}\r\n.\r\nQUIT\r\n`
          send(peer, Buffer.from(OPENING + body, 'latin1'), end)
          const codes = (await peer.end()).map((reply) => reply.slice(-200).match(/^\d+/)?.[0])
          assert.equal(peer.receiver.checked.length, 1)
          assert.equal(codes.length, 7)
          assert.equal(codes[6], '221')
          const [message, ...more] = peer.receiver.received
          assert.equal(more.length, 0)
          if (/\r(?!\n)/.test(end + INJECTED[0])) {
            assert.equal(codes[5], '550')
            assert.equal(message, undefined)
          } else {
            assert.equal(codes[5], '250')
            const stored = message?.content.toString('latin1') ?? ''
            assert.ok(stored.includes('evil'))
            assert.doesNotMatch(stored, /(?<!\r)\n|\r(?!\n)/)
          }
        })
      }
    }
  })
}

test('a first line of two dots is content even when it is cut between the dots', async () => {
  const peer = new MemoryPeer()
  peer.send(`${OPENING}.`)
  peer.send('.\r\n')
  peer.send('.\r\nNOOP\r\n')
  assert.equal(peer.receiver.received[0]?.content.toString(), '.\r\n')
  assert.match(peer.reader.take().at(-1) ?? '', /^250 2\.0\.0 OK/)
})

test('octets are unchanged, and a bare LF that became CRLF is counted', async () => {
  await using world = await openSmtpWorld()
  const peer = await world.connect()
  await peer.reply()
  await peer.dialogue('EHLO c', 'MAIL FROM:<a@b.example> BODY=8BITMIME', 'RCPT TO:<u@x.example>')
  await peer.dialogue('DATA')
  const sent = Buffer.from(Array.from({ length: 256 }, (_, octet) => octet).filter((o) => o !== 13))
  peer.send(Buffer.concat([sent, Buffer.from('\r\n.\r\n')]))
  assert.match(await peer.reply(), /^250/)
  const [message] = world.receiver.received
  const expected = Buffer.from(`${sent.toString('latin1').replace('\n', '\r\n')}\r\n`, 'latin1')
  assert.deepEqual(message?.content, expected)
  assert.equal(message?.bareLineFeeds, 1)
})
