// Complaints: feedback reports (RFC 5965), substitutes that providers send, and service notices.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { notice, RETURNED, read, report } from './report-samples.ts'

const TYPE = 'multipart/report; report-type=feedback-report; boundary="=_part"'
const OPTIONS = { from: 'Feedback <fbl@far.example>', subject: 'Complaint', contentType: TYPE }

function feedback(fields: readonly string[], returned: readonly string[] = RETURNED): string {
  return report(
    [
      { type: 'text/plain', lines: ['This is an abuse report.'] },
      { type: 'message/feedback-report', lines: fields },
      { type: 'message/rfc822', lines: returned },
    ],
    OPTIONS,
  )
}

test('a feedback report is read field by field', () => {
  const text = feedback([
    'Feedback-Type: Abuse',
    'User-Agent: Loop/1.0',
    'Version: 1',
    'Original-Mail-From: <b+token@ours.example>',
    'Original-Rcpt-To: <bob@far.example>',
    'Original-Rcpt-To: eve@far.example',
  ])
  assert.deepEqual(read(text), {
    kind: 'complaint',
    isStandard: true,
    feedbackType: 'abuse',
    recipients: ['bob@far.example', 'eve@far.example'],
    originalMessageId: '<01hq@ours.example>',
    originalMailFrom: 'b+token@ours.example',
    reportedReturnPath: 'b+token@ours.example',
    returnedLoopMarks: ['ownmark'],
  })
})

test('a hidden complainer is the recipient of the returned message', () => {
  const found = read(feedback(['Feedback-Type: abuse']))
  assert.deepEqual(found.kind === 'complaint' && found.recipients, ['bob@far.example'])
  const hidden = RETURNED.map((line) =>
    line.startsWith('To:') ? 'To: undisclosed-recipients:;' : line,
  )
  const nobody = read(feedback(['Feedback-Type: abuse'], hidden))
  assert.deepEqual(nobody.kind === 'complaint' && nobody.recipients, [])
})

for (const type of ['fraud', 'virus', 'other', 'opt-out', 'not-spam', 'auth-failure']) {
  test(`the feedback type ${type} is reported`, () => {
    const found = read(feedback([`Feedback-Type: ${type}`]))
    assert.equal(found.kind === 'complaint' && found.feedbackType, type)
  })
}

test('the null reverse-path differs from a missing one', () => {
  const found = read(feedback(['Feedback-Type: abuse', 'Original-Mail-From: <>']))
  assert.equal(found.kind === 'complaint' && found.originalMailFrom, '')
})

const LOOP = { from: 'fbl@far.example', subject: 'A complaint about your mail' }
const MIXED = 'multipart/mixed; boundary="=_part"'

test('words of complaint without a returned message are no complaint', () => {
  for (const from of ['complaints@bank.example', 'fbl@far.example', 'staff@hotmail.com']) {
    const text = notice(['Your complaint has been received, and will be dealt with.'], {
      from,
      subject: 'Your complaint',
    })
    assert.deepEqual(read(text), { kind: 'none' }, from)
    assert.deepEqual(read(text.replace('Return-Path: <>\n', '')), { kind: 'none' }, from)
  }
})

test('a complaint without a feedback part counts if its returned message shows its origin', () => {
  const withReturned = (lines: readonly string[], fields: readonly string[] = []) =>
    read(
      report(
        [
          { type: 'text/plain', lines: ['Somebody complained about this.'] },
          { type: 'message/rfc822', lines },
        ],
        { ...LOOP, contentType: MIXED, fields },
      ),
    )
  assert.equal(withReturned(RETURNED).kind, 'complaint')
  const unknown = RETURNED.filter((line) => !/^(?:Return-Path|Message-ID|X-Loop)/.test(line))
  assert.deepEqual(withReturned(unknown), { kind: 'none' })
})

test('an automatic answer that returns the message is no complaint', () => {
  const parts = [
    { type: 'text/plain', lines: ['Your complaint has been received.'] },
    { type: 'message/rfc822', lines: RETURNED },
  ]
  const answered = { ...LOOP, contentType: MIXED, fields: ['Auto-Submitted: auto-replied'] }
  assert.notEqual(read(report(parts, answered)).kind, 'complaint')
  const away = { ...LOOP, contentType: MIXED, subject: 'Out of office: Hello' }
  assert.notEqual(read(report(parts, away)).kind, 'complaint')
})

test('JSON of any other shape is no report', () => {
  for (const json of [
    '{',
    '[]',
    '{"notificationType":3}',
    '{"notificationType":"Bounce"}',
    '{"notificationType":"Bounce","bounce":{"bouncedRecipients":7}}',
  ]) {
    assert.deepEqual(
      read(
        notice([json], { from: 'a@far.example', subject: 'x' }).replace('Return-Path: <>\n', ''),
      ),
      { kind: 'none' },
    )
  }
})
