// Replies of a server (RFC 5321 §4.2): whole, in pieces, and malformed.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  parseExtensions,
  REPLY_BYTES_MAX,
  REPLY_LINE_BYTES_MAX,
  REPLY_LINES_MAX,
  ReplyDecoder,
  splitEnhancedCode,
} from '#smtp/reply.ts'

/** Each reply as `code text|text`, a defect by its name; ends at the first defect. */
function decode(...chunks: (string | Buffer)[]): string[] {
  const decoder = new ReplyDecoder()
  const found: string[] = []
  for (const chunk of chunks.map((one) => Buffer.from(one))) {
    for (let offset = 0; offset < chunk.length; offset = decoder.end) {
      const decoded = decoder.decode(chunk, offset)
      if (decoded === null) break
      if (decoded.kind === 'malformed') return [...found, decoded.defect]
      found.push(`${decoded.reply.code} ${decoded.reply.lines.join('|')}`)
    }
  }
  return decoder.isWithinReply ? [...found, 'unfinished'] : found
}

describe('a reply', () => {
  const cases: [name: string, octets: string, replies: string[]][] = [
    ['is a code and a text', '250 2.1.0 Ok\r\n', ['250 2.1.0 Ok']],
    ['may have no text', '250 \r\n', ['250 ']],
    ['may have no text and no space', '250\r\n', ['250 ']],
    ['may have several lines', '250-a\r\n250-\r\n250 c\r\n', ['250 a||c']],
    ['follows another in one chunk', '250 a\r\n354 b\r\n', ['250 a', '354 b']],
    ['may end its lines in LF alone', '250-a\n250 b\n', ['250 a|b']],
    ['may have a code of no known class', '999 what\r\n', ['999 what']],
    ['has its octets beyond ASCII read as UTF-8', '550 Süß\r\n', ['550 Süß']],
    ['loses what could do harm', '550 a\x1b[2J\u202eb\0c\td\r\n', ['550 a?[2J?b?c d']],
    ['is unfinished without its line end', '250 a\r\n250 b', ['250 a', 'unfinished']],
    ['is unfinished without its last line', '250-a\r\n', ['unfinished']],
    ['has three digits', '25 a\r\n', ['syntax']],
    ['has a code of digits', '2x0 a\r\n', ['syntax']],
    ['has no code below 100', '050 a\r\n', ['syntax']],
    ['has a space or hyphen behind its code', '250_a\r\n', ['syntax']],
    ['has a longer number for no code', '2500 a\r\n', ['syntax']],
    ['is no empty line', '\r\n', ['syntax']],
    ['is no line of HTTP', 'HTTP/1.1 400 Bad Request\r\n', ['syntax']],
    ['has one code on all lines', '250-a\r\n550 b\r\n', ['codes-differ']],
  ]
  for (const [name, octets, replies] of cases) {
    test(name, () => {
      assert.deepEqual(decode(octets), replies)
      assert.deepEqual(decode(...octets.split(/(?<=.)/s).map((one) => Buffer.from(one))), replies)
    })
  }

  test('has lines up to the limit and no longer', () => {
    const longest = `250 ${'x'.repeat(REPLY_LINE_BYTES_MAX - 6)}\r\n`
    assert.equal(decode(longest)[0]?.length, REPLY_LINE_BYTES_MAX - 2)
    assert.deepEqual(decode(longest.replace('x', 'xx')), ['line-too-long'])
    assert.deepEqual(decode('250 ', ...Array(40).fill('x'.repeat(100))), ['line-too-long'])
  })

  test('has lines up to their limit in number and in octets', () => {
    const most = '250-x\r\n'.repeat(REPLY_LINES_MAX - 1)
    assert.equal(decode(`${most}250 x\r\n`)[0]?.split('|').length, REPLY_LINES_MAX)
    assert.deepEqual(decode(`${most}250-x\r\n250 x\r\n`), ['reply-too-long'])
    const wide = `250-${'x'.repeat(2_000)}\r\n`
    assert.deepEqual(decode(wide.repeat(REPLY_BYTES_MAX / 2_000 + 1)), ['reply-too-long'])
  })

  test('is the same for any segmentation, and random octets cause no exception', () => {
    const piece = fc.oneof(
      fc.constantFrom('250 ok\r\n', '250-', '250', ' ', '-', '\r\n', '\n', '\r', '421 x\r\n', 'ü'),
      fc.string({ maxLength: 5 }),
    )
    fc.assert(
      fc.property(fc.array(piece), fc.array(fc.nat(9)), (pieces, cuts) => {
        const octets = Buffer.from(pieces.join(''))
        const chunks: Buffer[] = []
        let at = 0
        for (const cut of cuts) {
          chunks.push(octets.subarray(at, at + cut))
          at += cut
        }
        chunks.push(octets.subarray(at))
        assert.deepEqual(decode(...chunks), decode(octets))
      }),
    )
  })
})

describe('an enhanced status code', () => {
  const cases: [code: number, lines: string[], enhanced: string | null, text: string][] = [
    [550, ['5.1.1 No such user'], '5.1.1', 'No such user'],
    [250, ['2.0.0'], '2.0.0', ''],
    [550, ['5.7.26 a', '5.7.26 b'], '5.7.26', 'a\nb'],
    [550, ['5.1.1 a', 'b'], '5.1.1', 'a\nb'],
    [550, ['No 5.1.1 here'], null, 'No 5.1.1 here'],
    [450, ['5.1.1 of another class'], null, '5.1.1 of another class'],
    [550, ['5.1.1.1 is none'], null, '5.1.1.1 is none'],
    [550, ['5.1234.1 is none'], null, '5.1234.1 is none'],
    [354, ['2.0.0 Go'], null, '2.0.0 Go'],
  ]
  for (const [code, lines, enhanced, text] of cases) {
    test(`${code} ${lines.join(' | ')} gives ${enhanced}`, () => {
      assert.deepEqual(splitEnhancedCode({ code, lines }), { enhanced, text })
    })
  }
})

describe('the reply to EHLO', () => {
  test('offers the extensions of its lines, in any case', () => {
    const lines = ['mx.example greets', 'pipelining', 'Size 1000', '8BITMIME', 'AUTH plain LOGIN']
    assert.deepEqual(parseExtensions([...lines, 'AUTH=LOGIN CRAM-MD5', 'SMTPUTF8']), {
      pipelining: true,
      eightBitMime: true,
      smtpUtf8: true,
      starttls: false,
      size: 1000,
      isSizeOffered: true,
      enhancedStatusCodes: false,
      auth: ['PLAIN', 'LOGIN', 'CRAM-MD5'],
    })
  })

  test('offers nothing in the line of its name', () => {
    assert.equal(parseExtensions(['PIPELINING', 'STARTTLS']).pipelining, false)
    assert.equal(parseExtensions(['PIPELINING', 'STARTTLS']).starttls, true)
  })

  for (const size of ['SIZE', 'SIZE 0', 'SIZE x', 'SIZE -1', 'SIZE 1e3']) {
    test(`sets no limit with ${size}`, () => {
      const { size: limit, isSizeOffered } = parseExtensions(['mx', size])
      assert.deepEqual([limit, isSizeOffered], [null, true])
    })
  }
})
