import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { messageIdKey, parseMessageId, parseMessageIds, REFERENCES_MAX } from '#message-headers.ts'
import { cpuTimeMs } from './samples.ts'

describe('message identifiers', () => {
  test('a Message-ID keeps its brackets and loses its white space', () => {
    assert.equal(parseMessageId(' <a b\t@x.example> '), '<ab@x.example>')
    assert.equal(parseMessageId('a@x.example'), '<a@x.example>')
    assert.equal(parseMessageId('<a@x.example'), '<a@x.example>')
    assert.equal(parseMessageId('(c) <a@x.example> <b@x.example>'), '<a@x.example>')
    assert.equal(parseMessageId('<noat>'), '<noat>')
  })

  test('a Message-ID of nothing is none', () => {
    for (const field of ['', '<>', '< >', '0002', '\0']) assert.equal(parseMessageId(field), null)
  })

  test('references are listed as written, with or without brackets and separators', () => {
    assert.deepEqual(parseMessageIds('<a@x> <b@x>\t<a@x>'), ['<a@x>', '<b@x>', '<a@x>'])
    assert.deepEqual(parseMessageIds('<a@x><b@x>,<c@x>'), ['<a@x>', '<b@x>', '<c@x>'])
    assert.deepEqual(parseMessageIds('<a@x> <cut <b@x>'), ['<a@x>', '<cut>', '<b@x>'])
    assert.deepEqual(parseMessageIds('a@x, b@x'), ['<a@x>', '<b@x>'])
    assert.deepEqual(parseMessageIds('Your message of Friday <a@x>'), ['<a@x>'])
    assert.deepEqual(parseMessageIds('your message of Friday'), [])
  })

  test('of too many references the first and the newest are kept', () => {
    const ids = Array.from({ length: REFERENCES_MAX + 10 }, (_, index) => `<${index}@x>`)
    const kept = parseMessageIds(ids.join(' '))
    assert.equal(kept.length, REFERENCES_MAX)
    assert.equal(kept[0], '<0@x>')
    assert.equal(kept.at(-1), ids.at(-1))
    assert.equal(kept[1], '<11@x>')
  })

  test('the key ignores brackets and white space and nothing else', () => {
    assert.equal(messageIdKey('<a@x.example>'), messageIdKey(' < a@x.example>\r\n '))
    assert.equal(messageIdKey('<a@x.example>'), 'a@x.example')
    assert.notEqual(messageIdKey('<A@x.example>'), messageIdKey('<a@x.example>'))
  })

  test('the key of an identifier of 10 kB is short and still its own', () => {
    const long = 'x'.repeat(10_000)
    assert.ok(messageIdKey(`<${long}@a>`).length <= 250)
    assert.notEqual(messageIdKey(`<${long}@a>`), messageIdKey(`<${long}@b>`))
    assert.equal(messageIdKey(`<${long}@a>`), messageIdKey(`${long}@a`))
  })

  test('time grows with the length only', () => {
    const start = cpuTimeMs()
    for (const piece of ['<', '>', '<a', '<a@b>', '> <', 'a@b ', ' '])
      parseMessageIds(piece.repeat(400_000))
    assert.ok(cpuTimeMs() - start < 5_000)
  })
})
