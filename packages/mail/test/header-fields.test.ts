import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  duplicateDefects,
  firstField,
  HEADER_BYTES_MAX,
  HEADER_FIELDS_MAX,
  readHeaderSection,
} from '#header-fields.ts'
import { message } from './samples.ts'

function read(raw: Uint8Array) {
  const { fields, bodyStart, defect } = readHeaderSection(raw)
  return { fields, body: Buffer.from(raw.subarray(bodyStart)).toString('latin1'), defect }
}

describe('a header section', () => {
  test('is read with lower-case names, unfolded values and the body after the empty line', () => {
    assert.deepEqual(read(message('Subject: one', '  two', 'X-Empty:', '', 'body')), {
      fields: [
        { name: 'subject', value: 'one  two' },
        { name: 'x-empty', value: '' },
      ],
      body: 'body',
      defect: null,
    })
  })

  test('is read alike with LF line ends', () => {
    const raw = Buffer.from('Subject: one\n two\nTo: a@b.example\n\nbody\n')
    assert.deepEqual(read(raw).fields, [
      { name: 'subject', value: 'one two' },
      { name: 'to', value: 'a@b.example' },
    ])
    assert.equal(read(raw).body, 'body\n')
  })

  test('may begin with an mbox line, a folded first field and spaces before a colon', () => {
    const mbox = message('From ada@x.example Fri Nov 20 07:19:00 2026', 'Subject : x', '', 'b')
    assert.deepEqual(read(mbox).fields, [{ name: 'subject', value: 'x' }])
    assert.deepEqual(read(message(' Subject: x', '', 'b')).fields, [
      { name: 'subject', value: 'x' },
    ])
  })

  test('may fold a field before its colon', () => {
    const { fields } = read(message('Subject: x', 'From', ' : a@b.example', '', 'b'))
    assert.deepEqual(fields[1], { name: 'from', value: 'a@b.example' })
    const spaced = read(message('Two words', ' : x', 'To: y', '', 'b')).fields
    assert.deepEqual(spaced, [{ name: 'to', value: 'y' }])
  })

  test('without a field is empty', () => {
    assert.deepEqual(read(new Uint8Array()), { fields: [], body: '', defect: null })
    assert.equal(read(message('', 'Subject: body')).body, 'Subject: body')
  })

  test('continues after a line that is no field', () => {
    const { fields, body } = read(message('Subject: x', 'rubbish', 'To: a@b.example', '', 'b'))
    assert.deepEqual(
      fields.map(({ name }) => name),
      ['subject', 'to'],
    )
    assert.equal(body, 'b')
  })

  test('ends where text follows the last field without an empty line', () => {
    const { fields, body } = read(message('Subject: x', 'Hello there', 'second line', '', 'third'))
    assert.deepEqual(fields, [{ name: 'subject', value: 'x' }])
    assert.equal(body, 'Hello there\r\nsecond line\r\n\r\nthird')
  })

  test('keeps no carriage return inside a value', () => {
    assert.equal(
      firstField(read(Buffer.from('Subject: a\rX: b\r\n\r\n')).fields, 'subject'),
      'a X: b',
    )
    assert.equal(firstField(read(Buffer.from('Subject: a\r\r\n\r\n')).fields, 'subject'), 'a')
  })

  test('with raw 8-bit text is UTF-8 if valid, else in the declared charset, else windows-1252', () => {
    const subject = (bytes: Buffer, ...fields: string[]) => {
      const start = Buffer.from('Subject: ')
      const rest = Buffer.from(`\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`)
      return firstField(readHeaderSection(Buffer.concat([start, bytes, rest])).fields, 'subject')
    }
    assert.equal(subject(Buffer.from('Größe')), 'Größe')
    assert.equal(subject(Buffer.from('Gr\xf6\xdfe', 'latin1')), 'Größe')
    const koi8 = Buffer.from([0xf0, 0xd2, 0xc9, 0xd7, 0xc5, 0xd4])
    assert.equal(subject(koi8, 'Content-Type: text/plain; charset=koi8-r'), 'Привет')
  })

  test('is read up to the limit on fields', () => {
    const fields = Array.from({ length: HEADER_FIELDS_MAX + 1 }, (_, index) => `X-${index}: v`)
    const result = read(message(...fields, '', 'body'))
    assert.equal(result.fields.length, HEADER_FIELDS_MAX)
    assert.equal(result.defect, 'too-many-header-fields')
    assert.equal(result.body, `X-${HEADER_FIELDS_MAX}: v\r\n\r\nbody`)
    assert.equal(read(message(...fields.slice(1), '', 'body')).defect, null)
  })

  test('is read up to the limit on octets', () => {
    const long = `X-Long: ${'x'.repeat(HEADER_BYTES_MAX)}`
    const result = read(message('Subject: kept', long, '', 'body'))
    assert.deepEqual(result.fields, [{ name: 'subject', value: 'kept' }])
    assert.equal(result.defect, 'header-too-large')
    assert.equal(result.body, `${long}\r\n\r\nbody`)
  })
})

test('the first of several fields with a name counts, and duplicates are named', () => {
  const { fields } = readHeaderSection(
    message('From: a@x.example', 'Subject: one', 'subject: two', 'FROM: b@x.example', '', ''),
  )
  assert.equal(firstField(fields, 'subject'), 'one')
  assert.equal(firstField(fields, 'from'), 'a@x.example')
  assert.equal(firstField(fields, 'date'), null)
  assert.deepEqual(duplicateDefects(fields), ['duplicate-from', 'duplicate-subject'])
})
