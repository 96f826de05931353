// Delivery status notifications: as RFC 3464 defines them, and as servers send them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readReport } from '#report/read-report.ts'
import { bounceOf, notice, onlyOf, RETURNED, read, report, standard } from './report-samples.ts'

const FAILED = [
  'Original-Recipient: rfc822;Bob@far.example',
  'Final-Recipient: rfc822; bob.box@store.far.example',
  'Action: failed',
  'Status: 5.1.1',
  'Diagnostic-Code: smtp; 550 5.1.1 <bob.box@store.far.example>:',
  '    Recipient address rejected: User unknown',
]

test('a standard notification is read field by field', () => {
  assert.deepEqual(read(standard(FAILED)), {
    kind: 'bounce',
    isStandard: true,
    originalMessageId: '<01hq@ours.example>',
    recipients: [
      {
        recipient: 'bob.box@store.far.example',
        originalRecipient: 'Bob@far.example',
        action: 'failed',
        enhancedCode: '5.1.1',
        replyCode: 550,
        diagnostic:
          '550 5.1.1 <bob.box@store.far.example>: Recipient address rejected: User unknown',
        bounceClass: 'hard',
      },
    ],
  })
})

test('lines end in CRLF, LF or CR', () => {
  const text = standard(FAILED)
  const expected = read(text)
  for (const lineEnd of ['\r\n', '\r']) {
    assert.deepEqual(read(text.replaceAll('\n', lineEnd)), expected)
  }
})

test('an mbox line before the header changes nothing', () => {
  const text = standard(FAILED)
  assert.deepEqual(read(`From MAILER-DAEMON Tue Mar 02 09:44:33 1999\n${text}`), read(text))
})

for (const action of ['delayed', 'delivered', 'relayed', 'expanded'] as const) {
  test(`the action ${action} is reported unchanged`, () => {
    const status = action === 'delayed' ? '4.4.1' : '2.0.0'
    const { action: found, enhancedCode } = onlyOf(
      standard([
        'Final-Recipient: rfc822; bob@far.example',
        `Action: ${action}`,
        `Status: ${status}`,
      ]),
    )
    assert.deepEqual([found, enhancedCode], [action, status])
  })
}

for (const [fields, expected] of [
  [['Status: 4.4.1', 'Will-Retry-Until: Sat, 5 Dec 2026 10:00:00 +0000'], 'delayed'],
  [['Status: 4.4.1'], 'delayed'],
  [['Status: 5.4.1', 'Will-Retry-Until: Sat, 5 Dec 2026 10:00:00 +0000'], 'delayed'],
  [['Status: 5.1.1'], 'failed'],
  [['Status: 2.0.0'], 'delivered'],
  [['Diagnostic-Code: smtp; 550 5.1.1 User unknown'], 'failed'],
  [['Diagnostic-Code: smtp; the mailbox did not answer'], 'delayed'],
  [['Action: other', 'Status: 4.0.0'], 'delayed'],
  [['Status: nonsense'], 'delayed'],
] as const) {
  test(`without a known action, ${fields.join(', ')} means ${expected}`, () => {
    const found = onlyOf(standard(['Final-Recipient: rfc822; bob@far.example', ...fields]))
    assert.equal(found.action, expected)
  })
}

test('each recipient has its own state', () => {
  const { recipients } = bounceOf(
    standard(
      FAILED,
      [
        'Final-Recipient: rfc822; eve@far.example',
        'Action: failed',
        'Status: 5.2.2',
        'Diagnostic-Code: smtp; 552 5.2.2 Over quota',
      ],
      ['Final-Recipient: rfc822; dan@far.example', 'Action: delayed', 'Status: 4.4.1'],
    ),
  )
  assert.deepEqual(
    recipients.map((one) => [one.recipient, one.action, one.bounceClass]),
    [
      ['bob.box@store.far.example', 'failed', 'hard'],
      ['eve@far.example', 'failed', 'full'],
      ['dan@far.example', 'delayed', 'soft'],
    ],
  )
})

test('recipients without an empty line between them are separated', () => {
  const fields = (name: string) => [
    `Final-Recipient: rfc822; ${name}@far.example`,
    'Action: failed',
    'Status: 5.1.1',
  ]
  const { recipients } = bounceOf(standard([...fields('bob'), ...fields('eve')]))
  assert.deepEqual(
    recipients.map((one) => one.recipient),
    ['bob@far.example', 'eve@far.example'],
  )
})

test('an empty line within the fields of a recipient does not split it', () => {
  const spread = [
    'Final-Recipient: rfc822; bob@far.example',
    '',
    'Action: failed',
    '',
    'Status: 5.1.1',
  ]
  assert.equal(onlyOf(standard(spread)).enhancedCode, '5.1.1')
})

const RECIPIENT_FORMS: readonly (readonly [string, string])[] = [
  ['rfc822; bob@far.example', 'bob@far.example'],
  ['RFC822;<bob@far.example>', 'bob@far.example'],
  ['<bob@far.example>', 'bob@far.example'],
  ['bob@far.example', 'bob@far.example'],
  ['rfc/822; bob@far.example', 'bob@far.example'],
  ['rfc822; bob@far.example (Bob)', 'bob@far.example'],
  ['rfc822; "bob b."@far.example', '"bob b."@far.example'],
  ['rfc822; @relay.example:bob@far.example', 'bob@far.example'],
  ['utf-8; bøb@far.example', 'bøb@far.example'],
]

for (const [form, address] of RECIPIENT_FORMS) {
  test(`the recipient in "Final-Recipient: ${form}" is ${address}`, () => {
    const fields = [`Final-Recipient: ${form}`, 'Action: failed', 'Status: 5.1.1']
    assert.equal(onlyOf(standard(fields)).recipient, address)
  })
}

test('a recipient without a field is taken from the words, then from the returned message', () => {
  const status = { type: 'message/delivery-status', lines: ['Action: failed', 'Status: 5.1.1'] }
  const worded = { type: 'text/plain', lines: ['<eve@far.example>: no such user'] }
  assert.equal(onlyOf(report([worded, status])).recipient, 'eve@far.example')
  const returned = { type: 'message/rfc822', lines: RETURNED }
  assert.equal(onlyOf(report([status, returned])).recipient, 'bob@far.example')
})

test('fields are found where the structure of the report is broken', () => {
  const text = notice(
    ['Could not deliver.', '', 'Reporting-MTA: dns; mx.far.example', '', ...FAILED],
    { contentType: 'multipart/report; report-type=delivery-status' },
  )
  const { isStandard, recipients } = bounceOf(text)
  assert.equal(isStandard, false)
  assert.equal(recipients[0]?.enhancedCode, '5.1.1')
})

test('parts are found when their multipart has no boundary', () => {
  const text = standard(FAILED).replace('; boundary="=_part"', '')
  const { isStandard, recipients, originalMessageId } = bounceOf(text)
  assert.deepEqual([isStandard, recipients.length], [true, 1])
  assert.equal(originalMessageId, '<01hq@ours.example>')
})

test('a report of another system, passed on in an unspecific notice, is read instead', () => {
  const outer = report([
    { type: 'text/plain', lines: ['Your message could not be delivered.'] },
    {
      type: 'message/rfc822',
      lines: standard(FAILED)
        .split('\n')
        .map((line) => line.replaceAll('=_part', '=_inner')),
    },
  ])
  assert.equal(onlyOf(outer).recipient, 'bob.box@store.far.example')
})

/** Status, diagnostic, class. */
const CLASSES: readonly (readonly [string, string, string])[] = [
  ['5.1.1', 'smtp; 550 5.1.1 User unknown', 'hard'],
  ['5.1.10', 'smtp; 556 5.1.10 Recipient domain has a null MX', 'hard'],
  ['5.2.1', 'smtp; 550 5.2.1 This account is disabled', 'hard'],
  ['5.0.0', 'smtp; 550 No such user here', 'hard'],
  ['5.4.4', 'X-Postfix; Host or domain name not found. Name service error', 'hard'],
  ['5.4.0', 'DNS; no A or MX record for far.example', 'hard'],
  [
    '5.5.0',
    'smtp; 554 The recipient is no longer on this server, recipient no longer valid',
    'hard',
  ],
  ['5.4.1', 'smtp; 550 5.4.1 Recipient address rejected: Access denied', 'hard'],
  // The code is wrong, the words are right.
  ['5.1.1', 'smtp; 552 sorry, that mailbox is over quota', 'full'],
  ['5.0.0', 'smtp; 550 Mailbox full', 'full'],
  ['5.1.1', 'smtp; 550 5.1.1 Message rejected as spam by our content filter', 'policy'],
  ['5.0.0', 'smtp; 554 Your host is listed at zen.spamhaus.example', 'policy'],
  ['5.1.8', "smtp; 553 5.1.8 Sender's domain does not exist", 'policy'],
  [
    '5.0.0',
    'smtp; 550-Verification failed for <ann@ours.example> 550 Unrouteable address',
    'policy',
  ],
  ['5.2.1', 'smtp; 550 5.2.1 This user receives mail at a rate that prevents delivery', 'soft'],
  // Never dead by policy, or while the fault may be temporary.
  ['5.7.1', 'smtp; 550 5.7.1 User unknown', 'policy'],
  ['4.1.1', 'smtp; 450 4.1.1 User unknown in virtual table', 'soft'],
  ['4.4.1', 'smtp; connect to mx.far.example: Connection timed out', 'soft'],
  ['5.2.2', 'smtp; 554 5.2.2 no', 'full'],
  ['5.6.0', 'smtp; 554 5.6.0 Something odd', 'soft'],
]

for (const [status, diagnostic, bounceClass] of CLASSES) {
  test(`${status} with "${diagnostic}" is ${bounceClass}`, () => {
    const fields = [
      'Final-Recipient: rfc822; bob@far.example',
      'Action: failed',
      `Status: ${status}`,
    ]
    const found = onlyOf(standard([...fields, `Diagnostic-Code: ${diagnostic}`]))
    assert.equal(found.bounceClass, bounceClass)
  })
}

test('a user unknown only after the message was sent is not a dead address', () => {
  const fields = [
    'Final-Recipient: rfc822; bob@far.example',
    'Action: failed',
    'Status: 5.0.0',
    'Diagnostic-Code: smtp; 550 Unknown user bob@far.example',
  ]
  const sentence = (command: string) =>
    report([
      {
        type: 'text/plain',
        lines: [`<bob@far.example>: host mx said: 550 Unknown user (in reply to ${command})`],
      },
      { type: 'message/delivery-status', lines: fields },
    ])
  assert.equal(onlyOf(sentence('RCPT TO command')).bounceClass, 'hard')
  assert.equal(onlyOf(sentence('end of DATA command')).bounceClass, 'soft')
})

test('a code in the diagnostic text has precedence over an unspecific status', () => {
  const fields = [
    'Final-Recipient: rfc822; bob@far.example',
    'Action: failed',
    'Status: 5.0.0 (no)',
  ]
  const found = onlyOf(standard([...fields, 'Diagnostic-Code: smtp; 550-5.7.26 Unauthenticated']))
  assert.deepEqual([found.enhancedCode, found.replyCode], ['5.7.26', 550])
})

test('the number of recipients and the length of words are bounded', () => {
  const many = Array.from({ length: 300 }, (_, index) => [
    `Final-Recipient: rfc822; bob${index}@far.example`,
    'Action: failed',
    'Status: 5.1.1',
    `Diagnostic-Code: smtp; 550 ${'very '.repeat(400)}long`,
  ])
  const { recipients } = bounceOf(standard(...many))
  assert.equal(recipients.length, 100)
  assert.ok(recipients.every(({ diagnostic }) => diagnostic.length <= 1_000))
})

test('words are one line without control characters', () => {
  const fields = ['Final-Recipient: rfc822; bob@far.example', 'Action: failed', 'Status: 5.1.1']
  const { diagnostic } = onlyOf(
    standard([...fields, 'Diagnostic-Code: smtp; 550 no\u0000\u0007 such', '\tuser here']),
  )
  assert.equal(diagnostic, '550 no such user here')
})

test('an empty message is no report', () => {
  assert.deepEqual(readReport(new Uint8Array(), { hasNullSender: true }), { kind: 'none' })
})
