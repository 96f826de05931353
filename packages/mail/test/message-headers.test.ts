import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readHeaderSection } from '#header-fields.ts'
import {
  automaticReason,
  messageIdKey,
  parseDateTime,
  parseMessageId,
  parseMessageIds,
  REFERENCES_MAX,
  readHeaders,
} from '#message-headers.ts'
import { cpuTimeMs, message } from './samples.ts'

describe('message identifiers', () => {
  test('a Message-ID keeps its brackets and loses its white space', () => {
    assert.equal(parseMessageId(' <a b\t@x.example> '), '<ab@x.example>')
    assert.equal(parseMessageId('a@x.example'), '<a@x.example>')
    assert.equal(parseMessageId('<a@x.example'), '<a@x.example>')
    assert.equal(parseMessageId('(c) <a@x.example> <b@x.example>'), '<a@x.example>')
    assert.equal(parseMessageId('<noat>'), '<noat>')
  })

  test('an empty Message-ID is none', () => {
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

  test('the key of an identifier of 10 kB is short and unique', () => {
    const long = 'x'.repeat(10_000)
    assert.ok(messageIdKey(`<${long}@a>`).length <= 250)
    assert.notEqual(messageIdKey(`<${long}@a>`), messageIdKey(`<${long}@b>`))
    assert.equal(messageIdKey(`<${long}@a>`), messageIdKey(`${long}@a`))
  })

  test('time to parse grows linearly with the length', () => {
    const start = cpuTimeMs()
    for (const piece of ['<', '>', '<a', '<a@b>', '> <', 'a@b ', ' '])
      parseMessageIds(piece.repeat(400_000))
    assert.ok(cpuTimeMs() - start < 5_000)
  })
})

function reasonOf(...lines: string[]): string | null {
  return readHeaders(readHeaderSection(message(...lines, '', '')).fields).automaticReason
}

describe('automatic mail', () => {
  const cases: [string, string | null][] = [
    ['Auto-Submitted: auto-replied', 'auto-submitted'],
    ['Auto-Submitted: auto-generated; x=y', 'auto-submitted'],
    ['Auto-Submitted: no', null],
    ['Auto-Submitted: No (a person)', null],
    ['Auto-Submitted: none', 'auto-submitted'],
    ['X-Autoreply: yes', 'auto-submitted'],
    ['X-Autoreply: no', null],
    ['Precedence: bulk', 'precedence'],
    ['Precedence: Junk', 'precedence'],
    ['Precedence: list', 'precedence'],
    ['Precedence: first-class', null],
    ['List-Id: <list.x.example>', 'list'],
    ['List-Unsubscribe: <mailto:u@x.example>', 'list'],
    ['X-Auto-Response-Suppress: All', 'auto-response-suppress'],
    ['X-Auto-Response-Suppress: None', null],
    ['Content-Type: multipart/report; boundary=b', 'auto-submitted'],
    ['Subject: Out of office', null],
  ]
  for (const [field, expected] of cases) {
    test(`${field} is ${expected ?? 'no sign'}`, () => {
      assert.equal(reasonOf('From: Ada <ada@x.example>', field), expected)
    })
  }

  for (const sender of [
    'MAILER-DAEMON@x.example',
    'Postmaster <postmaster@x.example>',
    'no-reply@x.example',
    'noreply+123@x.example',
    'do-not-reply@x.example',
    '<MAILER-DAEMON>',
    'MAILER-DAEMON <>',
  ]) {
    test(`${sender} is an address of a system`, () => {
      assert.equal(reasonOf(`From: ${sender}`), 'system-sender')
    })
  }

  test('an address that only resembles one of a system belongs to a person', () => {
    for (const sender of ['noreplyson@x.example', 'ada@no-reply.example', 'bounceback@x.example']) {
      assert.equal(reasonOf(`From: ${sender}`), null)
    }
  })

  test('the clearest of several signs counts, in any order', () => {
    const fields = ['List-Id: <l>', 'Precedence: bulk', 'Auto-Submitted: auto-replied']
    assert.equal(reasonOf('From: no-reply@x.example', ...fields), 'auto-submitted')
    assert.equal(reasonOf('From: no-reply@x.example', ...fields.toReversed()), 'auto-submitted')
  })

  test('mail without such a field has no reason', () =>
    assert.equal(automaticReason([], null), null))
})

const CASES: [string, string | null][] = [
  ['Fri, 20 Nov 2026 07:19:00 +0000', '2026-11-20T07:19:00.000Z'],
  ['20 Nov 2026 09:19 +0200', '2026-11-20T07:19:00.000Z'],
  ['Fri, 20 Nov 2026 01:49:05 -0530 (comment)', '2026-11-20T07:19:05.000Z'],
  ['Fri, 20 Nov 26 07:19:00 GMT', '2026-11-20T07:19:00.000Z'],
  ['1 Jan 99 00:00:00 EST', '1999-01-01T05:00:00.000Z'],
  ['1 Jan 2026 00:00:00', '2026-01-01T00:00:00.000Z'],
  ['31 Dec 2025 23:59:60 +0000', '2025-12-31T23:59:59.000Z'],
  ['31 Feb 2026 00:00:00 +0000', null],
  ['1 Foo 2026 00:00:00 +0000', null],
  ['1 Jan 2026 25:00:00 +0000', null],
  ['', null],
  ['yesterday', null],
]

for (const [field, expected] of CASES) {
  test(`the date "${field}" is ${expected}`, () => {
    const time = parseDateTime(field)
    assert.equal(time === null ? null : new Date(time).toISOString(), expected)
  })
}

test('a date field of any length is parsed fast', () => {
  const start = cpuTimeMs()
  parseDateTime('1 '.repeat(200_000))
  parseDateTime(`1 Jan 2026${' '.repeat(200_000)}`)
  assert.ok(cpuTimeMs() - start < 2_000)
})
