import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAuthservIds, withoutClaimedResults } from '#authentication.ts'

const OURS = 'mx.mailroom.example'
const strip = (raw: string) =>
  Buffer.from(withoutClaimedResults(Buffer.from(raw), (id) => id === OURS)).toString()

const FORGED = [
  'Authentication-Results: mx.mailroom.example; spf=pass',
  'authentication-results:MX.Mailroom.Example;spf=pass',
  'AUTHENTICATION-RESULTS : mx.mailroom.example 1; dkim=pass',
  'Authentication-Results:\r\n\tmx.mailroom.example;\r\n  dmarc=pass',
  'Authentication-Results: (a (nested\\)) comment) mx.mailroom.example (and more) 1; spf=pass',
  'Authentication-Results: "mx.mailroom.example"; spf=pass',
  'Authentication-Results: "mx.mail\\room.example" ; spf=pass',
  'Authentication-Results: mx.mailroom.example.; spf=pass',
  'Authentication-Results: mx.mailroom.example none',
  'Authentication-Results: mx.mailroom.example/1; spf=pass',
  'Authentication-Results: mx.mailroom.example',
  `Authentication-Results${' '.repeat(300)}: mx.mailroom.example; spf=pass`,
  `Authentication-Results${'\r\n '.repeat(100)}: mx.mailroom.example; spf=pass`,
  'Authentication-Results\r\n: mx.mailroom.example; spf=pass',
  'Authentication-Results\0: mx.mailroom.example; spf=pass',
  'Authentication-Results: mx.mailroom.example\0; spf=pass',
  'Authentication-Results: mx(x).mailroom . example; spf=pass',
  'Authentication-Results: mx.mailroom.example, spf=pass',
  'Authentication-Results: (x mx.mailroom.example; spf=pass',
  'Authentication-Results: (a (b) mx.mailroom.example; spf=pass)',
  'Authentication-Results: =?utf-8?q?mx.mailroom.example?=; spf=pass',
]

for (const field of FORGED) {
  test(`${JSON.stringify(field)} is removed`, () => {
    const before = 'Received: by x.example\r\n'
    const after =
      'Subject: odd \t\r\n spacing\r\n\r\nAuthentication-Results: mx.mailroom.example; x\r\n'
    assert.equal(strip(`${before}${field}\r\n${after}`), before + after)
    assert.equal(strip(`${field}\r\n${field}\r\n${after}`), after)
    assert.equal(strip(field), '')
  })
}

const FOREIGN = [
  'Authentication-Results: mx.other.example; spf=pass smtp.mailfrom=mx.mailroom.example',
  'Authentication-Results: xmx.mailroom.example; spf=pass',
  'Authentication-Results: mx.mailroom.example.evil.example; spf=pass',
  'Authentication-Results: (mx.mailroom.example) other.example; spf=pass',
  'X-Authentication-Results: mx.mailroom.example; spf=pass',
  'ARC-Authentication-Results: i=1; mx.mailroom.example; spf=pass',
  'Authentication-Results:',
  'Subject: x\r\n Authentication-Results: mx.mailroom.example; spf=pass',
]

for (const field of FOREIGN) {
  test(`${JSON.stringify(field)} stays`, () => {
    const raw = Buffer.from(`${field}\r\nFrom: a@x.example\r\n\r\nText`)
    // The same object, because nothing was copied.
    assert.equal(
      withoutClaimedResults(raw, (id) => id === OURS),
      raw,
    )
  })
}

test('a message of random octets is unchanged', () => {
  for (const raw of ['', '\r\n', '\n', 'x', ':::', ' \r\n \r\n', '\x00\xff'.repeat(1_000)]) {
    assert.equal(strip(raw), Buffer.from(raw).toString())
  }
})

test('an unclosed comment hides no identifier', () => {
  assert.ok(readAuthservIds(' (open mx.example; spf=pass').includes('mx.example'))
  assert.deepEqual(readAuthservIds(' () mx.example; spf=pass'), ['mx.example'])
})
