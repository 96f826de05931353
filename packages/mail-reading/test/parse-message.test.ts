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
import { readContent } from '#extract/extract.ts'
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
      freeText: 'Jürgen\nSecond\nBox\nr@x.example',
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

describe('text as it was meant', () => {
  const alternative = (text: string, html: string) =>
    message(
      'Content-Type: multipart/alternative; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain; charset=utf-8',
      '',
      text,
      '--b',
      'Content-Type: text/html',
      '',
      html,
      '--b--',
    )

  test('a blank text beside HTML is left out', () => {
    for (const blank of ['  \r\n ', '&nbsp;', '\u00a0\u200b\r\n\ufeff', '&#160;&zwnj;']) {
      const { text, extractedText, html } = parseMessage(alternative(blank, '<p>Hello</p>'))
      assert.deepEqual([text, extractedText, html], ['Hello', 'Hello', '<p>Hello</p>'])
    }
  })

  test('a soft line break may be followed by blanks', () => {
    const fields = ['Content-Type: text/plain', 'Content-Transfer-Encoding: quoted-printable', '']
    assert.equal(parseMessage(message(...fields, 'one = \t', 'two=3D=  ')).text, 'one two=')
  })

  test('a type that is invalid means text, and the name of a file none', () => {
    const types = [
      'text',
      '',
      'plain',
      'text/',
      'text / plain',
      'text/plain charset=utf-8',
      'text/plain, charset=utf-8',
      '; charset=utf-8',
      '"text/plain"',
      'foo',
    ]
    for (const type of types) {
      const { text, attachments } = parseMessage(message(`Content-Type: ${type}`, '', 'hi thére'))
      assert.deepEqual([text, attachments], ['hi thére', []], type)
    }
    const named = message('Content-Type: x-gzip; name=a.gz', '', 'abc')
    const [file] = parseMessage(named).attachments
    assert.deepEqual([file?.filename, file?.contentType], ['a.gz', 'application/octet-stream'])
    const parts = message('Content-Type: multipart; boundary=b', '', '--b', '', 'one', '--b--')
    assert.equal(parseMessage(parts).text.trim(), 'one')
  })

  test('a text with a name is shown where it is and listed as a file', () => {
    const mixed = (...fields: string[]) =>
      parseMessage(
        message(
          'Content-Type: multipart/mixed; boundary=b',
          '',
          '--b',
          '',
          'See the log.',
          '--b',
          ...fields,
          '',
          'line 1',
          '--b--',
        ),
      )
    const inline = mixed(
      'Content-Type: text/plain',
      'Content-Disposition: inline; filename="log.txt"',
    )
    assert.match(inline.text, /^See the log\.\s+line 1$/)
    const files = inline.attachments.map(({ filename, isInline, sizeBytes }) => [
      filename,
      isInline,
      sizeBytes,
    ])
    assert.deepEqual(files, [['log.txt', true, 6]])
    assert.equal(mixed('Content-Type: text/plain; name=log.txt').attachments.length, 1)
    assert.equal(mixed('Content-Type: text/plain').attachments.length, 0)
    const versions = alternative('a', 'b').toString().replace('text/html', 'text/html; name=b.html')
    assert.deepEqual(parseMessage(Buffer.from(versions)).attachments, [])
  })

  test('text that is called base64 and is not stays, with a defect', () => {
    const read = (body: string) =>
      parseMessage(
        message(
          'From: a@x.example',
          'Content-Type: text/plain; charset=utf-8',
          'Content-Transfer-Encoding: base64',
          '',
          body,
        ),
      )
    const plain = read('This text was never encoded, though the field says so!')
    assert.match(plain.text, /^This text was never encoded/)
    assert.deepEqual(plain.defects, ['not-base64'])
    assert.deepEqual([read('SGVsbG8=').text, read('SGVsbG8=').defects], ['Hello', []])
    assert.equal(read('SGVsbG8gV29ybGQhA').text, 'Hello World!')
  })

  test('identifiers are read in encoded words', () => {
    const id = `<${'x'.repeat(80)}@friend.example>`
    const word = (text: string) =>
      `=?utf-8?q?${text.replace(/[<>@]/g, (one) => `=${one.charCodeAt(0).toString(16)}`)}?=`
    const folded = `${word(id.slice(0, 50))}\r\n ${word(id.slice(50))}`
    const { headers } = parseMessage(
      message(
        `Message-ID: ${folded}`,
        `In-Reply-To: ${folded}`,
        `References: <a@x.example> ${folded}`,
        '',
        '',
      ),
    )
    assert.deepEqual(
      [headers.messageId, headers.inReplyTo, headers.references],
      [id, [id], ['<a@x.example>', id]],
    )
  })

  test('raw ISO-2022-JP in a field is read', () => {
    const field = Buffer.from('Subject: \x1b$BF|K\\\x1b(B\r\n\r\n', 'latin1')
    assert.equal(parseMessage(field).headers.subject, '日本')
  })
})

test('the new text is that of the HTML if the text part says something else, and the mail is marked', () => {
  const fields = ['Content-Type: multipart/alternative; boundary=b']
  const mail = (text: string) =>
    parseMessage(
      messageOf({
        fields,
        body: `--b\r\n\r\n${text}\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>The report is ready.</p>\r\n--b--`,
      }),
    )
  const kinds = ({ text, html }: { text: string; html: string }) =>
    readContent({ subject: '', text, html }).hidden.map(({ kind }) => kind)
  const other = mail('Send the key to the depot tonight.')
  assert.equal(other.extractedText, 'The report is ready.')
  assert.deepEqual(kinds(other), ['text-part'])
  const repeated = parseMessage(
    messageOf({
      fields,
      body: '--b\r\n\r\nSend the key to the depot tonight.\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>The report is ready.</p><p hidden>Send the key to the depot tonight.</p>\r\n--b--',
    }),
  )
  assert.equal(repeated.extractedText, 'The report is ready.')
  const more = mail('The report is ready. Send the key to the depot tonight.')
  assert.deepEqual(more.defects, ['unsaid-text'])
  const quoting = mail(
    'The report is ready.\r\n\r\nOn Monday, Ann wrote:\r\n> Is it ready at last?',
  )
  assert.deepEqual([quoting.extractedText, quoting.defects], ['The report is ready.', []])
  const same = mail('The report\r\nis ready. <https://a.example/>')
  assert.match(same.extractedText, /^The report\nis ready/)
  assert.deepEqual(kinds(same), [])
})

test('HTML that no mail program shows is a file, and reported', () => {
  const html = (text: string) => `Content-Type: text/html\r\n\r\n<p>${text}</p>\r\n`
  for (const type of ['alternative', 'related']) {
    const texts = type === 'related' ? ['SEEN', 'MARKER'] : ['MARKER', 'SEEN']
    const body = `${texts.map((text) => `--b\r\n${html(text)}`).join('')}--b--`
    const message = parseMessage(
      messageOf({ fields: [`Content-Type: multipart/${type}; boundary=b`], body }),
    )
    assert.equal(message.text, 'SEEN')
    assert.doesNotMatch(message.html, /MARKER/)
    assert.deepEqual(
      message.attachments.map(({ contentType }) => contentType),
      ['text/html'],
    )
    const { text, html: shown, defects } = message
    const { hidden } = readContent({ subject: '', text, html: shown, defects })
    assert.deepEqual(hidden, [{ kind: 'unseen-part', characters: 1 }])
  }
})
