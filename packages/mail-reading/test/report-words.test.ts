import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bounceOf, notice, onlyOf, RETURNED, standard } from './report-samples.ts'

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
