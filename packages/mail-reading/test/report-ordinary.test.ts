import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Notice, notice, RETURNED, read } from './report-samples.ts'

const PERSON = 'Eve <eve@far.example>'
const FAILURE = [
  'Sorry, your mail to bob@far.example could not be delivered: 550 5.1.1 User unknown',
]

test('a null reverse-path counts in the envelope, not in a field that claims it', () => {
  const text = notice(FAILURE, { from: PERSON, subject: 'Hello' })
  assert.match(text, /^Return-Path: <>$/m)
  assert.deepEqual(read(text, { hasNullSender: false }), { kind: 'none' })
  assert.equal(read(text, { hasNullSender: true }).kind, 'bounce')
})

test('a null reverse-path alone does not make a report of words without a reply or a message', () => {
  const text = notice(['Your parcel could not be delivered to bob@far.example.'], {
    from: 'Parcel delivery system <support@shop.example>',
    subject: 'Delivery failed',
  })
  assert.deepEqual(read(text), { kind: 'none' })
})

for (const from of [
  '"Postmaster Bob" <bob@far.example>',
  'Parcel delivery system <support@shop.example>',
  'Mail delivery <post@shop.example>',
  'bob@postmaster.example',
  'My mailer-daemon <eve@far.example>',
]) {
  test(`mail from ${from} is not from a mail system`, () => {
    const text = notice(FAILURE, { from, subject: 'Delivery failed' })
    assert.deepEqual(read(text, { hasNullSender: false }), { kind: 'none' })
  })
}

for (const from of [
  'MAILER-DAEMON@far.example (Mail Delivery System)',
  'Postmaster <post_master@far.example>',
  '"Mail Delivery System" <noc@far.example>',
  'Mail.Delivery.System@far.example',
  'MAILER-DAEMON <>',
  '<>',
]) {
  test(`mail from ${from} is from a mail system, whatever the envelope says`, () => {
    const text = notice(FAILURE, { from })
    assert.equal(read(text, { hasNullSender: false }).kind, 'bounce')
  })
}

test('an automatic answer is a report only if it holds a reply or the message', () => {
  const options: Notice = {
    from: 'Postmaster <postmaster@far.example>',
    subject: 'Your message was not delivered yet',
    fields: ['Auto-Submitted: auto-replied'],
  }
  const lines = [
    'Your message has not been delivered to bob@far.example. Click here to confirm it.',
  ]
  assert.deepEqual(read(notice(lines, options)), { kind: 'none' })
  assert.deepEqual(read(notice(lines, options), { hasNullSender: false }), { kind: 'none' })
  assert.equal(read(notice(FAILURE, options)).kind, 'bounce')
  const returning = [...lines, '', '--- Original message follows.', '', ...RETURNED]
  assert.equal(read(notice(returning, options)).kind, 'bounce')
})
