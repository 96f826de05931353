import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeUtf7 } from '#charset.ts'
import { decodeBase64, decodedSize, decodeQuotedPrintable } from '#mime/decode-body.ts'

test('base64 in padded units, with line ends and foreign characters, decodes to the original', () => {
  const unit = fc.uint8Array({ maxLength: 9 }).map((octets) => Buffer.from(octets))
  const stranger = fc.constantFrom('', '\r\n', '\n', ' ', '-', '\0', 'é', '\t')
  const units = fc.array(fc.tuple(unit, stranger), { maxLength: 20 })
  fc.assert(
    fc.property(units, fc.boolean(), (pieces, isLast) => {
      const encoded = pieces.map(([octets, text], index) => {
        const base64 = octets.toString('base64')
        // The padding of the last unit may be missing.
        const isBare = isLast && index === pieces.length - 1
        return `${base64.slice(0, 3)}${text}${isBare ? base64.slice(3).replaceAll('=', '') : base64.slice(3)}`
      })
      const decoded = decodeBase64(Buffer.from(encoded.join(''), 'latin1'))
      assert.deepEqual(decoded, Buffer.concat(pieces.map(([octets]) => octets)))
      const size = decodedSize(Buffer.from(encoded.join(''), 'latin1'), 'base64')
      assert.equal(size, decoded.length)
    }),
    { numRuns: 2_000 },
  )
})

test('quoted-printable keeps hard line ends and drops soft ones', () => {
  const cases = [
    ['a\r\nb\nc\rd\r\r\n', 'a\r\nb\nc\rd\r\r\n'],
    ['a=\r\nb=\nc=\r\r\nd=', 'abcd'],
    ['=0D=0A=0d=0a', '\r\n\r\n'],
    ['=ZZ=4 =\rx', '=ZZ=4 =\rx'],
    ['a \r\n', 'a \r\n'],
  ] as const
  for (const [encoded, expected] of cases) {
    assert.equal(decodeQuotedPrintable(Buffer.from(encoded)).toString('latin1'), expected)
  }
})

test('UTF-7 of any length is decoded as a whole', () => {
  for (const sequence of ['+AOk-', '+AOk.', 'x+AOkA6Q-', '+-', '+AOk-/']) {
    const once = decodeUtf7(Buffer.from(sequence))
    for (const offset of [0, 1, 2, 3, 4]) {
      const text = 'x'.repeat(offset) + sequence.repeat(40_000)
      assert.ok(
        decodeUtf7(Buffer.from(text)) === 'x'.repeat(offset) + once.repeat(40_000),
        sequence,
      )
    }
  }
})
