import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDateTime } from '#message-headers.ts'
import { cpuTimeMs } from './samples.ts'

const CASES: [string, string | null][] = [
  ['Fri, 20 Nov 2026 07:19:00 +0000', '2026-11-20T07:19:00.000Z'],
  ['20 Nov 2026 09:19 +0200', '2026-11-20T07:19:00.000Z'],
  ['Fri, 20 Nov 2026 01:49:05 -0530 (comment)', '2026-11-20T07:19:05.000Z'],
  ['Fri, 20 Nov 26 07:19:00 GMT', '2026-11-20T07:19:00.000Z'],
  ['1 Jan 99 00:00:00 EST', '1999-01-01T05:00:00.000Z'],
  ['1 Jan 2026 00:00:00', '2026-01-01T00:00:00.000Z'],
  ['31 Dec 2025 23:59:60 +0000', '2025-12-31T23:59:59.000Z'],
  ['31 Feb 2026 00:00:00 +0000', null],
  ['1 Foo 2026 00:00:00 +0000', null],
  ['1 Jan 2026 25:00:00 +0000', null],
  ['', null],
  ['yesterday', null],
]

for (const [field, expected] of CASES) {
  test(`the date "${field}" is ${expected}`, () => {
    const time = parseDateTime(field)
    assert.equal(time === null ? null : new Date(time).toISOString(), expected)
  })
}

test('a date field of any length is read in no time', () => {
  const start = cpuTimeMs()
  parseDateTime('1 '.repeat(200_000))
  parseDateTime(`1 Jan 2026${' '.repeat(200_000)}`)
  assert.ok(cpuTimeMs() - start < 2_000)
})
