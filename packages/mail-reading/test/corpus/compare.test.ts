import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AgreedMessage, compareMessage, type ReadMessage } from './compare.ts'
import { CorpusTally } from './tally.ts'

const SHA256 = 'ab'.repeat(32)
const READ: ReadMessage = {
  messageId: '<1@x.example>',
  subject: 'Größe  one',
  inReplyTo: ['<0@x.example>'],
  references: [],
  from: ['Ada@x.example'],
  to: ['b@x.example', 'a@x.example'],
  attachments: [{ filename: 'a.pdf', contentType: 'x/y', sizeBytes: 1, sha256: SHA256 }],
}
const AGREED: AgreedMessage = {
  file: 'f',
  message_id: '<1@x.example>',
  subject: 'Größe one',
  in_reply_to: ['<0@x.example>'],
  references: [],
  from: ['ada@x.example'],
  to: ['a@x.example', 'b@x.example', ''],
  attachments: [{ filename: null, contentType: 'x/y', size: 1, sha256_16: SHA256.slice(0, 16) }],
}

test('an equal message has no difference, ignoring order, case and folding', () => {
  assert.deepEqual(compareMessage(AGREED, READ), {
    headersJudged: 6,
    headerDifferences: [],
    attachmentsJudged: 1,
    attachmentDifferences: [],
    superfluousAttachments: [],
  })
})

test('fields on which nobody agrees are not judged', () => {
  assert.equal(compareMessage({ file: 'f' }, READ).headersJudged, 0)
  assert.equal(compareMessage({ file: 'f' }, READ).superfluousAttachments.length, 0)
})

test('each field that differs is a difference', () => {
  const other: ReadMessage = {
    messageId: null,
    subject: 'Other',
    inReplyTo: [],
    references: ['<x@y>'],
    from: [],
    to: ['a@x.example'],
    attachments: [],
  }
  const { headerDifferences, attachmentDifferences } = compareMessage(AGREED, other)
  assert.deepEqual(
    headerDifferences.map(({ field }) => field),
    ['message_id', 'subject', 'in_reply_to', 'references', 'from', 'to'],
  )
  assert.equal(attachmentDifferences.length, 1)
})

test('text that the parsers could not decode may be decoded, but the text around it must be the same', () => {
  const subject = (expected: string, actual: string) =>
    compareMessage({ file: 'f', subject: expected }, { ...READ, subject: actual }).headerDifferences
      .length
  assert.equal(subject('Hello Gr\ufffd\ufffde there', 'Hello Größe there'), 0)
  assert.equal(subject('Hello Gr\ufffd\ufffde there', 'Other Größe there'), 1)
})

test('figures count fields, agreed attachments and whole messages', () => {
  const tally = new CorpusTally()
  tally.add('one', compareMessage(AGREED, READ))
  tally.add('two', compareMessage(AGREED, { ...READ, subject: 'x', attachments: [] }))
  const figures = tally.figures()
  assert.equal(figures.headersPercent, (100 * 11) / 12)
  assert.equal(figures.attachmentsPercent, 50)
  assert.equal(figures.exactPercent, 50)
  assert.equal(figures.differences.length, 2)
})
