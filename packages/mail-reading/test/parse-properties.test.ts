import assert from 'node:assert/strict'
import { test } from 'node:test'
import { safeFileNames } from '@mailroom/mail/file-name.ts'
import { parseMime, readAttachment } from '@mailroom/mail/mime/mime-message.ts'
import { message, multipart, part } from '@mailroom/mail/test/samples.ts'
import fc from 'fast-check'
import PostalMime from 'postal-mime'
import { parseMessage } from '#parse-message.ts'

const FRAGMENTS = [
  ...`; : " ( < > = =? ?= --b --b-- --c text/plain message/rfc822 x''%FF application/pdf
  <p>x</p> =E2=82 w7w=`.split(/\s+/),
  '\r\n',
  '\n',
  '\r\n\r\n',
  ' ',
  '\t',
  '\0',
  '\r',
  'From: a@b.example',
  'Subject: =?utf-8?Q?=C3?=',
  'To: ',
  'Content-Type: ',
  'multipart/mixed; boundary=b',
  'multipart/digest; boundary="c"',
  'text/html; charset=utf-7',
  '; charset=utf-16',
  '; format=flowed',
  'Content-Transfer-Encoding: base64',
  'Content-Transfer-Encoding: quoted-printable',
  'Content-Disposition: attachment; filename*0*=',
  '__proto__: x',
]

const hostile = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...FRAGMENTS).map((text) => Buffer.from(text)) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)) },
    ),
    { maxLength: 80 },
  )
  .map((chunks) => Buffer.concat(chunks))

function assertClean(value: unknown): void {
  if (typeof value === 'string') assert.ok(value.isWellFormed() && !value.includes('\0'))
  else if (typeof value === 'object' && value !== null) Object.values(value).forEach(assertClean)
}

test('any octets give a clean result, and every listed attachment can be read', () => {
  fc.assert(
    fc.property(hostile, (raw) => {
      const parsed = parseMessage(raw)
      assertClean(parsed)
      assert.deepEqual(
        parsed.defects.filter((defect) => defect === 'parse-failed'),
        [],
      )
      for (const attachment of parsed.attachments) {
        const read = readAttachment(raw, attachment.filename)
        assert.deepEqual(read?.attachment, attachment)
        assert.equal(read?.content.byteLength, attachment.sizeBytes)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('plain text reads the same alone and as a part', () => {
  const line = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }).map((text) => text.replace(/[\r\n\0]/g, '')),
    fc.constantFrom(
      '',
      ' ',
      '-- ',
      '> quoted ',
      'flowed ',
      '=',
      '=3D',
      '=ZZ',
      'a=',
      ' stuffed',
      '--b',
      'From x',
      'a\rb',
      'x\r',
      '=\r',
      'a=\rb',
    ),
  )
  const mail = fc.record({
    lines: fc.array(line, { maxLength: 12 }),
    lineEnd: fc.constantFrom('\r\n', '\n', '\r\r\n'),
    encoding: fc.constantFrom(
      '7bit',
      '8bit',
      'base64',
      'quoted-printable',
      'Base64 (x)',
      'x-unknown',
      '',
    ),
    isEncoded: fc.boolean(),
    type: fc.constantFrom(
      'text/plain',
      'Text/Plain; charset="UTF-8"',
      'text/plain; charset=iso-8859-1',
      'text/plain; charset=windows-1251',
      'text/plain; charset=gb18030',
      'text/plain; charset=utf-7',
      'text/plain; charset=x-no-such',
      'text/plain; format=flowed; delsp=yes',
    ),
  })
  fc.assert(
    fc.property(mail, ({ lines, lineEnd, encoding, isEncoded, type }) => {
      const text = lines.join(lineEnd)
      const isBase64 = isEncoded && /base64/i.test(encoding)
      const octets = Buffer.from(text)
      const body = isBase64 ? octets.toString('base64').replace(/.{76}/g, '$&\r\n') : text
      const fields = [`Content-Type: ${type}`, `Content-Transfer-Encoding: ${encoding}`]
      // The line end before a delimiter is the delimiter's, the one before the end the protocol's.
      const alone = parseMessage(message(...fields, '', `${body}\r\n`))
      const { fields: outer, body: parts } = multipart('mixed', 'boundary', [part(body, ...fields)])
      const among = parseMessage(message(...outer, '', parts))
      assert.equal(among.text, alone.text)
    }),
    { numRuns: 2_000 },
  )
})

test('another parser reads the same text and files from well-formed mail', async () => {
  const files = fc.constantFrom(
    ['Content-Type: application/pdf; name="a b.pdf"'],
    ["Content-Type: text/csv; name*0*=utf-8''%C3%BC; name*1=.csv", 'Content-ID: <a@b.example>'],
    ['Content-Type: image/png', 'Content-Disposition: inline; filename="=?utf-8?B?w7w=?=.png"'],
    ['Content-Type: text/plain', 'Content-Disposition: attachment; filename=x.txt; size=4'],
    ['Content-Type: message/rfc822'],
  )
  const leaf = fc.oneof(
    files.map((fields) => part('file', ...fields)),
    fc.constantFrom(part('Hello'), part('Grüße', 'Content-Type: text/plain; charset=utf-8')),
  )
  const inner = fc
    .tuple(fc.constantFrom('mixed', 'alternative', 'related'), fc.array(leaf, { minLength: 1 }))
    .map(([type, parts]) => multipart(type, 'inner', parts))
  const mail = fc.array(fc.oneof(leaf, inner), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(mail, async (parts) => {
      const { fields, body } = multipart('mixed', 'outer', parts)
      const raw = message('From: a@b.example', ...fields, '', body)
      const ours = parseMime(raw)
      const theirs = await PostalMime.parse(raw, { forceRfc822Attachments: true })
      assert.equal(ours.text.trim(), theirs.text?.trim() ?? '')
      assert.deepEqual(
        ours.attachments.map(({ contentType, contentId }) => [contentType, contentId]),
        theirs.attachments.map(({ mimeType, contentId }) => [
          mimeType,
          contentId?.replace(/^<|>$/g, '') ?? null,
        ]),
      )
      assert.deepEqual(
        ours.attachments.map(({ filename }) => filename),
        safeFileNames(theirs.attachments.map((one) => ({ ...one, contentType: one.mimeType }))),
      )
    }),
  )
})
