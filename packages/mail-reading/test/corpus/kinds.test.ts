import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeKinds } from './kinds.ts'
import { writtenKinds } from './written-kinds.ts'

const messages = writtenKinds()
const figures = judgeKinds(messages)
const seen = figures.differences.slice(0, 40).join('\n')

test('personal mail is called anything else at most once among 200 messages', () => {
  const { judged, wrong } = figures.personal
  assert.ok(judged >= 4_000)
  assert.ok(wrong * 200 <= judged, seen)
})

test('mail of lists, programs and reports may be answered automatically at most once among 500', () => {
  const { judged, wrong } = figures.replyable
  assert.ok(judged >= 4_000)
  assert.ok(wrong * 500 <= judged, seen)
})

test('the set has each message once, and expects every category that follows from rules', () => {
  assert.equal(new Set(messages.map(({ name }) => name)).size, messages.length)
  const categories = new Set(messages.map(({ category }) => category))
  assert.deepEqual([...categories].sort(), ['any', 'automated', 'bounce', 'marketing', 'personal'])
})
