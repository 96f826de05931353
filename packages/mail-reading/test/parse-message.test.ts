import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { INLINE_PARSE_BYTES_MAX } from '@mailroom/mail/mime/mime-message.ts'
import {
  ENVELOPE_FIELDS,
  message,
  messageOf,
  multipart,
  part,
  textPart,
} from '@mailroom/mail/test/samples.ts'
import { parseDefeated, parseIfPlainAndSmall, parseMessage } from '#parse-message.ts'

const HTML = 'Content-Type: text/html; charset=utf-8'

describe('a parsed message', () => {
  test('has the values of its header', () => {
    const { headers, defects } = parseMessage(
      message(
        'Received: by a.example',
        'Received: by b.example',
        'From: =?utf-8?Q?J=C3=BCrgen?= <j@x.example>, Second <s@x.example>',
        'To: Box <box@mailroom.example>, other@x.example',
        'Cc: c@x.example',
        'Bcc: Hidden <h@x.example>',
        'Bcc: k@x.example, H@x.example',
        'Reply-To: r@x.example',
        'Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=',
        'Message-ID: <1@x.example>',
        'In-Reply-To: <0@x.example>',
        'References: <a@x.example> <0@x.example>',
        'Date: Fri, 20 Nov 2026 07:19:00 +0000',
        'Precedence: list',
        '',
        'Hello',
      ),
    )
    assert.deepEqual(headers, {
      messageId: '<1@x.example>',
      inReplyTo: ['<0@x.example>'],
      references: ['<a@x.example>', '<0@x.example>'],
      subject: 'Grüße',
      from: { name: 'Jürgen', address: 'j@x.example' },
      authorCount: 2,
      to: [
        { name: 'Box', address: 'box@mailroom.example' },
        { name: '', address: 'other@x.example' },
      ],
      cc: [{ name: '', address: 'c@x.example' }],
      bcc: [
        { name: 'Hidden', address: 'h@x.example' },
        { name: '', address: 'k@x.example' },
      ],
      replyTo: [{ name: '', address: 'r@x.example' }],
      date: Date.UTC(2026, 10, 20, 7, 19),
      automaticReason: 'precedence',
      receivedCount: 2,
      loopMarks: [],
      hasListId: false,
      kindSigns: [{ rule: 'precedence', says: 'list', detail: 'Precedence: list' }],
    })
    assert.deepEqual(defects, [])
  })

  test('without any header is its body', () => {
    const { headers, text, defects } = parseMessage(message('', 'Hello'))
    assert.equal(text, 'Hello')
    assert.equal(headers.messageId, null)
    assert.equal(headers.from, null)
    assert.deepEqual(defects, ['missing-from'])
  })

  test('takes the first of duplicate fields and names them', () => {
    const { headers, text, defects } = parseMessage(
      message(
        'From: first@x.example',
        'From: second@x.example',
        'Subject: first',
        'Subject: second',
        'Message-ID: <first@x.example>',
        'Message-ID: <second@x.example>',
        'Content-Type: text/plain',
        'Content-Type: text/html',
        '',
        '<b>Hello</b>',
      ),
    )
    assert.equal(headers.from?.address, 'first@x.example')
    assert.equal(headers.subject, 'first')
    assert.equal(headers.messageId, '<first@x.example>')
    assert.equal(text, '<b>Hello</b>')
    assert.deepEqual(defects, [
      'duplicate-from',
      'duplicate-subject',
      'duplicate-message-id',
      'duplicate-content-type',
    ])
  })

  test('has both bodies of an alternative', () => {
    const raw = messageOf(
      multipart('alternative', 'b', [textPart('Hello'), part('<p>Hello</p>', HTML)]),
    )
    const parsed = parseMessage(raw)
    assert.equal(parsed.text, 'Hello')
    assert.equal(parsed.html, '<p>Hello</p>')
    assert.deepEqual(parsed.attachments, [])
  })

  test('that has only HTML has a text made from it', () => {
    const parsed = parseMessage(messageOf(part('<p>Hello <b>there</b></p>', HTML)))
    assert.equal(parsed.html, '<p>Hello <b>there</b></p>')
    assert.match(parsed.text, /^Hello there\s*$/)
    assert.match(parsed.extractedText, /^Hello there\s*$/)
  })

  test('shows the text of a multipart whose boundary is missing or never comes', () => {
    for (const type of ['multipart/mixed', 'multipart/mixed; boundary="gone"']) {
      const parsed = parseMessage(messageOf(part('Hello', `Content-Type: ${type}`)))
      assert.equal(parsed.text, 'Hello')
    }
  })

  test('shows the text of a multipart that is never closed', () => {
    const raw = messageOf(part('--b\r\n\r\nHello', 'Content-Type: multipart/mixed; boundary=b'))
    assert.equal(parseMessage(raw).text, 'Hello')
  })
})

describe('the fast path around the parser', () => {
  test('takes only small plain mail', () => {
    const small = message(...ENVELOPE_FIELDS, '', 'Hello')
    assert.deepEqual(parseIfPlainAndSmall(small), parseMessage(small))
    const large = message(...ENVELOPE_FIELDS, '', 'x'.repeat(INLINE_PARSE_BYTES_MAX))
    const attached = message('Content-Disposition: attachment; filename=a.txt', '', 'Hello')
    for (const raw of [
      large,
      attached,
      messageOf(part('<p>x</p>', HTML)),
      messageOf(multipart('mixed', 'b', [])),
    ]) {
      assert.equal(parseIfPlainAndSmall(raw), null)
    }
  })

  test('that defeats the parser keeps its header and the whole message', () => {
    const raw = messageOf(multipart('mixed', 'b', [textPart('Hello')]))
    const parsed = parseDefeated(raw, 'parse-timed-out')
    assert.equal(parsed.headers.subject, 'Sample')
    assert.equal(parsed.text, '')
    assert.deepEqual(parsed.defects, ['parse-timed-out'])
    assert.deepEqual(parsed.attachments, [
      {
        filename: 'unparsed.eml',
        contentType: 'application/octet-stream',
        sizeBytes: raw.length,
        contentId: null,
        isInline: false,
      },
    ])
  })
})
