import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readAttachment } from '@mailroom/mail/mime/mime-message.ts'
import { TEXT_BYTES_MAX } from '@mailroom/mail/mime/mime-parts.ts'
import {
  ENVELOPE_FIELDS,
  message,
  messageOf,
  multipart,
  part,
  textPart,
} from '@mailroom/mail/test/samples.ts'
import fc from 'fast-check'
import { parseMessage } from '#parse-message.ts'

type File = {
  readonly kind: 'file'
  readonly type: string
  readonly disposition: string
  readonly encoding: string
  readonly content: Buffer
}
type Text = { readonly kind: 'text'; readonly type: string; readonly content: string }
type Multipart = {
  readonly kind: 'multipart'
  readonly subtype: string
  readonly children: readonly Node[]
}
type Node = File | Text | Multipart

const LINES = [...`a,b 1,2 - -- --b --b1 ---b1-- . = =3D é +AOk-`.split(/\s+/), '', ' ']
const LINE_ENDS = ['\r\n', '\n', '\r', '\r\r\n', '\n\n', '\r\n\r\n', '']

const content = fc.oneof(
  fc
    .array(fc.tuple(fc.constantFrom(...LINES), fc.constantFrom(...LINE_ENDS)), { maxLength: 8 })
    .map((lines) => Buffer.from(lines.flat().join(''))),
  fc.uint8Array({ maxLength: 200 }).map((octets) => Buffer.from(octets)),
)

const file: fc.Arbitrary<File> = fc
  .record({
    kind: fc.constant('file' as const),
    type: fc.constantFrom(
      'application/octet-stream',
      'text/csv; charset=utf-16',
      'text/calendar; charset=utf-16; method=REQUEST',
      'text/calendar; charset=utf-7',
      'application/ics',
      'message/rfc822',
      'message/delivery-status',
      'image/png; name="a.png"',
      'text/plain; charset=utf-7',
      'TEXT/HTML; charset=iso-2022-jp',
      '"text/plain"',
      'text',
      'text/(x)plain; name="=?utf-8?Q?=C3=BC?="',
    ),
    disposition: fc.constantFrom('attachment', 'ATTACHMENT; filename="a (1).txt"', 'inline', ''),
    encoding: fc.constantFrom('7bit', '8bit', 'binary', '', 'x-own', 'base64', 'quoted-printable'),
    content,
  })
  // Without a disposition or name these are the text of the message.
  .map((value) =>
    /plain|html|^text$/i.test(value.type) && !/^attachment/i.test(value.disposition)
      ? { ...value, disposition: 'attachment' }
      : value,
  )

const text: fc.Arbitrary<Text> = fc.record({
  kind: fc.constant('text' as const),
  type: fc.constantFrom('text/plain', 'text/html', 'text/plain; charset=utf-7; format=flowed'),
  content: fc.constantFrom('', 'Hello', '<p>--b1</p>', 'a\r\n--\r\nb'),
})

const { node: tree } = fc.letrec<{ node: Multipart; child: Node }>((tie) => ({
  node: fc
    .record({
      kind: fc.constant('multipart' as const),
      subtype: fc.constantFrom('mixed', 'alternative', 'related', 'report', 'digest', 'x-own'),
      children: fc.array(tie('child'), { maxLength: 4 }),
    })
    // Of several texts in these two, one is shown and others are files.
    .map(({ subtype, children, ...node }) => {
      const isChoice = subtype === 'alternative' || subtype === 'related'
      const kept = children.filter((child, at) => !isChoice || at === 0 || child.kind === 'file')
      return { ...node, subtype, children: kept }
    }),
  child: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 4, arbitrary: file },
    { weight: 2, arbitrary: text },
    { weight: 1, arbitrary: tie('node') },
  ),
}))

test('every file in any tree of parts is listed in order and read octet for octet', () => {
  fc.assert(
    fc.property(tree, (root) => {
      const raw = messageFrom(root)
      const files = filesOf(root)
      const { attachments, defects } = parseMessage(raw)
      assert.deepEqual(
        defects.filter((defect) => defect !== 'unseen-part'),
        [],
      )
      const contents = attachments.map((_, index) => readAttachment(raw, index))
      assert.deepEqual(
        contents.map((read) => Buffer.from(read?.content ?? []).toString('latin1')),
        files.map((sent) => sent.content.toString('latin1')),
      )
      assert.deepEqual(
        attachments.map(({ sizeBytes }) => sizeBytes),
        files.map((sent) => sent.content.length),
      )
    }),
    { numRuns: 1_500 },
  )
})

describe('an attachment', () => {
  const CSV = 'a,b\r\n1,2'

  test('that is an enclosed message ends where the enclosed message does', () => {
    const raw = messageOf(part(`${CSV}\r\n`, 'Content-Type: text/csv'))
    assert.equal(contentAt(raw, 0), `${CSV}\r\n`)
  })

  test('that is an enclosed message is that message, even if it was encoded', () => {
    const inner =
      'Subject: inner\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nx\r\n--c--'
    const encoded = (body: string, encoding: string) =>
      part(body, 'Content-Type: message/rfc822', `Content-Transfer-Encoding: ${encoding}`)
    const raw = messageOf(
      multipart('mixed', 'b', [
        encoded(inner, '8bit'),
        encoded(Buffer.from(inner).toString('base64'), 'base64'),
        encoded(inner.replaceAll('=', '=3D'), 'quoted-printable'),
      ]),
    )
    for (const index of [0, 1, 2]) assert.equal(contentAt(raw, index), inner)
  })

  test('keeps its type and name where parsers disagree on the type', () => {
    const odd = part(
      CSV,
      'Content-Type: "text/plain"; name="b.txt"',
      'Content-Disposition: (x)attachment; filename="a \\"1\\".txt"',
    )
    const raw = messageOf(multipart('mixed', 'b', [textPart('Hello'), odd]))
    const { text, attachments } = parseMessage(raw)
    assert.equal(text, 'Hello')
    assert.deepEqual(
      attachments.map(({ filename }) => filename),
      ['a "1".txt'],
    )
    assert.equal(contentAt(raw, 0), CSV)
  })

  test('of a hundred thousand lines is complete', () => {
    const content = 'ab\r\n'.repeat(100_000)
    const raw = messageOf(multipart('mixed', 'b', [part(content, 'Content-Type: text/csv')]))
    assert.deepEqual(parseMessage(raw).defects, [])
    assert.equal(contentAt(raw, 0), content)
  })
})

describe('a text beyond TEXT_BYTES_MAX', () => {
  const long = 'x'.repeat(TEXT_BYTES_MAX)

  test('is an attachment, and the texts before and after it are text', () => {
    const parts = [textPart('before'), textPart(long), textPart('after')]
    const { text, attachments, defects } = parseMessage(messageOf(multipart('mixed', 'b', parts)))
    assert.equal(text, 'before\n\nafter')
    assert.deepEqual(defects, ['text-too-large'])
    assert.deepEqual(
      attachments.map(({ contentType, sizeBytes }) => [contentType, sizeBytes]),
      [['text/plain', TEXT_BYTES_MAX]],
    )
  })

  test('is an attachment too when it is the whole message, or all that is left of one', () => {
    for (const [type, expected] of [
      ['text/plain', 'text/plain'],
      ['text/html', 'text/html'],
      ['multipart/mixed', 'application/octet-stream'],
      ['multipart/mixed; boundary=gone', 'application/octet-stream'],
    ]) {
      const raw = messageOf(part(`${long}\r\n`, `Content-Type: ${type}`))
      const { text, html, attachments } = parseMessage(raw)
      assert.equal(text + html, '')
      assert.deepEqual(
        attachments.map(({ contentType }) => contentType),
        [expected],
      )
      assert.equal(contentAt(raw, 0), `${long}\r\n`)
    }
  })
})

function contentAt(raw: Uint8Array, index: number): string {
  return Buffer.from(readAttachment(raw, index)?.content ?? []).toString('latin1')
}

function filesOf(node: Node): File[] {
  if (node.kind === 'text') return []
  return node.kind === 'file' ? [node] : node.children.flatMap(filesOf)
}

function messageFrom(root: Multipart): Buffer {
  let boundaries = 0
  const CRLF = Buffer.from('\r\n')
  const write = (node: Node): Buffer => {
    if (node.kind === 'text')
      return Buffer.from(`Content-Type: ${node.type}\r\n\r\n${node.content}`)
    if (node.kind === 'file') return writeFile(node)
    // Never equal to a line of the content.
    const boundary = `=_b${boundaries++}`
    const fields = `Content-Type: multipart/${node.subtype}; boundary="${boundary}"\r\n\r\npreamble`
    const children = node.children.flatMap((child) => [
      Buffer.from(`\r\n--${boundary}\r\n`),
      write(child),
    ])
    return Buffer.concat([
      Buffer.from(fields),
      ...children,
      Buffer.from(`\r\n--${boundary}-- \r\nepilogue`),
    ])
  }
  return Buffer.concat([Buffer.from(message(...ENVELOPE_FIELDS)), CRLF, write(root), CRLF])
}

function writeFile({ type, disposition, encoding, content }: File): Buffer {
  const fields = [`Content-Type: ${type}`]
  if (disposition !== '') fields.push(`Content-Disposition: ${disposition}`)
  if (encoding !== '') fields.push(`Content-Transfer-Encoding: ${encoding}`)
  return Buffer.concat([Buffer.from(`${fields.join('\r\n')}\r\n\r\n`), encode(content, encoding)])
}

function encode(content: Buffer, encoding: string): Buffer {
  if (encoding === 'base64') {
    return Buffer.from(content.toString('base64').replace(/.{76}/g, '$&\r\n'))
  }
  if (encoding !== 'quoted-printable') return content
  // Line ends as they are, every other octet beyond letters encoded, and soft line breaks.
  const encoded = content
    .toString('latin1')
    .replace(/[^\r\nA-Za-z]/g, (octet) => {
      return `=${octet.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
    })
    .replace(/(?:=..|[A-Za-z]){20}/g, '$&=\r\n')
  return Buffer.from(encoded, 'latin1')
}
