import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readAttachment } from '@mailroom/mail/mime/mime-message.ts'
import { MIME_DEPTH_MAX } from '@mailroom/mail/mime/mime-parts.ts'
import {
  filePart,
  messageOf,
  multipart,
  type Part,
  part,
  textPart,
} from '@mailroom/mail/test/samples.ts'
import { parseMessage } from '#parse-message.ts'

const HTML = 'Content-Type: text/html; charset=utf-8'

describe('attachments', () => {
  test('carry type, size, identifier and place, and their bytes are read by name or index', () => {
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
    const { attachments } = parseMessage(raw)
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
      const read = readAttachment(raw, index)
      assert.deepEqual(read, readAttachment(raw, attachment.filename))
      assert.deepEqual(read?.attachment, attachment)
    }
    assert.equal(Buffer.from(readAttachment(raw, 1)?.content ?? []).toString(), 'file')
    assert.equal(readAttachment(raw, 3), null)
    assert.equal(readAttachment(raw, -1), null)
    assert.equal(readAttachment(raw, 'none'), null)
  })

  test('have safe and unique names, whatever the sender wrote', () => {
    const names = ['../../etc/passwd', 'a.txt', 'a.txt', '', 'x'.repeat(5_000), 'CON']
    const raw = messageOf(
      multipart(
        'mixed',
        'b',
        names.map((name) => filePart(name, Buffer.from('x'))),
      ),
    )
    const { attachments } = parseMessage(raw)
    assert.deepEqual(
      attachments.map(({ filename }) => filename),
      ['passwd', 'a.txt', 'a (2).txt', 'attachment.pdf', 'x'.repeat(200), '_CON'],
    )
    for (const { filename } of attachments) assert.ok(readAttachment(raw, filename))
  })

  test('of any size have the bytes that were sent', () => {
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
    const { attachments } = parseMessage(raw)
    assert.deepEqual(
      attachments.map(({ sizeBytes }) => sizeBytes),
      [200_000, 10, 199_999, token.length],
    )
    for (const [index, content] of [large, large.subarray(0, 10), large.subarray(1)].entries()) {
      const read = readAttachment(raw, index)
      assert.ok(content.equals(read?.content ?? Buffer.of()))
    }
    const alone = readAttachment(messageOf(filePart('a.bin', large)), 'a.bin')
    assert.ok(large.equals(alone?.content ?? Buffer.of()))
  })

  test('enclosed, partial and external messages are opaque attachments', () => {
    for (const type of [
      'message/rfc822',
      'message/partial; id=x',
      'message/external-body; access-type=URL; URL="http://127.0.0.1/"',
    ]) {
      const enclosed = part('Subject: inner\r\n\r\ninner text', `Content-Type: ${type}`)
      const parsed = parseMessage(messageOf(multipart('mixed', 'b', [textPart('Hello'), enclosed])))
      assert.equal(parsed.text, 'Hello')
      assert.deepEqual(
        parsed.attachments.map(({ contentType }) => contentType),
        [type.split(';')[0]],
      )
      const [alone] = parseMessage(messageOf(enclosed)).attachments
      assert.equal(alone?.contentType, type.split(';')[0])
    }
  })

  test('of a message that exceeds a limit end with the rest as one opaque attachment', () => {
    let deep = textPart('innermost')
    for (let level = 0; level <= MIME_DEPTH_MAX; level += 1) {
      deep = multipart('mixed', `b${level}.`, [deep])
    }
    const raw = messageOf(
      multipart('mixed', 'b', [textPart('Hello'), filePart('a.pdf', Buffer.from('file')), deep]),
    )
    const { text, attachments, defects } = parseMessage(raw)
    assert.equal(text, 'Hello')
    assert.deepEqual(defects, ['too-deep'])
    assert.deepEqual(
      attachments.map(({ filename, contentType }) => [filename, contentType]),
      [
        ['a.pdf', 'application/pdf'],
        ['unparsed.eml', 'application/octet-stream'],
      ],
    )
    const rest = readAttachment(raw, 'unparsed.eml')
    assert.equal(rest?.content.length, attachments[1]?.sizeBytes)
    assert.deepEqual(
      Buffer.from(rest?.content ?? []),
      Buffer.from(raw.subarray(raw.length - (rest?.content.length ?? 0))),
    )
  })
})
