import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CommandDecoder, type DecodedLine, parseCommand } from '@mailroom/mail/smtp/command.ts'
import { DataDecoder } from '@mailroom/mail/smtp/data.ts'
import fc from 'fast-check'
import { cpuTimeMs } from '#test/samples.ts'
import { modelData } from '#test/smtp/data-model.ts'

const LINE_BYTES_MAX = 32

/** Text of the characters that matter to line and dot decoding. */
const wireText = fc
  .array(
    fc.constantFrom('\r\n', '\r\n.', '\r\n.\r\n', '\r', '\n', '.', '..', 'a', 'bc', '\0', '\xff'),
    {
      maxLength: 24,
    },
  )
  .map((parts) => parts.join(''))
const cuts = fc.array(fc.nat(40), { maxLength: 12 })

describe('the command decoder', () => {
  test('gives the same lines for any chunks', () => {
    fc.assert(
      fc.property(wireText, cuts, (text, lengths) => {
        assert.deepEqual(
          decodeLines(cut(text, lengths)),
          decodeLines([Buffer.from(text, 'latin1')]),
        )
      }),
    )
  })

  test('names the fault of a line', () => {
    const defects = (text: string) =>
      decodeLines([Buffer.from(text, 'latin1')]).map((line) =>
        line.kind === 'line' ? line.text : line.defect,
      )
    assert.deepEqual(defects('NOOP\r\n'), ['NOOP'])
    assert.deepEqual(defects('NOOP \t\r\n'), ['NOOP'])
    assert.deepEqual(defects('NOOP\nNOOP\r\n'), ['bare-line-feed', 'NOOP'])
    assert.deepEqual(defects('a\rb\r\n'), ['bare-carriage-return'])
    assert.deepEqual(defects('NOOP\r\r\n'), ['bare-carriage-return'])
    assert.deepEqual(defects('a\rb\n'), ['bare-line-feed'])
    assert.deepEqual(defects('a\tb\r\n'), ['control-character'])
    assert.deepEqual(defects('a\0b\r\n'), ['control-character'])
    assert.deepEqual(defects('a\x7f\r\n'), ['control-character'])
    assert.deepEqual(defects('\xc3\xbc\r\n'), ['ü'])
    assert.deepEqual(defects('\xc3\r\n'), ['invalid-utf8'])
    assert.deepEqual(defects('\xef\xbb\xbfNOOP\r\n'), ['\ufeffNOOP'])
  })

  test('accepts a line of the limit, skips a longer one and ends after a flood', () => {
    const kinds = (length: number) =>
      decodeLines([Buffer.from(`${'x'.repeat(length - 2)}\r\nNOOP\r\n`)]).map((line) =>
        line.kind === 'line' ? line.text.length : line.defect,
      )
    assert.deepEqual(kinds(LINE_BYTES_MAX), [LINE_BYTES_MAX - 2, 4])
    assert.deepEqual(kinds(LINE_BYTES_MAX + 1), ['too-long', 4])
    assert.deepEqual(kinds(LINE_BYTES_MAX * 16), ['too-long', 4])
    assert.deepEqual(kinds(LINE_BYTES_MAX * 16 + 1), ['flood', 4])
  })
})

test('the command parser accepts any text', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('', 'MAIL FROM:', 'RCPT TO:', 'MAIL FROM:<a@b>', 'EHLO ', 'NOOP '),
      fc.string({ unit: 'binary', maxLength: 80 }),
      (start, rest) => {
        const command = parseCommand(start + rest)
        if (command.verb === 'refused') assert.ok(command.reply.code >= 500)
        if (command.verb === 'RCPT')
          assert.match(command.recipient, /^[^<>\r\n\0]+@|^postmaster$|^"/i)
      },
    ),
  )
})

describe('the data decoder', () => {
  test('agrees with the naive model for any text in any chunks', () => {
    fc.assert(
      fc.property(wireText, cuts, (text, lengths) => {
        const expected = modelData(text)
        const { decoder, consumed } = decodeData(cut(text, lengths))
        assert.equal(decoder.isComplete, expected.length !== null)
        if (expected.length === null) return
        assert.equal(consumed, expected.length)
        assert.equal(decoder.hasBareCarriageReturn, expected.hasBareCarriageReturn)
        if (expected.hasBareCarriageReturn) {
          assert.deepEqual(decoder.chunks, [])
          return
        }
        assert.equal(Buffer.concat(decoder.chunks).toString('latin1'), expected.content)
        assert.equal(decoder.sizeBytes, expected.content.length)
        assert.equal(decoder.heldBytes, expected.content.length)
        assert.equal(decoder.bareLineFeeds, expected.bareLineFeeds)
      }),
      { numRuns: 3_000 },
    )
  })

  test('passes large runs on without copying them', () => {
    const chunk = Buffer.from(`${'a'.repeat(70)}\r\n`.repeat(500))
    const decoder = new DataDecoder()
    decoder.decode(chunk, 0)
    decoder.decode(Buffer.from('.\r\n'), 0)
    assert.equal(decoder.chunks.length, 1)
    assert.equal(decoder.chunks[0]?.buffer, chunk.buffer)
  })

  test('splits a message of tiny chunks into a bounded number of pieces', () => {
    const text = '..\r\nx\n'.repeat(20_000)
    for (const chunks of [[Buffer.from(text)], cut(text, Array(text.length).fill(1))]) {
      const { decoder } = decodeData([...chunks, Buffer.from('.\r\n')])
      assert.ok(decoder.chunks.length <= decoder.sizeBytes / 4096 + 2, `${decoder.chunks.length}`)
    }
  })

  test('drops a discarded message, keeps counting it and still finds its end', () => {
    const decoder = new DataDecoder()
    decoder.decode(Buffer.from('abc\r\n'), 0)
    decoder.discard()
    assert.equal(decoder.heldBytes, 0)
    assert.equal(decoder.decode(Buffer.from('def\r\n.\r\nNOOP\r\n'), 0), 8)
    assert.ok(decoder.isComplete)
    assert.equal(decoder.sizeBytes, 10)
    assert.deepEqual(decoder.chunks, [])
  })

  test('spends linear time on hostile content', () => {
    for (const unit of ['\r', '\n', '..\r\n', '\r\n', '.\r', '\n.']) {
      const chunk = Buffer.alloc(1024 * 1024, unit)
      const startMs = cpuTimeMs()
      new DataDecoder().decode(chunk, 0)
      assert.ok(cpuTimeMs() - startMs < 4_000, JSON.stringify(unit))
    }
  })
})

function cut(text: string, lengths: number[]): Buffer[] {
  const bytes = Buffer.from(text, 'latin1')
  const chunks: Buffer[] = []
  let from = 0
  for (const length of lengths) {
    chunks.push(bytes.subarray(from, from + length))
    from += length
  }
  chunks.push(bytes.subarray(from))
  return chunks
}

function decodeLines(chunks: Buffer[]): DecodedLine[] {
  const decoder = new CommandDecoder(LINE_BYTES_MAX)
  const lines: DecodedLine[] = []
  for (const chunk of chunks) {
    for (let offset = 0; offset < chunk.length; offset = decoder.end) {
      const line = decoder.decode(chunk, offset)
      if (line !== null) lines.push(line)
    }
  }
  return lines
}

function decodeData(chunks: Buffer[]): { decoder: DataDecoder; consumed: number } {
  const decoder = new DataDecoder()
  let consumed = 0
  for (const chunk of chunks) {
    if (decoder.isComplete) break
    consumed += decoder.decode(chunk, 0)
  }
  return { decoder, consumed }
}
