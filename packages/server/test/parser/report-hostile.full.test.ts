import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { cpuTimeMs } from '@mailroom/mail/test/samples.ts'
import { REPORT_BYTES_MAX } from '@mailroom/mail-reading/report/open-report.ts'
import { readReport } from '@mailroom/mail-reading/report/read-report.ts'
import { notice, standard } from '@mailroom/mail-reading/test/report-samples.ts'
import fc from 'fast-check'
import { openParserPool, REPORT_INLINE_BYTES_MAX } from '#parser/parser.ts'

const pool = openParserPool({ workersMax: 1, timeoutMs: 2_000 })
after(() => pool.close())

const MIB = 1024 * 1024
/** Processor time: a method that is not linear takes minutes. */
const TIME_MS_MAX = 5_000
const ENVELOPE = { hasNullSender: true }

const HEADS = {
  'plain words': 'From: MAILER-DAEMON@far.example\nSubject: Undelivered mail\n\n',
  HTML: 'From: MAILER-DAEMON@far.example\nSubject: Undelivered mail\nContent-Type: text/html\n\n',
  'a status part':
    'Content-Type: multipart/report; boundary=x\n\n--x\nContent-Type: message/delivery-status\n\n',
  'a feedback part':
    'Content-Type: multipart/report; boundary=x\n\n--x\nContent-Type: message/feedback-report\n\n',
  'a subject': 'From: MAILER-DAEMON@far.example\nSubject: ',
}

const LINES = [
  'user ',
  'unable to ',
  'unable to deliver\n',
  '@',
  'a@b.example ',
  '<a@b.example>:\n550 user\n',
  '"@"@',
  '550 5.1.1 ',
  '-',
  '\r',
  ' \n',
  'X-a: b\n',
  '--- original message\n',
  '<',
  '<b>',
  '{"a":',
  'mailbox exceed quota over ',
  'recipient deliver message mail to sent user ',
  'Final-Recipient: rfc822; a@b.example\nAction: failed\nStatus: 5.0.0\n\n',
  'Diagnostic-Code: smtp;\n x\n',
  'recipients ',
  'address(es) users failed to ',
  `to${'a'.repeat(1_500)}!\n`,
  'deliver',
  `<a@b.example>:\n${`${'word '.repeat(300)}\n`.repeat(40)}${'-----\n'.repeat(4_000)}`,
  `не${' '.repeat(1_900)}\n`,
]

for (const [where, head] of Object.entries(HEADS)) {
  test(`a megabyte of hostile lines as ${where} is read within a second`, () => {
    for (const line of LINES) {
      const raw = Buffer.from(head + line.repeat(Math.ceil(MIB / line.length)))
      const startMs = cpuTimeMs()
      readReport(raw, ENVELOPE)
      const tookMs = cpuTimeMs() - startMs
      assert.ok(tookMs < TIME_MS_MAX, `${JSON.stringify(line)} took ${tookMs.toFixed(0)} ms`)
    }
  })
}

test('many recipients in few octets, each with all the words, are read within a second', () => {
  const one = 'Final-Recipient: rfc822; a@b.example\nAction: failed\nStatus: 5.0.0\n\n'
  const words = `<a@b.example>: ${'user deliver mailbox '.repeat(80)}\n`.repeat(20)
  const parts = `--x\n\n${words}\n--x\nContent-Type: message/delivery-status\n\n${one.repeat(5_000)}`
  const raw = Buffer.from(`Content-Type: multipart/report; boundary=x\n\n${parts}`)
  const startMs = cpuTimeMs()
  assert.equal(readReport(raw, ENVELOPE).kind, 'bounce')
  assert.ok(cpuTimeMs() - startMs < TIME_MS_MAX)
})

test('a report parsed in the main thread delays nobody', () => {
  const head = HEADS['plain words']
  for (const line of LINES) {
    const text = head + line.repeat(Math.ceil(REPORT_INLINE_BYTES_MAX / line.length))
    const raw = Buffer.from(text).subarray(0, REPORT_INLINE_BYTES_MAX)
    readReport(raw, ENVELOPE)
    const startMs = cpuTimeMs()
    readReport(raw, ENVELOPE)
    const tookMs = cpuTimeMs() - startMs
    assert.ok(tookMs < 500, `${JSON.stringify(line.slice(0, 60))} took ${tookMs.toFixed(0)} ms`)
  }
})

test('no octets make the parser throw', () => {
  const samples = [
    standard(['Final-Recipient: rfc822; bob@far.example', 'Action: failed', 'Status: 5.1.1']),
    notice([
      '<bob@far.example>:',
      '550 5.1.1 No such user',
      '',
      '--- Original message',
      '',
      'From: a',
    ]),
  ]
  const damaged = fc
    .tuple(
      fc.constantFrom(...samples),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 40 }),
    )
    .map(([text, changes]) => {
      const raw = Buffer.from(text)
      for (const [place, octet] of changes) raw[place % raw.length] = octet
      return raw
    })
  const input = fc.oneof(fc.uint8Array({ maxLength: 2_000 }), damaged)
  fc.assert(
    fc.property(input, (raw) => {
      const report = readReport(raw, ENVELOPE)
      if (report.kind !== 'bounce') return
      assert.ok(report.recipients.length > 0)
      for (const { diagnostic } of report.recipients) assert.ok(!/[\r\n\0]/.test(diagnostic))
    }),
    { numRuns: 500 },
  )
})

test('any words in a diagnostic stay on one line and within the limit', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 3_000, unit: 'binary' }), (words) => {
      const fields = ['Final-Recipient: rfc822; bob@far.example', 'Action: failed', 'Status: 5.0.0']
      const report = readReport(
        Buffer.from(standard([...fields, `Diagnostic-Code: smtp; ${words}`])),
        ENVELOPE,
      )
      assert.equal(report.kind, 'bounce')
      if (report.kind !== 'bounce') return
      const [first] = report.recipients
      assert.ok(first !== undefined && first.diagnostic.length <= 1_000)
      assert.ok(!/[\r\n\0]/.test(first.diagnostic))
    }),
    { numRuns: 200 },
  )
})

test('only the beginning of a large report is read', () => {
  const text = standard([
    'Final-Recipient: rfc822; bob@far.example',
    'Action: failed',
    'Status: 5.1.1',
  ])
  const raw = Buffer.concat([Buffer.from(text), Buffer.alloc(20 * MIB, 'A')])
  const startMs = cpuTimeMs()
  assert.equal(readReport(raw, ENVELOPE).kind, 'bounce')
  assert.ok(cpuTimeMs() - startMs < TIME_MS_MAX)
})

test('the pool parses small reports at once and large ones in a thread, with equal results', async () => {
  const text = standard([
    'Final-Recipient: rfc822; bob@far.example',
    'Action: failed',
    'Status: 5.1.1',
  ])
  const small = Buffer.from(text)
  const large = Buffer.concat([small, Buffer.alloc(100_000, 'A\n')])
  assert.deepEqual(await pool.readReport(small, ENVELOPE), readReport(small, ENVELOPE))
  assert.deepEqual(await pool.readReport(large, ENVELOPE), readReport(large, ENVELOPE))
})

test('only the part of a large report that is parsed is copied to a thread', async () => {
  const large = Buffer.alloc(30 * MIB, 'A\n')
  await pool.readReport(large.subarray(0, MIB), ENVELOPE)
  const before = process.memoryUsage().arrayBuffers
  const reading = pool.readReport(large, ENVELOPE)
  const copied = process.memoryUsage().arrayBuffers - before
  assert.deepEqual(await reading, { kind: 'none' })
  assert.ok(copied <= 2 * REPORT_BYTES_MAX, `${copied} octets`)
})

test('a report that cannot be parsed in time is no report', async () => {
  const hasty = openParserPool({ workersMax: 1, timeoutMs: 0 })
  try {
    const report = await hasty.readReport(
      Buffer.alloc(2 * MIB, 'unable to deliver a@b.example\n'),
      ENVELOPE,
    )
    assert.deepEqual(report, { kind: 'none' })
  } finally {
    await hasty.close()
  }
})
