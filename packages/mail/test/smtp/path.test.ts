// Mailboxes of RFC 5321 §4.1.2: valid ones, and invalid ones with the reason.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isDomainName, parseMailbox } from '@mailroom/mail/address.ts'
import { cpuTimeMs } from '#test/samples.ts'

const LABEL_63 = 'a'.repeat(63)
const DOMAIN_255 = `${LABEL_63}.${LABEL_63}.${LABEL_63}.${LABEL_63}`

describe('a mailbox', () => {
  const good: [text: string, localPart: string, domain: string][] = [
    ['a@b.example', 'a', 'b.example'],
    ["!#$%&'*+-/=?^_`{|}~.x@b.example", "!#$%&'*+-/=?^_`{|}~.x", 'b.example'],
    ['"a b"@b.example', 'a b', 'b.example'],
    ['"a@c>\\"\\\\"@b.example', 'a@c>"\\', 'b.example'],
    ['""@b.example', '', 'b.example'],
    ['a@localhost', 'a', 'localhost'],
    ['a@1.example', 'a', '1.example'],
    ['a@xn--bcher-kva.example', 'a', 'xn--bcher-kva.example'],
    ['a@[127.0.0.1]', 'a', '[127.0.0.1]'],
    ['a@[IPv6:::1]', 'a', '[IPv6:::1]'],
    ['a@[ipv6:2001:db8::8a2e:192.0.2.1]', 'a', '[ipv6:2001:db8::8a2e:192.0.2.1]'],
    ['a@[IPv6:1:2:3:4:5:6:7:8]', 'a', '[IPv6:1:2:3:4:5:6:7:8]'],
    ['ü@bücher.example', 'ü', 'bücher.example'],
    ['"ü ü"@例え.テスト', 'ü ü', '例え.テスト'],
    [`${'l'.repeat(255)}@b.example`, 'l'.repeat(255), 'b.example'],
    [`a@${DOMAIN_255}`, 'a', DOMAIN_255],
    ['a@_b_c.example', 'a', '_b_c.example'],
  ]
  for (const [text, localPart, domain] of good) {
    test(`${text.slice(0, 40)} has two parts`, () => {
      const mailbox = parseMailbox(text)
      assert.equal(mailbox.kind, 'mailbox')
      if (mailbox.kind !== 'mailbox') return
      assert.deepEqual([mailbox.localPart, mailbox.domain], [localPart, domain])
      assert.equal(mailbox.isInternational, /[^\x00-\x7f]/.test(text))
      assert.equal(mailbox.isAddressLiteral, domain.startsWith('['))
    })
  }

  const bad: [text: string, defect: string][] = [
    ['', 'no-domain'],
    ['a', 'no-domain'],
    ['"a"', 'no-domain'],
    ['a@', 'syntax'],
    ['@b.example', 'source-route'],
    ['@a.example:b@c.example', 'source-route'],
    ['a@b@c.example', 'syntax'],
    ['.a@b.example', 'syntax'],
    ['a.@b.example', 'syntax'],
    ['a..b@c.example', 'syntax'],
    ['a b@c.example', 'syntax'],
    ['a\t@c.example', 'syntax'],
    ['a\0@c.example', 'syntax'],
    ['a\r\n@c.example', 'syntax'],
    ['"a"b@c.example', 'syntax'],
    ['"a@c.example', 'syntax'],
    ['"a\n"@c.example', 'syntax'],
    ['a@b.example.', 'syntax'],
    ['a@.example', 'syntax'],
    ['a@b..example', 'syntax'],
    ['a@-b.example', 'syntax'],
    ['a@b-.example', 'syntax'],
    ['a@b.example\n', 'syntax'],
    ['a@[127.0.0.256]', 'syntax'],
    ['a@[127.0.0.1', 'syntax'],
    ['a@[IPv6:1::2::3]', 'syntax'],
    ['a@[IPv6:1:2:3]', 'syntax'],
    ['a@[::1]', 'syntax'],
    ['a@b\u3002example', 'syntax'],
    ['a\u202e@b.example', 'syntax'],
    ['a\u2028@b.example', 'syntax'],
    ['a\u0085@b.example', 'syntax'],
    ['a\ud800@b.example', 'syntax'],
    [`${'l'.repeat(256)}@b.example`, 'local-part-too-long'],
    [`${'ü'.repeat(128)}@b.example`, 'local-part-too-long'],
    [`a@${DOMAIN_255}a`, 'domain-too-long'],
    [`a@${LABEL_63}a.example`, 'syntax'],
  ]
  for (const [text, defect] of bad) {
    test(`${JSON.stringify(text.slice(0, 40))} is refused as ${defect}`, () => {
      const parsed = parseMailbox(text)
      assert.equal(parsed.kind === 'defect' ? parsed.defect : parsed.kind, defect)
    })
  }

  test('time to check a hostile text grows linearly', () => {
    const startMs = cpuTimeMs()
    for (const text of [
      'a.'.repeat(50_000),
      `"${'\\a'.repeat(50_000)}`,
      `a@${'a-'.repeat(50_000)}`,
    ]) {
      assert.equal(parseMailbox(text).kind, 'defect')
    }
    assert.ok(cpuTimeMs() - startMs < 2_000)
  })
})

test('a domain name has labels and no trailing dot', () => {
  assert.ok(isDomainName('mx.example'))
  assert.ok(!isDomainName('mx.example.'))
  assert.ok(!isDomainName(''))
})
