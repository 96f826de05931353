// The report of a run: what failed can be found, also where the runner does not say in which file.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { TestEvent } from 'node:test/reporters'
import { FileLines } from '#test/file-lines.ts'

const [ONE, TWO, GROUP] = ['/folder/one.test.ts', '/folder/two.test.ts', '/tmp/group-0.test.mjs']

type Result = { name: string; file: string; nesting?: number; type?: 'suite' | 'test' }

/** As the runner reports it. */
function result(kind: 'test:pass' | 'test:fail', { type = 'test', ...data }: Result): TestEvent {
  const details = { type, duration_ms: 1, error: new Error('test failed') }
  return { type: kind, data: { nesting: 0, testNumber: 1, details, ...data } } as TestEvent
}

/** The messages of a run of two files in one process, in which these fail. */
function messagesOf(failed: readonly string[]): string[] {
  const lines = new FileLines([ONE, TWO], '/folder', new Map([[GROUP, [ONE, TWO]]]))
  const kind = (name: string) => (failed.includes(name) ? 'test:fail' : 'test:pass')
  const events = [ONE, TWO].flatMap((file) => [
    result(kind(file), { name: 'a test', file, nesting: 1 }),
    result(kind(file), { name: file, file: '/folder/run-together.ts', type: 'suite' }),
  ])
  events.push(result(kind(GROUP), { name: GROUP, file: GROUP }))
  const shown = events.flatMap((event) => lines.take(event))
  assert.deepEqual(lines.missing(), [])
  return shown.flatMap((event) => (event.type === 'test:stdout' ? [event.data.message] : []))
}

suite('the report of files that share a process', () => {
  test('has a line for each file', () => {
    assert.deepEqual(messagesOf([]), [
      '✔ one.test.ts (1 of 1, 1 ms)\n',
      '✔ two.test.ts (1 of 1, 1 ms)\n',
    ])
  })

  test('names them all where something failed that is of no test', () => {
    const [, , last] = messagesOf([GROUP])
    assert.equal(
      last,
      '✖ something failed outside of the tests of one of these:\n    one.test.ts\n    two.test.ts\n',
    )
  })

  test('names only the file whose test failed where that is known', () => {
    assert.deepEqual(messagesOf([TWO, GROUP]), [
      '✔ one.test.ts (1 of 1, 1 ms)\n',
      '✖ two.test.ts (0 of 1, 1 ms)\n',
    ])
  })
})
