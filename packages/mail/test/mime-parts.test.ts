import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HEADER_FIELDS_MAX } from '#header-fields.ts'
import { MIME_LINES_MAX } from '#mime/decode-body.ts'
import { MIME_DEPTH_MAX, MIME_PARTS_MAX, scanMime } from '#mime/mime-parts.ts'
import {
  cpuTimeMs,
  ENVELOPE_FIELDS,
  filePart,
  message,
  messageOf,
  multipart,
  type Part,
  part,
  textPart,
} from './samples.ts'

const CSV = 'Content-Type: text/csv'

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
  test('admit ordinary mail', () => {
    const parts = [textPart('Hello'), filePart('a.pdf', new Uint8Array(100_000))]
    assert.equal(findMimeBreach(messageOf(multipart('mixed', 'b', parts))), null)
    assert.equal(findMimeBreach(message(...ENVELOPE_FIELDS, '', 'Hello')), null)
    assert.equal(findMimeBreach(new Uint8Array()), null)
  })

  test('end the structure at the first part beyond the limit', () => {
    const parts = Array.from({ length: MIME_PARTS_MAX }, (_, index) => textPart(`part ${index}`))
    const raw = messageOf(multipart('mixed', 'b', parts))
    assert.equal(findMimeBreach(raw)?.defect, 'too-many-parts')
    assert.match(restOf(raw), /^--b\r\n.*\r\n\r\npart 999\r\n--b--\r\n$/)
    const fewer = messageOf(multipart('mixed', 'b', parts.slice(1)))
    assert.equal(findMimeBreach(fewer), null)
  })

  test('end the structure at the first multipart beyond the depth limit', () => {
    assert.equal(findMimeBreach(messageOf(nested(MIME_DEPTH_MAX))), null)
    const raw = messageOf(nested(MIME_DEPTH_MAX + 1))
    assert.equal(findMimeBreach(raw)?.defect, 'too-deep')
    assert.match(restOf(raw), /^--b50\.\r\nContent-Type: multipart\/mixed; boundary="b51\."/)
  })

  test('count an enclosed message as one level of depth', () => {
    const enclosed = (depth: number) =>
      message(...ENVELOPE_FIELDS, 'Content-Type: message/rfc822\r\n\r\n'.repeat(depth), 'text')
    assert.equal(findMimeBreach(enclosed(MIME_DEPTH_MAX)), null)
    assert.equal(findMimeBreach(enclosed(MIME_DEPTH_MAX + 1))?.defect, 'too-deep')
  })

  test('count an enclosed message after another at the same level as no deeper', () => {
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

  test('end the structure at the first line beyond the limit', () => {
    const raw = message('Subject: x', '', ...Array.from({ length: MIME_LINES_MAX + 9 }, () => 'a'))
    assert.equal(findMimeBreach(raw)?.defect, 'too-many-lines')
    assert.equal(restOf(raw).split('\r\n').length, 10)
  })

  test('count lines of files only if they begin as a delimiter does', () => {
    const file = filePart('a.bin', new Uint8Array())
    const withLines = (line: string) =>
      messageOf(multipart('mixed', 'b', [{ ...file, body: line.repeat(MIME_LINES_MAX + 1) }]))
    assert.equal(findMimeBreach(withLines('AA==\r\n')), null)
    assert.equal(findMimeBreach(withLines('-\r\n')), null)
    assert.equal(findMimeBreach(withLines('--\r\n'))?.defect, 'too-many-lines')
  })

  test('ignore long lines of base64 in texts, but count short ones and other encodings', () => {
    const text = (encoding: string, line: string) => {
      const part = textPart(
        line.repeat(MIME_LINES_MAX + 1),
        `Content-Transfer-Encoding: ${encoding}`,
      )
      return findMimeBreach(messageOf(multipart('mixed', 'b', [part])))?.defect
    }
    const long = `${'QUFB'.repeat(19)}\r\n`
    assert.equal(text('base64', long), undefined)
    assert.equal(text('base64', 'QUFB\r\n'), 'too-many-lines')
    assert.equal(text('7bit', long), 'too-many-lines')
  })

  test('count lines of text after a base64 part again', () => {
    const file = filePart('a.bin', new Uint8Array(100))
    const text = textPart(`${'x'.repeat(70)}\r\n`.repeat(MIME_LINES_MAX + 1))
    const raw = messageOf(multipart('mixed', 'b', [file, text]))
    assert.equal(findMimeBreach(raw)?.defect, 'too-many-lines')
  })

  test('include the header limits, for parts as for messages', () => {
    const fields = Array.from({ length: HEADER_FIELDS_MAX + 1 }, () => 'X-Field: value')
    const raw = messageOf(multipart('mixed', 'b', [{ fields, body: 'x' }]))
    assert.equal(findMimeBreach(raw)?.defect, 'too-many-header-fields')
    assert.equal(findMimeBreach(message(...fields, '', ''))?.defect, 'too-many-header-fields')
  })
})

describe('the list of parts', () => {
  function contentsOf(raw: Uint8Array): [string, string][] {
    return scanMime(raw).parts.map(({ kind, content: { start, end } }) => [
      kind,
      Buffer.from(raw.subarray(start, end)).toString(),
    ])
  }

  test('has the octets of each part without the line end that belongs to the delimiter', () => {
    const raw = messageOf(
      multipart('mixed', 'b', [textPart('Hello\r\n'), part('a\r\n\r\n', CSV), part('', CSV)]),
    )
    assert.deepEqual(contentsOf(raw), [
      ['multipart', ''],
      ['text', 'Hello\r\n'],
      ['file', 'a\r\n\r\n'],
      ['file', ''],
    ])
    const bare = Buffer.from(Buffer.from(raw).toString().replaceAll('\r\n', '\n'))
    assert.deepEqual(contentsOf(bare), [
      ['multipart', ''],
      ['text', 'Hello\n'],
      ['file', 'a\n\n'],
      ['file', ''],
    ])
  })

  test('has an enclosed message as one file, up to a delimiter of the message around it', () => {
    const inner = Buffer.from(messageOf(multipart('mixed', 'c', [part('x', CSV)]))).toString()
    // A boundary used again within is the outer one (RFC 2046 §5.1.2).
    const same = 'Content-Type: multipart/mixed; boundary=b\r\n\r\npreamble'
    const enclosed = (body: string) => part(body, 'Content-Type: message/rfc822')
    const raw = messageOf(
      multipart('mixed', 'b', [enclosed(inner), enclosed(same), part('y', CSV)]),
    )
    assert.deepEqual(contentsOf(raw), [
      ['multipart', ''],
      ['file', inner],
      ['file', same],
      ['file', 'y'],
    ])
  })

  test('continues to the end of the message, or of the part of it within the limits', () => {
    assert.deepEqual(contentsOf(messageOf(part('a,b\r\n', CSV))), [['file', 'a,b\r\n']])
    const open = message('Content-Type: multipart/mixed; boundary=b', '', '--b', CSV, '', 'a', '')
    assert.deepEqual(contentsOf(open), [
      ['multipart', ''],
      ['file', 'a\r\n'],
    ])
  })

  test('has contents that begin after the empty line, whatever stands above it', () => {
    const raw = messageOf(
      multipart('mixed', 'b', [part('x', CSV, 'rubbish'), part('y', 'rubbish')]),
    )
    assert.deepEqual(contentsOf(raw), [
      ['multipart', ''],
      ['file', 'x'],
      ['text', 'rubbish\r\n\r\ny'],
    ])
  })
})

describe('the scan', () => {
  test('reads 25 MB of text lines or 30 MB of base64 fast', () => {
    const empty = Buffer.alloc(25e6, '\r\n')
    const inFile = messageOf(
      multipart('mixed', 'b', [{ fields: [CSV], body: 'ab\r\n'.repeat(6_000_000) }]),
    )
    const base64 = messageOf(multipart('mixed', 'b', [filePart('a.bin', new Uint8Array(22e6))]))
    findMimeBreach(base64)
    const start = cpuTimeMs()
    findMimeBreach(empty)
    const middle = cpuTimeMs()
    findMimeBreach(base64)
    const end = cpuTimeMs()
    findMimeBreach(inFile)
    const last = cpuTimeMs()
    if (process.env.MAILROOM_FIGURES !== undefined) {
      console.log(middle - start, end - middle, last - end)
    }
    assert.ok(middle - start < 200, `${middle - start} ms`)
    assert.ok(end - middle < 400, `${end - middle} ms`)
    assert.ok(last - end < 600, `${last - end} ms`)
  })
})
