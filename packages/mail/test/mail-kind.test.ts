import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readHeaderSection } from '#header-fields.ts'
import { judgeKind, type MailKind } from '#mail-kind.ts'
import { readHeaders } from '#message-headers.ts'
import { cpuTimeMs, message } from '#test/samples.ts'

const INBOX = 'agent@mail.example'

function kindOf(fields: string[], reversePath = 'ada@x.example'): MailKind {
  const header = fields.some((field) => /^from:/i.test(field))
    ? fields
    : ['From: Ada <ada@x.example>', ...fields]
  const { fields: read } = readHeaderSection(message(...header, '', ''))
  return judgeKind(readHeaders(read), { reversePath, recipients: [INBOX] })
}

test('mail without a sign is personal and may be answered automatically', () => {
  const kind = kindOf(['Subject: Lunch?', 'Message-ID: <1@x.example>'])
  assert.deepEqual(kind, { category: 'personal', reasons: [], autoReplyable: true })
})

const CASES: [string[], string][] = [
  [['Auto-Submitted: auto-generated'], 'automated'],
  [['Subject: Automatische Antwort: Angebot'], 'automated'],
  [['Subject: =?utf-8?B?6Ieq5Yqo562U5aSNOg==?= x'], 'automated'],
  [['From: no-reply@x.example'], 'automated'],
  [['Reply-To: donotreply@x.example'], 'automated'],
  [['Precedence: bulk'], 'automated'],
  [['Precedence: bulk', 'In-Reply-To: <1@x.example>'], 'personal'],
  [['List-Unsubscribe: <https://x.example/u>'], 'marketing'],
  [['List-Unsubscribe: <https://x.example/u>', 'From: no-reply@x.example'], 'marketing'],
  [['List-Unsubscribe: <https://x.example/u>', 'Auto-Submitted: auto-generated'], 'automated'],
  [['List-Unsubscribe: <https://x.example/u>', 'List-Post: <mailto:l@x.example>'], 'personal'],
  [['X-Mailer: MailChimp Mailer'], 'marketing'],
  [['Feedback-ID: 1:2:3'], 'personal'],
  [['X-Auto-Response-Suppress: All'], 'personal'],
  [['Content-Type: multipart/report; report-type=delivery-status; boundary=b'], 'bounce'],
  [['Content-Type: multipart/report; report-type=disposition-notification'], 'automated'],
  [['X-Failed-Recipients: bob@x.example'], 'bounce'],
  [['X-Spam-Flag: YES'], 'spam'],
  [['X-Virus-Status: Infected (Eicar)'], 'malicious'],
  [['From: agent@mail.example'], 'personal'],
  [['X-Loop: list@x.example'], 'personal'],
]

for (const [fields, category] of CASES) {
  test(`mail with ${fields.join(' and ')} is ${category}, and is not answered automatically`, () => {
    const kind = kindOf(fields)
    assert.equal(kind.category, category)
    assert.equal(kind.autoReplyable, false)
    assert.ok(kind.reasons.length > 0)
  })
}

describe('the null reverse-path', () => {
  test('with the name of a mail system stands for a bounce', () => {
    const kind = kindOf(['From: MAILER-DAEMON@x.example', 'Subject: hello'], '')
    assert.equal(kind.category, 'bounce')
  })
  test('otherwise for a program', () => {
    const kind = kindOf(['Subject: hello'], '')
    assert.deepEqual([kind.category, kind.autoReplyable], ['automated', false])
  })
})

test('mail that says of itself that nothing is automatic is personal', () => {
  const fields = ['Auto-Submitted: no', 'X-Auto-Response-Suppress: None', 'X-Spam-Flag: NO']
  assert.deepEqual(kindOf(fields).reasons, [])
})

test('the loop mark of this service is no sign', () => {
  assert.equal(kindOf([`X-Loop: ${'0a'.repeat(13)}`]).autoReplyable, true)
})

test('a reason names its rule once, and quotes little of the message', () => {
  const many = Array.from({ length: 50 }, () => `List-Id: ${'x'.repeat(500)}`)
  const { reasons } = kindOf(many)
  assert.deepEqual(
    reasons.map(({ rule }) => rule),
    ['list'],
  )
  assert.ok((reasons[0]?.detail.length ?? 0) <= 160)
})

test('fields of any length are judged fast', () => {
  const start = cpuTimeMs()
  for (const piece of [
    'a-',
    'x.',
    '_',
    ' ',
    'is out of the office ',
    '[',
    'report-type=',
    '1.',
    '=',
  ]) {
    const long = piece.repeat(60_000)
    kindOf([
      `Subject: ${long}`,
      `From: ${long}@x.example`,
      `Content-Type: multipart/report; ${long}`,
      `Message-ID: <${long}@x>`,
      `X-Mailer: ${long}`,
      `Sender: ${long}`,
    ])
  }
  assert.ok(cpuTimeMs() - start < 4_000)
})
