import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readHeaderSection } from '#header-fields.ts'
import { automaticReason, readHeaders } from '#message-headers.ts'
import { message } from './samples.ts'

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
    test(`${sender} is a system's address`, () => {
      assert.equal(reasonOf(`From: ${sender}`), 'system-sender')
    })
  }

  test('a person whose address only resembles one is none', () => {
    for (const sender of ['noreplyson@x.example', 'ada@no-reply.example', 'bounceback@x.example']) {
      assert.equal(reasonOf(`From: ${sender}`), null)
    }
  })

  test('of several signs the plainest counts, in whatever order they come', () => {
    const fields = ['List-Id: <l>', 'Precedence: bulk', 'Auto-Submitted: auto-replied']
    assert.equal(reasonOf('From: no-reply@x.example', ...fields), 'auto-submitted')
    assert.equal(reasonOf('From: no-reply@x.example', ...fields.toReversed()), 'auto-submitted')
  })

  test('without any field there is no reason', () => assert.equal(automaticReason([], null), null))
})
