import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { INLINE_PARSE_BYTES_MAX, MIME_DEPTH_MAX } from '#base/limits.ts'
import {
  isPlainAndSmall,
  parseDefeated,
  parseIfPlainAndSmall,
  parseMessage,
  parsePlainMessage,
  readAttachment,
} from '#mail/parse-message.ts'
import {
  ENVELOPE_FIELDS,
  filePart,
  message,
  messageOf,
  multipart,
  type Part,
  textPart,
} from '#test/mail/samples.ts'

function part(body: string, ...fields: string[]): Part {
  return { fields, body }
}

const HTML = 'Content-Type: text/html; charset=utf-8'

describe('a parsed message', () => {
  test('has the values of its header', async () => {
    const { headers, defects } = await parseMessage(
      message(
        'Received: by a.example',
        'Received: by b.example',
        'From: =?utf-8?Q?J=C3=BCrgen?= <j@x.example>, Second <s@x.example>',
        'To: Box <box@mailroom.example>, other@x.example',
        'Cc: c@x.example',
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
      to: [
        { name: 'Box', address: 'box@mailroom.example' },
        { name: '', address: 'other@x.example' },
      ],
      cc: [{ name: '', address: 'c@x.example' }],
      replyTo: [{ name: '', address: 'r@x.example' }],
      date: Date.UTC(2026, 10, 20, 7, 19),
      automaticReason: 'precedence',
      receivedCount: 2,
    })
    assert.deepEqual(defects, [])
  })

  test('without any header is its body', async () => {
    const { headers, text, defects } = await parseMessage(message('', 'Hello'))
    assert.equal(text, 'Hello')
    assert.equal(headers.messageId, null)
    assert.equal(headers.from, null)
    assert.deepEqual(defects, ['missing-from'])
  })

  test('takes the first of duplicate fields and names them', async () => {
    const { headers, text, defects } = await parseMessage(
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

  test('has both bodies of an alternative', async () => {
    const raw = messageOf(
      multipart('alternative', 'b', [textPart('Hello'), part('<p>Hello</p>', HTML)]),
    )
    const parsed = await parseMessage(raw)
    assert.equal(parsed.text, 'Hello')
    assert.equal(parsed.html, '<p>Hello</p>')
    assert.deepEqual(parsed.attachments, [])
  })

  test('that has only HTML has a text made from it', async () => {
    const parsed = await parseMessage(messageOf(part('<p>Hello <b>there</b></p>', HTML)))
    assert.equal(parsed.html, '<p>Hello <b>there</b></p>')
    assert.match(parsed.text, /^Hello there\s*$/)
    assert.match(parsed.extractedText, /^Hello there\s*$/)
  })

  test('shows the text of a multipart whose boundary is missing or never comes', async () => {
    for (const type of ['multipart/mixed', 'multipart/mixed; boundary="gone"']) {
      const parsed = await parseMessage(messageOf(part('Hello', `Content-Type: ${type}`)))
      assert.equal(parsed.text, 'Hello')
    }
  })

  test('shows the text of a multipart that is never closed', async () => {
    const raw = messageOf(part('--b\r\n\r\nHello', 'Content-Type: multipart/mixed; boundary=b'))
    assert.equal((await parseMessage(raw)).text, 'Hello')
  })
})

describe('attachments', () => {
  test('carry type, size, identifier and place, and their bytes are read by name or index', async () => {
    const image: Part = {
      fields: [
        'Content-Type: IMAGE/PNG; name=x.png',
        'Content-ID: <logo@x>',
        'Content-Transfer-Encoding: base64',
      ],
      body: Buffer.from('image').toString('base64'),
    }
    const raw = messageOf(
      multipart('mixed', 'outer', [
        multipart('related', 'inner', [part('<img src="cid:logo@x">', HTML), image]),
        filePart('名前.pdf', Buffer.from('file')),
        { ...filePart('note.txt', Buffer.from('note'), 'text/plain') },
      ]),
    )
    const { attachments } = await parseMessage(raw)
    assert.deepEqual(attachments, [
      {
        filename: 'x.png',
        contentType: 'image/png',
        sizeBytes: 5,
        contentId: 'logo@x',
        isInline: true,
      },
      {
        filename: '名前.pdf',
        contentType: 'application/pdf',
        sizeBytes: 4,
        contentId: null,
        isInline: false,
      },
      {
        filename: 'note.txt',
        contentType: 'text/plain',
        sizeBytes: 4,
        contentId: null,
        isInline: false,
      },
    ])
    for (const [index, attachment] of attachments.entries()) {
      const read = await readAttachment(raw, index)
      assert.deepEqual(read, await readAttachment(raw, attachment.filename))
      assert.deepEqual(read?.attachment, attachment)
    }
    assert.equal(Buffer.from((await readAttachment(raw, 1))?.content ?? []).toString(), 'file')
    assert.equal(await readAttachment(raw, 3), null)
    assert.equal(await readAttachment(raw, -1), null)
    assert.equal(await readAttachment(raw, 'none'), null)
  })

  test('are safe and unique in name, whatever the sender wrote', async () => {
    const names = ['../../etc/passwd', 'a.txt', 'a.txt', '', 'x'.repeat(5_000), 'CON']
    const raw = messageOf(
      multipart(
        'mixed',
        'b',
        names.map((name) => filePart(name, Buffer.from('x'))),
      ),
    )
    const { attachments } = await parseMessage(raw)
    assert.deepEqual(
      attachments.map(({ filename }) => filename),
      ['passwd', 'a.txt', 'a (2).txt', 'attachment.pdf', 'x'.repeat(200), '_CON'],
    )
    for (const { filename } of attachments) assert.ok(await readAttachment(raw, filename))
  })

  test('of any size have the bytes that were sent', async () => {
    const large = Buffer.from(Uint8Array.from({ length: 200_000 }, (_, index) => index * 7))
    const token = Buffer.from('large body of this message 0')
    const raw = messageOf(
      multipart('mixed', 'b', [
        textPart('Hello'),
        filePart('a.bin', large),
        filePart('b.bin', large.subarray(0, 10)),
        filePart('c.bin', large.subarray(1)),
        filePart('d.bin', token),
      ]),
    )
    const { attachments } = await parseMessage(raw)
    assert.deepEqual(
      attachments.map(({ sizeBytes }) => sizeBytes),
      [200_000, 10, 199_999, token.length],
    )
    for (const [index, content] of [large, large.subarray(0, 10), large.subarray(1)].entries()) {
      const read = await readAttachment(raw, index)
      assert.ok(content.equals(read?.content ?? Buffer.of()))
    }
    const alone = await readAttachment(messageOf(filePart('a.bin', large)), 'a.bin')
    assert.ok(large.equals(alone?.content ?? Buffer.of()))
  })

  test('enclosed, partial and external messages are opaque attachments', async () => {
    for (const type of [
      'message/rfc822',
      'message/partial; id=x',
      'message/external-body; access-type=URL; URL="http://127.0.0.1/"',
    ]) {
      const enclosed = part('Subject: inner\r\n\r\ninner text', `Content-Type: ${type}`)
      const parsed = await parseMessage(
        messageOf(multipart('mixed', 'b', [textPart('Hello'), enclosed])),
      )
      assert.equal(parsed.text, 'Hello')
      assert.deepEqual(
        parsed.attachments.map(({ contentType }) => contentType),
        [type.split(';')[0]],
      )
      const [alone] = (await parseMessage(messageOf(enclosed))).attachments
      assert.equal(alone?.contentType, type.split(';')[0])
    }
  })

  test('of a message that breaks a bound end with the rest as one opaque attachment', async () => {
    let deep = textPart('innermost')
    for (let level = 0; level <= MIME_DEPTH_MAX; level += 1) {
      deep = multipart('mixed', `b${level}.`, [deep])
    }
    const raw = messageOf(
      multipart('mixed', 'b', [textPart('Hello'), filePart('a.pdf', Buffer.from('file')), deep]),
    )
    const { text, attachments, defects } = await parseMessage(raw)
    assert.equal(text, 'Hello')
    assert.deepEqual(defects, ['too-deep'])
    assert.deepEqual(
      attachments.map(({ filename, contentType }) => [filename, contentType]),
      [
        ['a.pdf', 'application/pdf'],
        ['unparsed.eml', 'application/octet-stream'],
      ],
    )
    const rest = await readAttachment(raw, 'unparsed.eml')
    assert.equal(rest?.content.length, attachments[1]?.sizeBytes)
    assert.deepEqual(
      Buffer.from(rest?.content ?? []),
      Buffer.from(raw.subarray(raw.length - (rest?.content.length ?? 0))),
    )
  })
})

describe('text', () => {
  const bodies: [string, string, string, Buffer, string][] = [
    [
      'quoted-printable',
      'utf-8',
      'quoted-printable',
      Buffer.from('Gr=C3=BC=\r\n=C3=9Fe =\r\nx'),
      'Grüße x',
    ],
    ['base64', 'utf-8', 'base64', Buffer.from('R3LDvMOfZQ0KeA=='), 'Grüße\nx'],
    ['iso-8859-1', 'iso-8859-1', '8bit', Buffer.from('Gr\xfc\xdfe', 'latin1'), 'Grüße'],
    ['gb18030', 'gb18030', '8bit', Buffer.from('c4e3bac3', 'hex'), '你好'],
    ['iso-2022-jp', 'iso-2022-jp', '7bit', Buffer.from('\x1b$B$3$s\x1b(B', 'latin1'), 'こん'],
    [
      'utf-16',
      'utf-16le',
      'base64',
      Buffer.from(Buffer.from('hé', 'utf16le').toString('base64')),
      'hé',
    ],
    ['utf-7', 'utf-7', '7bit', Buffer.from('Fr+APY-sche +- x'), 'Frösche + x'],
    ['an unknown charset', 'x-no-such', '8bit', Buffer.from('Gr\xfc\xdfe', 'latin1'), 'Grüße'],
    ['invalid UTF-8', 'utf-8', '8bit', Buffer.from('a\xffb', 'latin1'), 'a\ufffdb'],
    ['NUL', 'utf-8', '8bit', Buffer.from('a\0b'), 'ab'],
    [
      'lone surrogates',
      'utf-16le',
      'base64',
      Buffer.from(Buffer.from([0x00, 0xd8, 0x61, 0]).toString('base64')),
      '\ufffda',
    ],
  ]
  for (const [name, charset, encoding, body, expected] of bodies) {
    test(`in ${name} is decoded alone and in a multipart, as far as that is safe`, async () => {
      const fields = [
        `Content-Type: text/plain; charset=${charset}`,
        `Content-Transfer-Encoding: ${encoding}`,
        '',
        '',
      ]
      const alone = Buffer.concat([message('From: a@x.example', ...fields), body])
      assert.equal((await parseMessage(alone)).text, expected)
      const start = message('Content-Type: multipart/mixed; boundary=b', '', '--b', ...fields)
      const inParts = Buffer.concat([start, body, Buffer.from('\r\n--b--\r\n')])
      const { text } = await parseMessage(inParts)
      if (charset !== 'utf-7' && !name.startsWith('an unknown')) assert.equal(text, expected)
      assert.ok(text.isWellFormed() && !text.includes('\0'))
    })
  }

  test('that is flowed is joined by quote depth, and the signature mark stays', async () => {
    const flowed = 'Content-Type: text/plain; format=flowed'
    const lines = ['One ', 'two', '', '> a ', '> b', '>> c ', '> d', ' > stuffed', '-- ', 'Ada']
    const { text } = await parseMessage(message(flowed, '', ...lines))
    assert.equal(text, 'One two\n\n> a b\n>> c \n> d\n> stuffed\n-- \nAda')
    const delSp = await parseMessage(message(`${flowed}; delsp=yes`, '', '日本 ', '語'))
    assert.equal(delSp.text, '日本語')
  })

  test('of HTML in UTF-7 is never decoded to markup', async () => {
    const raw = messageOf(
      part('+ADw-script+AD4-x+ADw-/script+AD4-', 'Content-Type: text/html; charset=utf-7'),
    )
    assert.ok(!(await parseMessage(raw)).html.includes('<script'))
  })

  test('everywhere is free of NUL', async () => {
    const fields = ['Subject: a\0b', 'From: "N\0" <a\0@x.example>', 'Message-ID: <1\0@x.example>']
    const { fields: types, body } = multipart('mixed', 'b', [
      textPart('te\0xt'),
      part('<p>h\0</p>', HTML),
      filePart('a\0.pdf', Buffer.from('x')),
    ])
    const parsed = await parseMessage(message(...fields, ...types, '', body))
    assert.ok(!JSON.stringify(parsed).includes('\\u0000'))
    assert.equal(parsed.headers.subject, 'ab')
    assert.equal(parsed.headers.messageId, '<1@x.example>')
    assert.equal(parsed.attachments[0]?.filename, 'a.pdf')
  })

  test('of names like __proto__ changes nothing but itself', async () => {
    const raw = message(
      '__proto__: x',
      'constructor: y',
      'Content-Type: text/plain; __proto__=x; charset=utf-8; toString*0=z',
      '',
      'Hello',
    )
    assert.equal((await parseMessage(raw)).text, 'Hello')
    assert.equal(Object.keys(Object.prototype).length, 0)
  })
})

describe('the way past the parser', () => {
  test('is open to small plain mail only', () => {
    const small = message(...ENVELOPE_FIELDS, '', 'Hello')
    assert.equal(isPlainAndSmall(small), true)
    assert.equal(parsePlainMessage(small).text, 'Hello')
    assert.deepEqual(parseIfPlainAndSmall(small), parsePlainMessage(small))
    const large = message(...ENVELOPE_FIELDS, '', 'x'.repeat(INLINE_PARSE_BYTES_MAX))
    const attached = message('Content-Disposition: attachment; filename=a.txt', '', 'Hello')
    for (const raw of [
      large,
      attached,
      messageOf(part('<p>x</p>', HTML)),
      messageOf(multipart('mixed', 'b', [])),
    ]) {
      assert.equal(isPlainAndSmall(raw), false)
      assert.equal(parseIfPlainAndSmall(raw), null)
    }
  })

  test('of a defeated parser keeps the header and the whole message', () => {
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
