// The fields of a message that tell where to unsubscribe (RFC 2369, RFC 8058), and by which its sender
// knows it again.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { composeMessage } from '#compose/compose-message.ts'
import { parseMime } from '#mime/mime-message.ts'
import { signer, splitSigned, tag, verdicts } from '#test/dkim-samples.ts'
import { compose, fieldNames, headerOf, outgoing } from './outgoing.ts'

const URL_OF_620 = `https://mail.example/unsubscribe/${'A'.repeat(587)}`

test('a link of any length stays whole on one line, with the field that makes it one click', async () => {
  for (const url of ['https://mail.example/unsubscribe/A', URL_OF_620]) {
    const raw = await compose({ unsubscribeUrl: url })
    const lines = headerOf(raw).split('\r\n')
    assert.ok(lines.includes(`List-Unsubscribe: <${url}>`))
    assert.ok(lines.includes('List-Unsubscribe-Post: List-Unsubscribe=One-Click'))
  }
})

test('a message without a link has neither field', async () => {
  assert.doesNotMatch(headerOf(await compose()), /list-|x-loop/i)
})

test('a link that no line could hold is refused', async () => {
  const unsubscribeUrl = `https://mail.example/${'A'.repeat(990)}`
  await assert.rejects(composeMessage(outgoing({ unsubscribeUrl })), RangeError)
})

test('neither link nor mark can add a field or end their brackets', async () => {
  const names = fieldNames(await compose({ unsubscribeUrl: 'https://a.example/', hopMark: 'a' }))
  for (const breaker of ['\r\n', '\n', '\r', '\u2028', '\0', '\u0085', ' ', '>', '>, <']) {
    const text = `https://a.example/${breaker}X-Evil: 1`
    const raw = await compose({ unsubscribeUrl: text, hopMark: text })
    assert.deepEqual(fieldNames(raw), names, JSON.stringify(breaker))
    assert.match(headerOf(raw), /^List-Unsubscribe: <[^<>\s]*>\r$/m)
    assert.match(headerOf(raw), /^X-Loop: [^<>\s]*\r$/m)
  }
})

test('the signature covers both fields of the link', async () => {
  const raw = await compose({ unsubscribeUrl: URL_OF_620, hopMark: 'a' })
  const signed = await signer.sign(raw, Date.UTC(2024, 0, 1))
  assert.deepEqual(await verdicts(signed), ['pass'])
  const names = tag(splitSigned(signed).field, 'h').toLowerCase().split(':')
  for (const name of ['list-unsubscribe', 'list-unsubscribe-post']) assert.ok(names.includes(name))
  const text = Buffer.from(signed).toString('latin1')
  const changes = [
    ['/unsubscribe/A', '/unsubscribe/B'],
    ['List-Unsubscribe=One-Click', 'List-Unsubscribe=No-Click'],
  ] as const
  for (const [from, to] of changes) {
    const changed = Buffer.from(text.replace(from, to), 'latin1')
    assert.deepEqual(await verdicts(changed), ['fail'])
  }
})

test('marks are read from a message, as many as there may be and not longer than they are', () => {
  const marks = Array.from({ length: 120 }, (_, index) => `X-Loop: mark${index}`)
  const raw = Buffer.from(
    [`X-Loop: ${'x'.repeat(101)}`, ...marks, 'X-Loop:', '', 'body'].join('\r\n'),
  )
  const { headers } = parseMime(raw)
  assert.deepEqual(
    headers.loopMarks,
    marks.slice(0, 100).map((line) => line.slice(8)),
  )
  assert.equal(headers.hasListId, false)
  const listed = parseMime(Buffer.from('List-Id: <l.example>\r\n\r\n'))
  assert.equal(listed.headers.hasListId, true)
})
