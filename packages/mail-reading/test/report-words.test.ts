import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bounceOf,
  type Notice,
  notice,
  onlyOf,
  RETURNED,
  report,
  standard,
} from './report-samples.ts'

type Sample = {
  readonly name: string
  readonly lines: readonly string[]
  readonly options?: Notice
  /** Recipient, enhanced code, reply code, class. */
  readonly expected: readonly [string | null, string, number | null, string]
}

const SAMPLES: readonly Sample[] = [
  {
    name: 'qmail',
    options: { subject: 'failure notice' },
    lines: [
      'Hi. This is the qmail-send program at mx.far.example.',
      "I'm afraid I wasn't able to deliver your message to the following addresses.",
      '',
      '<bob@far.example>:',
      '192.0.2.1 does not like recipient.',
      'Remote host said: 550 5.1.1 No such user',
      'Giving up on 192.0.2.1.',
      '',
      '--- Below this line is a copy of the message.',
      '',
      ...RETURNED,
    ],
    expected: ['bob@far.example', '5.1.1', 550, 'hard'],
  },
  {
    name: 'Exim, with its own field',
    options: {
      subject: 'Mail delivery failed: returning message to sender',
      fields: ['X-Failed-Recipients: bob@far.example'],
    },
    lines: [
      'A message that you sent could not be delivered to one or more of its recipients.',
      'This is a permanent error. The following address(es) failed:',
      '',
      '  bob@far.example',
      '    SMTP error from remote mail server after RCPT TO:<bob@far.example>:',
      '    host mx.far.example [192.0.2.1]: 550 unknown user',
      '',
      '------ This is a copy of the message, including all the headers. ------',
      '',
      ...RETURNED,
    ],
    expected: ['bob@far.example', '5.0.0', 550, 'hard'],
  },
  {
    name: 'Gmail',
    options: {
      from: 'Mail Delivery Subsystem <mailer-daemon@provider.example>',
      subject: 'Delivery Status Notification (Failure)',
    },
    lines: [
      'Delivery to the following recipient failed permanently:',
      '',
      '     bob@far.example',
      '',
      'Technical details of permanent failure:',
      'The error that the other server returned was:',
      '552 5.2.2 The mailbox is full',
      '',
      '----- Original message -----',
      ...RETURNED,
    ],
    expected: ['bob@far.example', '5.2.2', 552, 'full'],
  },
  {
    name: 'an old Sendmail',
    options: { subject: 'Returned mail: Host unknown' },
    lines: [
      '   ----- Transcript of session follows -----',
      '554 <bob@far.example>... 550 Host unknown (Authoritative answer from name server)',
      '',
      '   ----- Unsent message follows -----',
      ...RETURNED,
    ],
    expected: ['bob@far.example', '5.0.0', 554, 'hard'],
  },
  {
    name: 'Exchange',
    options: {
      from: 'System Administrator <postmaster@far.example>',
      subject: 'Undeliverable: Hello',
    },
    lines: [
      'Your message',
      '',
      '  To:      bob@far.example',
      '  Subject: Hello',
      '',
      'did not reach the following recipient(s):',
      '',
      'robert@inner.far.example on Thu, 1 Feb 2024 10:00:00 -0000',
      '    The recipient name is not recognized',
    ],
    expected: ['robert@inner.far.example', '5.0.0', null, 'hard'],
  },
  {
    name: 'Domino',
    options: {
      from: 'Postmaster@far.example',
      subject: 'DELIVERY FAILURE: User Bob not listed in Directory',
    },
    lines: [
      'Your message',
      '  Subject: Hello',
      'was not delivered to:',
      '  bob@far.example',
      'because:',
      '  User Bob (bob@far.example) not listed in Domino Directory',
    ],
    expected: ['bob@far.example', '5.0.0', null, 'hard'],
  },
  {
    name: 'OpenSMTPD',
    options: { subject: 'Delivery status notification: error' },
    lines: [
      '    Hi!',
      '    This is the MAILER-DAEMON, please DO NOT REPLY to this e-mail.',
      '    An error has occurred while attempting to deliver a message for',
      '    the following list of recipients:',
      '',
      'bob@far.example: 550 5.7.1 Your address is on our blocklist',
      '',
      '    Below is a copy of the original message:',
      '',
      ...RETURNED,
    ],
    expected: ['bob@far.example', '5.7.1', 550, 'policy'],
  },
  {
    name: 'a carrier, in Japanese',
    options: { from: 'Postmaster@carrier.example', subject: 'Mail System Error - Returned Mail' },
    lines: [
      '次のあて先へのメッセージはエラーのため送信できませんでした。',
      '',
      '<bob@carrier.example>:',
      '550 user unknown',
    ],
    expected: ['bob@carrier.example', '5.0.0', 550, 'hard'],
  },
  {
    name: 'a Russian provider',
    options: { from: 'mailer-daemon@provider.example', subject: 'Недоставленное сообщение' },
    lines: [
      'К сожалению, письмо не может быть доставлено одному или нескольким получателям:',
      '',
      '<bob@far.example>: host mx.far.example said: 554 5.7.1 Spam message rejected',
    ],
    expected: ['bob@far.example', '5.7.1', 554, 'policy'],
  },
  {
    name: 'one that gave up after days',
    options: { subject: 'Undeliverable mail' },
    lines: [
      'Unable to deliver message to: <bob@far.example>',
      'Connection timed out; message expired.',
    ],
    expected: ['bob@far.example', '4.0.0', null, 'soft'],
  },
]

for (const { name, lines, options = {}, expected } of SAMPLES) {
  test(`${name}: the recipient, its codes and their class are read`, () => {
    const text = notice(lines, options)
    assert.equal(bounceOf(text).isStandard, false)
    const { recipient, action, enhancedCode, replyCode, bounceClass } = onlyOf(text)
    assert.equal(action, 'failed')
    assert.deepEqual([recipient, enhancedCode, replyCode, bounceClass], expected)
  })
}

test('statements about each of several recipients are kept apart', () => {
  const { recipients, originalMessageId } = bounceOf(
    notice([
      'I was not able to deliver your message to the following addresses.',
      '',
      '<bob@far.example>:',
      'Remote host said: 550 5.1.1 No such user',
      '',
      '<eve@far.example>:',
      'Remote host said: 452 4.2.2 Mailbox full',
      '',
      '--- Below this line is a copy of the message.',
      '',
      ...RETURNED,
    ]),
  )
  assert.deepEqual(
    recipients.map((one) => [one.recipient, one.enhancedCode, one.bounceClass]),
    [
      ['bob@far.example', '5.1.1', 'hard'],
      ['eve@far.example', '4.2.2', 'full'],
    ],
  )
  assert.equal(originalMessageId, '<01hq@ours.example>')
})

test('words in HTML alone are read', () => {
  const text = notice(
    [
      '<p>Delivery has failed to these recipients:</p><p>bob@far.example</p><p>550 5.1.1 User unknown</p>',
    ],
    {
      contentType: 'text/html',
    },
  )
  assert.deepEqual([onlyOf(text).recipient, onlyOf(text).bounceClass], ['bob@far.example', 'hard'])
})

test('words in base64 are read', () => {
  const words = Buffer.from(
    'Message to <bob@far.example> could not be delivered:\n550 No such user\n',
  )
  const text = report([
    {
      type: 'text/plain',
      fields: ['Content-Transfer-Encoding: base64'],
      lines: [words.toString('base64')],
    },
  ])
  assert.deepEqual([onlyOf(text).recipient, onlyOf(text).bounceClass], ['bob@far.example', 'hard'])
})

test('a report that names no recipient is about the recipient of the returned message', () => {
  const lines = [
    'Your message could not be delivered: 550 No such user',
    '',
    '--- Original message follows.',
    '',
  ]
  assert.equal(onlyOf(notice([...lines, ...RETURNED])).recipient, 'bob@far.example')
  const several = RETURNED.map((line) =>
    line.startsWith('To:') ? 'To: bob@far.example, eve@far.example' : line,
  )
  assert.equal(onlyOf(notice([...lines, ...several])).recipient, null)
})

test('addresses of the sender and of the postmaster are no recipients', () => {
  const text = notice([
    'Your message from <b+token@ours.example> could not be delivered.',
    'For further assistance, please contact <support@far.example>.',
    '>>> MAIL FROM:<ann@ours.example>',
    '>>> RCPT TO:<bob@far.example>',
    '<<< 550 5.1.1 User unknown',
  ])
  assert.equal(onlyOf(text).recipient, 'bob@far.example')
})

test('numbers that are no codes are not read as codes', () => {
  const { replyCode, enhancedCode } = onlyOf(
    notice([
      'Unable to deliver message to <bob@far.example>',
      'It has 550 bytes, was queued on port 587 by version 4.96.2 at 192.0.2.55; host unreachable',
    ]),
  )
  assert.deepEqual([replyCode, enhancedCode], [null, '5.0.0'])
})

test('a message that is only delayed so far is reported as delayed', () => {
  const text = notice(
    [
      'Delivery to the following recipient has been delayed:',
      '',
      '     bob@far.example',
      '',
      'Message will be retried for 2 more day(s)',
    ],
    { subject: 'Delivery Status Notification (Delay)' },
  )
  assert.equal(onlyOf(text).action, 'delayed')
})

test('a statement about the sender is no dead address', () => {
  for (const words of [
    '550 mx.far.example does not accept mail from dynamic addresses',
    '550 Unknown host 192.0.2.1, no reverse name',
    '550 No MX record found for the domain of ann@ours.example',
    '554 5.5.1 Error: no valid recipients',
    '550 Invalid domain in your HELO',
  ]) {
    const { bounceClass } = onlyOf(notice([`<bob@far.example>: ${words}`]))
    assert.notEqual(bounceClass, 'hard', words)
  }
})

test('a domain that accepts no mail is a dead address', () => {
  for (const words of [
    '550 Host unknown',
    'Domain far.example does not exist',
    '556 far.example does not accept mail (null MX)',
    'No MX found for domain',
    "This user doesn't have a far.example account",
  ]) {
    const { bounceClass } = onlyOf(notice([`<bob@far.example>: ${words}`]))
    assert.equal(bounceClass, 'hard', words)
  }
})

test('a delivery program that could not write a message makes no address dead', () => {
  const words = 'procmail: Couldn\'t create "/var/spool/mail/bob"; id: bob: No such user'
  const { bounceClass } = onlyOf(
    standard([
      'Final-Recipient: rfc822; bob@far.example',
      'Action: failed',
      'Status: 5.1.1',
      `Diagnostic-Code: x-unix; ${words}`,
    ]),
  )
  assert.equal(bounceClass, 'soft')
})

test('a refusal of content keeps its class when another server quotes it', () => {
  const { bounceClass } = onlyOf(
    notice([
      '<bob@far.example>: 550 5.1.351 The server returned unknown recipient -> 550 : User unknown',
    ]),
  )
  assert.equal(bounceClass, 'soft')
})

const SENDMAIL = [
  '   ----- The following addresses had permanent fatal errors -----',
  '<dead@far.example>',
  '<busy@far.example>',
  '',
  '   ----- Transcript of session follows -----',
  '... while talking to mx.far.example.:',
]
for (const [name, transcript] of [
  [
    'that the server names',
    ['<<< 550 <dead@far.example>... User unknown', '<<< 450 <busy@far.example>... Try again'],
  ],
  [
    'that nothing is said of',
    ['>>> DATA', '<<< 550 5.1.1 <dead@far.example>... User unknown', '<<< 503 5.0.0 Need RCPT'],
  ],
] as const) {
  test(`words about one recipient of a transcript make no other recipient hard, ${name}`, () => {
    const lines = [...SENDMAIL, ...transcript, '', '   ----- Original message follows -----', '']
    const { recipients } = bounceOf(notice([...lines, ...RETURNED]))
    assert.deepEqual(
      recipients.map(({ recipient, bounceClass }) => [recipient, bounceClass]),
      [
        ['dead@far.example', 'hard'],
        ['busy@far.example', 'soft'],
      ],
    )
  })
}
