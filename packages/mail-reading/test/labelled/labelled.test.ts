import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { CLASSES, halfOf } from './cases.ts'

for (const [name, cases] of Object.entries(CLASSES)) {
  describe(`${name} are read as labelled`, () => {
    for (const one of halfOf(cases, 'development')) {
      test(one.name, () => assert.deepEqual(one.found(), one.expected))
    }

    test('three of four that are held out, at least', () => {
      const heldOut = halfOf(cases, 'held out')
      const wrong = heldOut.filter(({ found, expected }) => !isDeepStrictEqual(found(), expected))
      assert.ok(wrong.length <= heldOut.length / 4, wrong.map((one) => one.name).join('\n'))
    })
  })
}
