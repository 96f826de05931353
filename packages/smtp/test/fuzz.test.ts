import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MemoryPeer } from '#test/smtp-world.ts'

const LIMITS = {
  messageBytesMax: 200,
  commandLineBytesMax: 64,
  recipientsMax: 3,
  idleCommandsMax: 20,
}

const piece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'EHLO c\r\n',
      'MAIL FROM:<a@b.example>\r\n',
      'RCPT TO:<u@x.example>\r\n',
      'DATA\r\n',
      'EHLO c\r\nMAIL FROM:<>\r\nRCPT TO:<u@x.example>\r\nDATA\r\n',
      'hello\r\n.\r\n',
      '\r\n.\r\n',
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'MAIL FROM:<ü@b> SMTPUTF8\r\n',
      'RCPT TO:<busy@x.example>\r\n',
      'RCPT TO:<crash@x.example>\r\n',
      'STARTTLS now\r\n',
      'NOOP\n',
      'QUIT\r\n',
      'RSET\r\n',
      'REFUSE\r\n.\r\n',
      'CRASH\r\n.\r\n',
      'x'.repeat(70),
      'x'.repeat(250),
      '..',
      '.',
      '\r',
      '\n',
      '\0',
    ),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 20 }) },
)
const session = fc
  .array(piece, { maxLength: 30 })
  .map((pieces) => Buffer.concat(pieces.map((one) => Buffer.from(one))))
const cuts = fc.array(fc.nat(60), { maxLength: 20 })

test('a dialogue is the same for any chunks', () => {
  fc.assert(
    fc.property(session, cuts, (bytes, lengths) => {
      const whole = new MemoryPeer({ limits: LIMITS })
      whole.send(bytes)
      const parts = new MemoryPeer({ limits: LIMITS })
      for (const part of cut(bytes, lengths)) parts.send(part)
      assert.deepEqual(parts.reader.take(), whole.reader.take())
      assert.deepEqual(parts.receiver.received, whole.receiver.received)
      assert.deepEqual(parts.outcomes, whole.outcomes)
    }),
    { numRuns: 3_000 },
  )
})

test('a dialogue is the same whether the receiver answers at once or later', async () => {
  await fc.assert(
    fc.asyncProperty(session, cuts, async (bytes, lengths) => {
      const prompt = new MemoryPeer({ limits: LIMITS })
      prompt.send(bytes)
      const late = new MemoryPeer({ limits: LIMITS })
      late.receiver.gate = Promise.resolve()
      for (const part of cut(bytes, lengths)) late.send(part)
      await settled()
      assert.deepEqual(late.reader.take(), prompt.reader.take())
      assert.deepEqual(late.receiver.received, prompt.receiver.received)
    }),
    { numRuns: 1_000 },
  )
})

test('every acknowledged message was handed over, and nothing stays in memory', async () => {
  await fc.assert(
    fc.asyncProperty(session, fc.boolean(), async (bytes, isLate) => {
      const peer = new MemoryPeer({ limits: LIMITS })
      if (isLate) peer.receiver.gate = Promise.resolve()
      peer.send(bytes)
      await settled()
      peer.dialogue.close()
      const stored = peer.reader.take().filter((reply) => reply === '250 2.0.0 Stored')
      assert.equal(peer.receiver.received.length, stored.length)
      assert.equal(peer.intake.counts.heldBytes, 0)
      for (const { content } of peer.receiver.received) {
        assert.doesNotMatch(content.toString('latin1'), /(?<!\r)\n|\r(?!\n)/)
      }
    }),
    { numRuns: 2_000 },
  )
})

function cut(bytes: Buffer, lengths: number[]): Buffer[] {
  const parts: Buffer[] = []
  let from = 0
  for (const length of lengths) {
    parts.push(bytes.subarray(from, from + length))
    from += length
  }
  return [...parts, bytes.subarray(from)]
}

/** The receiver's promises take a few microtasks each; a turn of the event loop is longer. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
