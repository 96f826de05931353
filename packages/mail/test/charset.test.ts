import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cleanLine, cleanText } from '#charset.ts'

test('clean text has no NUL and no lone surrogate, and is otherwise unchanged', () => {
  assert.equal(cleanText('a\0b\ud800c\udc00'), 'ab\ufffdc\ufffd')
  assert.equal(cleanText('😀\t\r\n\x07\u202e'), '😀\t\r\n\x07\u202e')
})

test('a clean line has no control character and no space around it', () => {
  assert.equal(cleanLine(' a\r\n\tb\x07\x7f\0 '), 'a b')
})

test('cleaning twice has the effect of cleaning once', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      for (const clean of [cleanText, cleanLine]) {
        assert.equal(clean(clean(text)), clean(text))
        assert.ok(clean(text).isWellFormed() && !clean(text).includes('\0'))
      }
    }),
  )
})
