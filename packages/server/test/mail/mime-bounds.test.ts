// Where a message is cut that breaks a bound of structure.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HEADER_FIELDS_MAX, MIME_DEPTH_MAX, MIME_LINES_MAX, MIME_PARTS_MAX } from '#base/limits.ts'
import { scanMime } from '#mail/mime-bounds.ts'
import {
  cpuTimeMs,
  ENVELOPE_FIELDS,
  filePart,
  message,
  messageOf,
  multipart,
  type Part,
  textPart,
} from '#test/mail/samples.ts'

function findMimeBreach(raw: Uint8Array) {
  return scanMime(raw).breach
}

function restOf(raw: Uint8Array): string {
  const breach = findMimeBreach(raw)
  assert.ok(breach)
  return Buffer.from(raw.subarray(breach.cutAt)).toString()
}

function nested(depth: number): Part {
  let part = textPart('innermost')
  for (let level = depth; level > 0; level -= 1) part = multipart('mixed', `b${level}.`, [part])
  return part
}

describe('the bounds of MIME structure', () => {
  test('ordinary mail keeps them', () => {
    const parts = [textPart('Hello'), filePart('a.pdf', new Uint8Array(100_000))]
    assert.equal(findMimeBreach(messageOf(multipart('mixed', 'b', parts))), null)
    assert.equal(findMimeBreach(message(...ENVELOPE_FIELDS, '', 'Hello')), null)
    assert.equal(findMimeBreach(new Uint8Array()), null)
  })

  test('the part too many is where the rest begins', () => {
    const parts = Array.from({ length: MIME_PARTS_MAX }, (_, index) => textPart(`part ${index}`))
    const raw = messageOf(multipart('mixed', 'b', parts))
    assert.equal(findMimeBreach(raw)?.defect, 'too-many-parts')
    assert.match(restOf(raw), /^--b\r\n.*\r\n\r\npart 999\r\n--b--\r\n$/)
    const fewer = messageOf(multipart('mixed', 'b', parts.slice(1)))
    assert.equal(findMimeBreach(fewer), null)
  })

  test('the multipart too deep is where the rest begins', () => {
    assert.equal(findMimeBreach(messageOf(nested(MIME_DEPTH_MAX))), null)
    const raw = messageOf(nested(MIME_DEPTH_MAX + 1))
    assert.equal(findMimeBreach(raw)?.defect, 'too-deep')
    assert.match(restOf(raw), /^--b50\.\r\nContent-Type: multipart\/mixed; boundary="b51\."/)
  })

  test('an enclosed message is one level of depth', () => {
    const enclosed = (depth: number) =>
      message(...ENVELOPE_FIELDS, 'Content-Type: message/rfc822\r\n\r\n'.repeat(depth), 'text')
    assert.equal(findMimeBreach(enclosed(MIME_DEPTH_MAX)), null)
    assert.equal(findMimeBreach(enclosed(MIME_DEPTH_MAX + 1))?.defect, 'too-deep')
  })

  test('an enclosed message that follows another at the same level is no deeper', () => {
    const one: Part = { fields: ['Content-Type: message/rfc822'], body: 'Subject: x\r\n\r\ny' }
    const raw = messageOf(
      multipart(
        'digest',
        'b',
        Array.from({ length: 200 }, () => one),
      ),
    )
    assert.equal(findMimeBreach(raw), null)
  })

  test('the line too many is where the rest begins', () => {
    const raw = message('Subject: x', '', ...Array.from({ length: MIME_LINES_MAX + 9 }, () => 'a'))
    assert.equal(findMimeBreach(raw)?.defect, 'too-many-lines')
    assert.equal(restOf(raw).split('\r\n').length, 10)
  })

  test('long lines of base64 do not count, short ones and other encodings do', () => {
    const file = filePart('a.bin', new Uint8Array(57 * (MIME_LINES_MAX + 100)))
    assert.equal(findMimeBreach(messageOf(multipart('mixed', 'b', [file]))), null)
    const plain = { ...file, fields: ['Content-Type: x/y'] }
    const raw = messageOf(multipart('mixed', 'b', [plain]))
    assert.equal(findMimeBreach(raw)?.defect, 'too-many-lines')
    const short = { ...file, body: 'AA==\r\n'.repeat(MIME_LINES_MAX + 1) }
    assert.equal(
      findMimeBreach(messageOf(multipart('mixed', 'b', [short])))?.defect,
      'too-many-lines',
    )
  })

  test('lines of text after a base64 part count again', () => {
    const file = filePart('a.bin', new Uint8Array(100))
    const text = textPart(`${'x'.repeat(70)}\r\n`.repeat(MIME_LINES_MAX + 1))
    const raw = messageOf(multipart('mixed', 'b', [file, text]))
    assert.equal(findMimeBreach(raw)?.defect, 'too-many-lines')
  })

  test('the header bounds hold for parts too', () => {
    const fields = Array.from({ length: HEADER_FIELDS_MAX + 1 }, () => 'X-Field: value')
    const raw = messageOf(multipart('mixed', 'b', [{ fields, body: 'x' }]))
    assert.equal(findMimeBreach(raw)?.defect, 'too-many-header-fields')
    assert.equal(findMimeBreach(message(...fields, '', ''))?.defect, 'too-many-header-fields')
  })

  test('large base64 files are found where they lie, but none within an enclosed message', () => {
    const file = filePart('a.bin', new Uint8Array(100_000))
    const small = filePart('b.bin', new Uint8Array(100))
    const raw = messageOf(multipart('mixed', 'b', [textPart('Hello'), file, small, file]))
    const found = scanMime(raw).largeBodies.map(({ start, end }) =>
      Buffer.from(raw.subarray(start, end)).toString().trim(),
    )
    assert.deepEqual(found, [file.body.trim(), file.body.trim()])
    const inner = multipart('mixed', 'c', [file])
    const enclosed = {
      fields: ['Content-Type: message/rfc822'],
      body: Buffer.from(messageOf(inner)).toString(),
    }
    const outer = messageOf(multipart('mixed', 'b', [enclosed, file]))
    assert.equal(scanMime(outer).largeBodies.length, 1)
  })

  test('25 MB of text lines or 30 MB of base64 are scanned in no time', () => {
    const empty = Buffer.alloc(25e6, '\r\n')
    const base64 = messageOf(multipart('mixed', 'b', [filePart('a.bin', new Uint8Array(22e6))]))
    findMimeBreach(base64)
    const start = cpuTimeMs()
    findMimeBreach(empty)
    const middle = cpuTimeMs()
    findMimeBreach(base64)
    const end = cpuTimeMs()
    if (process.env.MAILROOM_FIGURES !== undefined) console.log(middle - start, end - middle)
    assert.ok(middle - start < 200, `${middle - start} ms`)
    assert.ok(end - middle < 400, `${end - middle} ms`)
  })
})
