import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { derivedId, idMaker, idTimeMs, isIdOf, lowestIdAt } from '#platform/ids.ts'

describe('identifiers', () => {
  // The example of the TypeID specification: the UUID 01890a5d-ac96-774b-bcce-b302099a8057.
  const EXAMPLE = 'msg_01h455vb4pex5vsknk084sn02q'
  const EXAMPLE_MS = 0x01890a5dac96
  const EXAMPLE_COUNTER = 0x74b
  const random = Uint8Array.from(Buffer.from('bcceb302099a8057', 'hex'))

  test('are TypeIDs of a UUIDv7', () => {
    const makeId = idMaker({ now: () => EXAMPLE_MS } as never, { bytes: () => random })
    for (let count = 0; count < EXAMPLE_COUNTER; count++) makeId('msg')
    assert.equal(makeId('msg'), EXAMPLE)
    assert.equal(idTimeMs(EXAMPLE), EXAMPLE_MS)
  })

  test('follow from a digest, with the time of another', () => {
    const digest = Uint8Array.from(Buffer.from('ffffffffffff074b3cceb302099a8057ffff', 'hex'))
    assert.equal(derivedId('msg', lowestIdAt('acc', EXAMPLE_MS), digest), EXAMPLE)
  })

  test('sort in the order in which they were made, also while the clock stands still or steps back', () => {
    let nowMs = EXAMPLE_MS
    const makeId = idMaker({ now: () => nowMs } as never, {
      bytes: () => crypto.getRandomValues(new Uint8Array(8)),
    })
    const ids: string[] = []
    for (const stepMs of [0, 1, -5, 2 ** 40]) {
      nowMs += stepMs
      for (let count = 0; count < 5_000; count++) ids.push(makeId('evt'))
    }
    assert.deepEqual(ids.toSorted(), ids)
    assert.equal(new Set(ids).size, ids.length)
    assert.ok(ids.every((id) => isIdOf('evt', id)))
    assert.equal(idTimeMs(ids.at(-5_000) ?? ''), nowMs)
  })
})
