import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { cpuTimeMs } from '@mailroom/mail/test/samples.ts'
import fc from 'fast-check'
import { classifyBounce, isDeadAddress, saysDeadAddress, stageOf } from '#report/bounce-class.ts'
import { namedRecipients, readNotice } from '#report/failure-notice.ts'
import { openReport, REPORT_LINE_LENGTH_MAX, returnedMessageAt } from '#report/open-report.ts'
import { readComplaint, readServiceNotice } from '#report/read-report.ts'
import { readRecipientGroup, recipientGroups } from '#report/report.ts'
import {
  findAddresses,
  findCodes,
  firstAddress,
  isAbsence,
  isAutomaticAnswer,
  isFailurePhrase,
  isFromMailSystem,
  isNoticeSubject,
  isVague,
  saysDelayed,
} from '#report/report-words.ts'

const LINES = 500
const TIME_MS_MAX = 5_000
const nobody: ReadonlySet<string> = new Set()
const opened = openReport(Buffer.from('Subject: x\n\nx\n'))
const statusFields = [
  'final-recipient',
  'original-recipient',
  'action',
  'status',
  'diagnostic-code',
]

const MATCHERS: Record<string, (line: string) => unknown> = {
  stageOf,
  'classifyBounce of a refusal': (text) =>
    classifyBounce({ enhancedCode: '5.0.0', replyCode: 550, text, stage: 'other' }),
  'classifyBounce of words': (text) =>
    classifyBounce({ enhancedCode: null, replyCode: null, text, stage: 'data' }),
  isDeadAddress: (text) => isDeadAddress({ code: 550, enhanced: null, text }),
  saysDeadAddress,
  readComplaint: (value) =>
    readComplaint({
      ...opened,
      fields: ['from', 'subject', 'content-type'].map((name) => ({ name, value })),
      returned: ['message-id', 'return-path', 'x-original-to', 'to'].map((name) => ({
        name,
        value,
      })),
      contentType: 'multipart/report',
      hasReturnedPart: true,
    }),
  recipientGroups: (line) => recipientGroups([line, ` ${line}`, `Diagnostic-Code: ${line}`]),
  readRecipientGroup: (line) =>
    readRecipientGroup(new Map(statusFields.map((name) => [name, line])), line),
  readNotice: (line) => readNotice([line], { strangers: nobody, subject: line }),
  namedRecipients: (line) => namedRecipients([line, `<a@b.example>: ${line}`, '-----'], nobody),
  findAddresses,
  firstAddress,
  isAbsence: (value) => isAbsence([{ name: 'auto-submitted', value }], value),
  isAutomaticAnswer: (value) => isAutomaticAnswer([{ name: 'auto-submitted', value }]),
  isFailurePhrase,
  isFromMailSystem: (value) => isFromMailSystem([{ name: 'from', value }]),
  isNoticeSubject,
  saysDelayed,
  returnedMessageAt: (line) => returnedMessageAt([line, line]),
  readServiceNotice: (line) => readServiceNotice({ ...opened, lines: [`{${line}`, line] }),
  findCodes,
  isVague,
}

const folder = new URL('../src/report/', import.meta.url)
const sources = [...readdirSync(folder).map((name) => new URL(name, folder))].map((url) =>
  readFileSync(url, 'utf8'),
)
/** The words that the patterns search for, and a few of the comments. */
const words = [...new Set(sources.join('\n').match(/[\p{L}]{2,}/gu))]
const marks = [
  ...' \t@<>.:;=_-*#()[]{}"\'`|,/\\?!0→\u2028',
  '  ',
  '550',
  '5.1.1',
  '--',
  '>>>',
  'a@b.c',
]

const token = fc.oneof(fc.constantFrom(...words), fc.constantFrom(...marks))
const hostile = fc
  .record({
    start: fc.array(token, { maxLength: 2 }),
    unit: fc.array(token, { minLength: 1, maxLength: 3 }),
    between: fc.constantFrom('', ' ', '-'),
    end: fc.constantFrom('', '!', 'x', '\u2028x', ' 550'),
  })
  .map(({ start, unit, between, end }) => {
    const pump = unit.join(between) + between
    const count = Math.ceil(REPORT_LINE_LENGTH_MAX / Math.max(1, pump.length))
    const body = start.join(' ') + pump.repeat(count)
    return body.slice(0, REPORT_LINE_LENGTH_MAX - end.length) + end
  })

/** Inputs that once took seconds. */
const KNOWN = [
  `to${'a'.repeat(REPORT_LINE_LENGTH_MAX - 3)}!`,
  `${'recipients '.repeat(181)}!`,
  `${'to '.repeat(666)}!`,
  `не${' '.repeat(REPORT_LINE_LENGTH_MAX - 3)}x`,
  `Status:${' '.repeat(900)}${'x'.repeat(900)}\u2028x`,
  `${"'".repeat(159)}x a@b.c `.repeat(12),
  `user ${'@'.repeat(600)} `.repeat(3),
  `mailbox ${'is '.repeat(600)}!`,
]

const sample = [...KNOWN, ...fc.sample(hostile, { numRuns: LINES - KNOWN.length, seed: 1 })]

for (const [name, match] of Object.entries(MATCHERS)) {
  test(`${name} takes less than a second for a megabyte of hostile lines`, () => {
    let slowest = { tookMs: 0, line: '' }
    const startMs = cpuTimeMs()
    for (const line of sample) {
      const lineMs = performance.now()
      match(line)
      const tookMs = performance.now() - lineMs
      if (tookMs > slowest.tookMs) slowest = { tookMs, line }
    }
    const tookMs = cpuTimeMs() - startMs
    const culprit = `${slowest.tookMs.toFixed(0)} ms of ${tookMs.toFixed(0)} for ${JSON.stringify(slowest.line.slice(0, 100))}`
    assert.ok(tookMs < TIME_MS_MAX, culprit)
  })
}
