import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addFailure, failureOf, type Trouble, waitAfter } from '#queue/trouble.ts'

test('the waits of work that fails double from ten seconds up to an hour, in passing trouble to five minutes', () => {
  const waitsOf = (isPassing: boolean) => {
    const waits: number[] = []
    let trouble: Trouble | null = null
    for (let count = 0; count < 11; count++) {
      const failure = { ...failureOf(new Error('secret')), isPassing }
      trouble = addFailure(trouble, failure, 1_000 + count)
      waits.push(waitAfter(trouble, failure) / 1_000)
    }
    assert.deepEqual(
      [trouble?.attempts, trouble?.faults, trouble?.sinceMs],
      [11, isPassing ? 0 : 11, 1_000],
    )
    assert.doesNotMatch(trouble?.message ?? '', /secret/)
    return waits
  }
  assert.deepEqual(waitsOf(false), [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600])
  assert.deepEqual(waitsOf(true), [10, 20, 40, 80, 160, 300, 300, 300, 300, 300, 300])
})
