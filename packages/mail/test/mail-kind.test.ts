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

test('mail that a script sends may be answered automatically unless it is a reply or has another sign', () => {
  // Python's `email.utils.make_msgid` made it.
  const id = 'Message-ID: <176405760012.4711.8837193847362910234@laptop.example>'
  const kind = kindOf(['Subject: Lunch?', id])
  assert.deepEqual(
    [kind.category, kind.autoReplyable, kind.reasons.map(({ rule }) => rule)],
    ['personal', true, ['script-message-id']],
  )
  for (const fields of [
    ['Subject: Re: Lunch?', 'In-Reply-To: <1@x.example>', id],
    [id, 'X-Mailer: Python'],
    [id, 'List-Id: <lunch.x.example>'],
    [id, 'Subject: Your order has been received'],
    [id, 'From: orders@x.example'],
    [id, 'Auto-Submitted: auto-generated'],
  ]) {
    assert.equal(kindOf(fields).autoReplyable, false, fields.join())
  }
  assert.equal(kindOf([id, 'From: orders@x.example']).category, 'automated')
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
  [['Feedback-ID: 1:2:3'], 'automated'],
  [['Feedback-ID: ::1.eu-west-1.a1:AmazonSES'], 'personal'],
  [['Feedback-ID: 1:2:3', 'In-Reply-To: <1@x.example>', 'X-Mailer: Front (1)'], 'personal'],
  [['From: Acme <receipts@x.example>', 'X-SG-EID: a1'], 'automated'],
  [['From: Acme <news@x.example>', 'X-SG-EID: a1'], 'marketing'],
  [['From: Acme <news@x.example>'], 'personal'],
  [['Reply-To: leave-garden-1234K@lists.x.example'], 'marketing'],
  [['Reply-To: leave-garden-1234K@lists.x.example', 'In-Reply-To: <1@x.example>'], 'personal'],
  [['Sender: bounce-garden-12345@lists.x.example'], 'marketing'],
  [['X-List-Host: Acme', 'Subject: [garden] Roses'], 'personal'],
  [['Sender: owner-garden@x.example', 'Precedence: bulk'], 'personal'],
  [['Return-Path: <>'], 'automated'],
  [['X-RSS-Feed: https://x.example/feed.xml'], 'automated'],
  [['From: Ada <ada@x.example>', 'User-Agent: rss2email/3.14'], 'automated'],
  [['From: Mail Delivery Subsystem'], 'bounce'],
  [['From: =?utf-8?q?Syst=C3=A8me_de_remise_du_courrier?= <m@x.example>'], 'bounce'],
  [['From: Acme <ne-pas-r\u00e9pondre@x.example>'], 'automated'],
  [['From: Acme <service.nicht_antworten@x.example>'], 'automated'],
  [['From: Acme <info@no-reply.x.example>'], 'automated'],
  [['X-HS-Cid: a1'], 'personal'],
  [['To: roses@x.example', 'Sender: Roses <ROSES@x.example>'], 'personal'],
  [['To: roses@x.example', 'Sender: roses-bounce@x.example', 'Precedence: bulk'], 'personal'],
  [['From: postmaster@x.example', 'Subject: Unzustellbar: Angebot'], 'bounce'],
  [['From: System Administrator <a@x.example>', 'Subject: Undeliverable: Offer'], 'bounce'],
  [['X-Envelope-From: <>'], 'automated'],
  [['X-Auto-Response-Suppress: All'], 'personal'],
  [['Content-Type: multipart/report; report-type=delivery-status; boundary=b'], 'bounce'],
  [['Content-Type: multipart/report; report-type=disposition-notification'], 'automated'],
  [['X-Failed-Recipients: bob@x.example'], 'bounce'],
  [['X-Spam-Flag: YES'], 'spam'],
  [['X-Virus-Status: Infected (Eicar)'], 'malicious'],
  [['From: agent@mail.example'], 'personal'],
  [['X-Loop: list@x.example'], 'personal'],
  [['From: <>', 'Subject: Delivery Status'], 'personal'],
  [['From: Mail Administrator'], 'personal'],
  [['To: Ada <ADA@x.example>'], 'personal'],
  [['X-ML-Name: garden'], 'personal'],
  [['X-Acme-Ticket-Id: 7'], 'personal'],
  [['X-Acme-Autogenerated: Reply'], 'automated'],
  [['From: MAILER-DAEMON@x.example'], 'bounce'],
  [['From: hello@notify.x.example'], 'personal'],
  [['Reply-To: incoming+a1b2c3d4e5f6a7b8@x.example'], 'personal'],
  [['Subject: [Auto-Reply] Re: Lunch'], 'automated'],
  [['Subject: Abwesend: Angebot', 'In-Reply-To: <1@x.example>'], 'automated'],
  [['Subject: Abwesend: Tom, Klasse 4b'], 'personal'],
  [['Subject: Accepted: Lunch'], 'personal'],
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

test('a reverse-path made for the recipient is a sign, but not that of a forward', () => {
  const kind = (path: string) => kindOf(['Subject: Lunch?'], path).autoReplyable
  assert.equal(kind('news-7-agent=mail.example@x.example'), false)
  assert.equal(kind('ada+caf_=agent=mail.example@x.example'), true)
  assert.equal(kind('SRS0=ab=cd=x.example=ada@forward.example'), true)
})

for (const from of [
  'Leonor Esponda <leonor.esponda@x.example>',
  'Noel Repsold <noel.repsold@x.example>',
  'Owner Svar <svar@x.example>',
  'Mail & Delivery Ltd <ann@x.example>',
]) {
  test(`${from} is a person`, () => assert.equal(kindOf([`From: ${from}`]).autoReplyable, true))
}

test('a host of lists sends posts to the list, and newsletters to their readers', () => {
  const path = 'bounce-roses-12345@lists.x.example'
  const post = [
    'To: roses@lists.x.example',
    'List-Unsubscribe: <mailto:leave-roses@lists.x.example>',
  ]
  assert.equal(kindOf(post, path).category, 'personal')
  assert.equal(kindOf([`To: ${INBOX}`, ...post.slice(1)], path).category, 'marketing')
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
    'order confirmation ',
    '[#1',
    'absence',
    '[',
    'report-type=',
    '1.',
    '=',
    '-bounce',
    'leave-1',
    '@news.',
    '<',
    'nicht-',
    'a:',
    'news ',
  ]) {
    const long = piece.repeat(60_000)
    kindOf([
      `Subject: ${long}`,
      `From: ${long}@x.example`,
      `Content-Type: multipart/report; ${long}`,
      `Message-ID: <${long}@x>`,
      `X-Mailer: ${long}`,
      `Sender: ${long}`,
      `Return-Path: <${long}@x.example>`,
      `Reply-To: ${long}@x.example`,
      `Feedback-ID: ${long}`,
      `List-Unsubscribe: ${long}`,
    ])
  }
  assert.ok(cpuTimeMs() - start < 4_000)
})

for (const name of [
  'no-reponse',
  'ne_pas_repondre',
  'no-contestar',
  'naorespondaestemail',
  'non-risponda',
  'niet-beantwoorden',
  'antwort-nicht-moeglich',
  'inget-svar',
  'svar-ikke',
  'älävastaa',
  'brakodpowiedzi',
  'neodpovedajte',
  'nu-raspunde',
  'cevap-yok',
  'otvetnenuzhen',
  'unmonitored',
  'autoresponder',
]) {
  test(`${name}@ reads no answers`, () => {
    assert.equal(kindOf([`From: Acme <${name}@x.example>`]).category, 'automated')
  })
}
