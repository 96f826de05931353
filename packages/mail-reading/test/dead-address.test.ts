import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cpuTimeMs } from '@mailroom/mail/test/samples.ts'
import { isDeadAddress } from '#report/bounce-class.ts'

/** `550 5.1.1 words`, with or without the code in the middle. */
function judge(words: string): boolean {
  const [, code, enhanced, text] = /^(\d{3}) (?:(\d\.\d+\.\d+) )?(.*)$/s.exec(words) ?? []
  return isDeadAddress({ code: Number(code), enhanced: enhanced ?? null, text: text ?? '' })
}

const DEAD = [
  // Classified by their codes, whatever the text.
  '550 5.1.1 The email account that you tried to reach does not exist.',
  '550 5.1.1 Mailbox full of surprises',
  '554 5.1.2 Bad destination system',
  '556 5.1.10 Recipient domain has a null MX record',
  '550 5.2.1 The email account that you tried to reach is disabled.',
  '550 5.1.6 Destination mailbox has moved, no forwarding address',
  '553 5.1.3 The recipient address is not a valid RFC-5321 address',
  '551 not our customer',
  '556 Domain does not accept mail',
  '550 The email account that you tried to reach\ndoes\nnot exist',
  '550 El destinatario no existe',
  '550 unbekannter Empfaenger',
  '550 Keine solche Mailbox vorhanden',
  // Classified by their words, without a code.
  '550 No such user here',
  '550 No such recipient',
  '550 User unknown',
  '550 unknown user',
  '550 <bob@far.example>: Recipient address rejected: User unknown in virtual mailbox table',
  '550 Requested action not taken: mailbox not found',
  '550 Invalid recipient <bob@far.example>',
  '550 Recipient not found',
  '550 user bob@far.example does not exist',
  "550 The mailbox you tried to reach doesn't exist",
  '554 delivery error: dd This user doesn’t have an account; mailbox unknown',
  '550 Unrouteable address',
  '550 The mailbox bob@far.example has been disabled',
  '550 This mailbox has been deactivated',
  '553 sorry, no mailbox here by that name. (#5.1.1)',
  '550 Address unknown',
  '550 invalid local-part',
  '550 Recipient name is not recognized',
  '550 The recipient is no longer on this server; mailbox no longer exists',
  // Classified by their words, because the code only says no.
  '550 5.0.0 User unknown',
  '550 5.1.0 Address rejected: no such user',
  '550 5.5.0 Requested action not taken: mailbox unavailable, user unknown',
]

const ALIVE = [
  // Policy and full mailboxes, also where the words suggest a dead address.
  '550 5.7.1 User unknown',
  '554 5.7.1 <bob@far.example>: Recipient address rejected: user does not exist',
  '550 5.7.606 Access denied, banned sending IP',
  '552 5.2.2 Mailbox full, user unknown',
  '552 5.2.3 No such user would take that much',
  '550 5.1.8 Invalid sender address',
  '550 5.4.1 Recipient address rejected: Access denied',
  // No code, and not about the recipient’s existence.
  '550 Mailbox full',
  '552 User is over quota: mailbox not found space',
  '550 Message rejected as spam: unknown user complaints',
  '550 Your host is blocked; invalid recipient history',
  '554 Policy: unknown user list',
  '550 Access denied - no such user in your country',
  '554 Too many invalid recipients',
  '550 mailbox unavailable',
  '550 Requested action not taken',
  '554 Transaction failed',
  '550 Relaying denied',
  '550 relay not permitted',
  // About the sender's address.
  '550 5.1.0 <me@here.example>: Sender address rejected: User unknown in virtual mailbox table',
  '550 Sender address does not exist',
  '550 sender verify failed: unknown user',
  // Closed for a time only.
  '550 5.2.1 The mailbox is temporarily disabled',
  '550 5.2.1 The user is suspended',
  '550 User is suspended',
  // About the client or its account.
  '550 Your account has been suspended',
  '550 The account has been disabled',
  '550 No such account',
  '550 Your user account has been disabled: authenticate',
  '550 User has been disabled: authenticate first',
  '550 Your mailbox does not exist',
  '550 invalid address: HELO',
  '550 EHLO: unknown user',
  '551 Relaying denied',
  '521 Your client is blocked',
  '550 not a valid user',
  '550 The mailbox owner was deleted messages',
  '550 Mailbox was deleted messages from it come back',
  '550 Unknown host 192.0.2.1, no reverse name',
  '550 5.0.0 Host unknown',
  '553 Domain here.example does not exist',
  '550 No MX record found for the domain of ann@here.example',
  '550 mx.far.example does not accept mail from dynamic addresses',
  '554 5.5.1 Error: no valid recipients',
  '550 User ann@here.example not listed in the directory',
  "550 This user doesn't have an account here",
  // Temporary.
  '450 4.1.1 User unknown',
  '450 User unknown in virtual mailbox table',
  '451 No such user yet',
  '250 2.1.5 No such user, but thanks',
  '999 No such user',
  '600 User unknown',
  '550 User unknown, temporary failure, try again',
]

for (const words of DEAD) test(`dead: ${words}`, () => assert.equal(judge(words), true))
for (const words of ALIVE) test(`not dead: ${words}`, () => assert.equal(judge(words), false))

test('a long refusal is classified at once', () => {
  const words = ['user '.repeat(20_000), 'mailbox '.repeat(12_000), 'account has '.repeat(9_000)]
  for (const text of words) {
    const startMs = cpuTimeMs()
    assert.equal(isDeadAddress({ code: 550, enhanced: null, text: text.slice(0, 100_000) }), false)
    assert.ok(cpuTimeMs() - startMs < 2_000, `${text.slice(0, 12)}…`)
  }
})
