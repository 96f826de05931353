// What must hold of any octets at all, and of plain text alone and among parts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseMessage, readAttachment } from '#mail/parse-message.ts'
import { message, multipart, part } from '#test/mail/samples.ts'

const FRAGMENTS = [
  '\r\n',
  '\n',
  '\r\n\r\n',
  ' ',
  '\t',
  '\0',
  '\r',
  ';',
  ':',
  '"',
  '(',
  '<',
  '>',
  '=',
  '=?',
  '?=',
  '--b',
  '--b--',
  '--c',
  'From: a@b.example',
  'Subject: =?utf-8?Q?=C3?=',
  'To: ',
  'Content-Type: ',
  'multipart/mixed; boundary=b',
  'multipart/digest; boundary="c"',
  'text/plain',
  'text/html; charset=utf-7',
  '; charset=utf-16',
  '; format=flowed',
  'message/rfc822',
  'Content-Transfer-Encoding: base64',
  'Content-Transfer-Encoding: quoted-printable',
  'Content-Disposition: attachment; filename*0*=',
  "x''%FF",
  'application/pdf',
  '__proto__: x',
  '<p>x</p>',
  '=E2=82',
  'w7w=',
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

test('whatever the octets, there is a clean result and every listed attachment can be read', async () => {
  await fc.assert(
    fc.asyncProperty(hostile, async (raw) => {
      const parsed = await parseMessage(raw)
      assertClean(parsed)
      assert.deepEqual(
        parsed.defects.filter((defect) => defect === 'parse-failed'),
        [],
      )
      for (const attachment of parsed.attachments) {
        const read = await readAttachment(raw, attachment.filename)
        assert.deepEqual(read?.attachment, attachment)
        assert.equal(read?.content.byteLength, attachment.sizeBytes)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('plain text is the same alone and as a part', async () => {
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
  await fc.assert(
    fc.asyncProperty(mail, async ({ lines, lineEnd, encoding, isEncoded, type }) => {
      const text = lines.join(lineEnd)
      const isBase64 = isEncoded && /base64/i.test(encoding)
      const octets = Buffer.from(text)
      const body = isBase64 ? octets.toString('base64').replace(/.{76}/g, '$&\r\n') : text
      const fields = [`Content-Type: ${type}`, `Content-Transfer-Encoding: ${encoding}`]
      // The line end before a delimiter is the delimiter's, the one before the end the protocol's.
      const alone = await parseMessage(message(...fields, '', `${body}\r\n`))
      const { fields: outer, body: parts } = multipart('mixed', 'boundary', [part(body, ...fields)])
      const among = await parseMessage(message(...outer, '', parts))
      assert.equal(among.text, alone.text)
    }),
    { numRuns: 2_000 },
  )
})
