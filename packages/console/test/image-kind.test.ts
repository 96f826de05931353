import assert from 'node:assert/strict'
import { test } from 'node:test'
import { imageKind } from '#data/image-kind.ts'

const bytes = (...parts: readonly (string | readonly number[])[]) =>
  Uint8Array.from(
    parts.flatMap((part) =>
      typeof part === 'string' ? [...part].map((sign) => sign.charCodeAt(0)) : [...part],
    ),
  )
const padded = (start: Uint8Array) => Uint8Array.from({ ...start, length: start.length + 32 })

test('a picture is known by its first bytes, with its size', () => {
  const cases: [string, number, number, Uint8Array][] = [
    [
      'image/png',
      640,
      480,
      bytes('\x89PNG\r\n\x1a\n', [0, 0, 0, 13], 'IHDR', [0, 0, 2, 0x80, 0, 0, 1, 0xe0]),
    ],
    ['image/gif', 640, 480, bytes('GIF89a', [0x80, 2, 0xe0, 1])],
    [
      'image/jpeg',
      640,
      480,
      // An application segment of 6 bytes, fill, then the frame header.
      bytes(
        '\xff\xd8',
        [0xff, 0xe0, 0, 6, 1, 2, 3, 4, 0xff, 0xff, 0xc2, 0, 17, 8, 1, 0xe0, 2, 0x80],
      ),
    ],
    [
      'image/webp',
      640,
      480,
      bytes('RIFF', [0, 0, 0, 0], 'WEBPVP8X', [10, 0, 0, 0, 0, 0, 0, 0, 0x7f, 2, 0, 0xdf, 1, 0]),
    ],
    [
      'image/webp',
      640,
      480,
      bytes('RIFF', [0, 0, 0, 0], 'WEBPVP8 ', new Array(10).fill(0), [0x80, 2, 0xe0, 1]),
    ],
    [
      'image/webp',
      640,
      480,
      // 14 bits of width less one, then 14 of height less one.
      bytes('RIFF', [0, 0, 0, 0], 'WEBPVP8L', [0, 0, 0, 0, 0x2f, 0x7f, 0xc2, 0x77, 0]),
    ],
  ]
  for (const [type, width, height, start] of cases) {
    assert.deepEqual(imageKind(padded(start)), { type, width, height })
  }
})

test('no document is a picture, and a cut picture has no size or is none', () => {
  for (const text of [
    '',
    '<svg xmlns="http://www.w3.org/2000/svg"/>',
    '<html>',
    '%PDF-1.7',
    'BM',
    'GIF8',
  ])
    assert.equal(imageKind(bytes(text)), null, text)
  assert.equal(imageKind(bytes('\x89PNG\r\n\x1a\n')), null)
  assert.deepEqual(imageKind(bytes('\xff\xd8\xff\xe0')), {
    type: 'image/jpeg',
    width: null,
    height: null,
  })
  // A segment that claims to have no length must not be read for ever.
  assert.equal(imageKind(padded(bytes('\xff\xd8\xff\xe0', [0, 0])))?.width, null)
})
