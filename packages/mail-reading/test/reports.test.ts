import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readReport } from '#report/read-report.ts'
import { samplesIn } from '#test/samples-in.ts'

for (const { name, raw, expected } of samplesIn(new URL('reports/', import.meta.url))) {
  test(`a message is read as the report that it is, or as none: ${name.replaceAll('-', ' ')}`, () => {
    const hasNullSender = raw.toString().startsWith('Return-Path: <>')
    assert.deepEqual(readReport(raw, { hasNullSender }), expected)
  })
}
