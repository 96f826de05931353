// A message to the octets after DATA (RFC 5321 §4.5.2) and back by the decoder of the other side.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { DataDecoder, endOfData, inspectContent, stuffDots } from '#smtp/data.ts'

describe('the content of a message', () => {
  const cases: [raw: string, isCrlfOnly: boolean, isEightBit: boolean, needsStuffing: boolean][] = [
    ['', true, false, false],
    ['a\r\n', true, false, false],
    ['a', true, false, false],
    ['.', true, false, true],
    ['a\r\n.b\r\n', true, false, true],
    ['a.b\r\n', true, false, false],
    ['a\nb\r\n', false, false, false],
    ['\n', false, false, false],
    ['a\rb\r\n', false, false, false],
    ['a\r\r\n', false, false, false],
    ['a\r', false, false, false],
    ['a\r\n\n', false, false, false],
    ['ü\r\n', true, true, false],
  ]
  for (const [raw, isCrlfOnly, isEightBit, needsStuffing] of cases) {
    test(`${JSON.stringify(raw)} is measured before it is sent`, () => {
      const facts = inspectContent(Buffer.from(raw))
      assert.equal(facts.isCrlfOnly, isCrlfOnly)
      if (!isCrlfOnly) return
      assert.deepEqual([facts.isEightBit, facts.needsStuffing], [isEightBit, needsStuffing])
    })
  }

  test('is counted with the line end that it lacks', () => {
    const sizes = ['', 'a', 'a\r\n', '.'].map((raw) => inspectContent(Buffer.from(raw)).sizeBytes)
    assert.deepEqual(sizes, [0, 3, 3, 3])
  })

  test('is the same after encoding and decoding, for any segmentation', () => {
    const piece = fc.constantFrom('.', '..', '\r\n', '\r\n.', '\r\n.\r\n', 'x', 'ü', 'a line\r\n')
    fc.assert(
      fc.property(fc.array(piece), fc.integer({ min: 1, max: 9 }), (pieces, step) => {
        const raw = Buffer.from(pieces.join(''))
        const decoder = new DataDecoder()
        for (let from = 0; from < raw.length; from += step) {
          const block = stuffDots(raw, from, Math.min(from + step, raw.length))
          decoder.decode(Buffer.from(block), 0)
          assert.equal(decoder.isComplete, false)
        }
        decoder.decode(Buffer.from(endOfData(raw)), 0)
        assert.equal(decoder.isComplete, true)
        const end = raw.length > 0 && raw.at(-1) !== 10 ? '\r\n' : ''
        assert.equal(Buffer.concat(decoder.chunks).toString(), raw.toString() + end)
      }),
    )
  })

  test('is not copied if no line begins with a dot', () => {
    const raw = Buffer.from('a.\r\nb..\r\n')
    assert.equal(stuffDots(raw, 2, 9).buffer, raw.buffer)
  })
})
