import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readDomainName, writeAddress } from '#address.ts'
import { formatMail, formatRcpt } from '#smtp/command.ts'
import { sizeOf } from '#test/size-of.ts'

const ADDRESSES = sizeOf('TEST_MAILROOM_ADDRESSES', { quick: 300, usual: 2_000 })

describe('an address on the wire', () => {
  const good: [text: string, address: string, isInternational: boolean][] = [
    ['a@b.example', 'a@b.example', false],
    ['"a@c"@b.example', '"a@c"@b.example', false],
    ['"a b"@c.example', '"a b"@c.example', false],
    ['a@[127.0.0.1]', 'a@[127.0.0.1]', false],
    ['a@Bücher.example', 'a@xn--bcher-kva.example', false],
    ['ü@bücher.example', 'ü@xn--bcher-kva.example', true],
    ['ü@b.example', 'ü@b.example', true],
  ]
  for (const [text, address, isInternational] of good) {
    test(`${text} is written ${address}`, () => {
      assert.deepEqual(writeAddress(text), { address, isInternational })
    })
  }

  const bad = [
    ...`a a@ a@b.example> "a>"@c.example a@b@c.example <a@b.example> @x.example:a@b.example
    a@１.２.３.４ a@ü%41.example`.split(/\s+/),
    '',
    'a@b.example> SIZE=1',
    'a@b.example\r\nRCPT TO:<c@d.example',
    'a@b.example\n',
    'a@b.example\0',
    'a b@c.example',
    '"a\r\nb"@c.example',
    'a@b\u0085.example',
    'a\u2028@b.example',
    'A <a@b.example>',
  ]
  for (const text of bad) {
    test(`${JSON.stringify(text)} is no address`, () => assert.equal(writeAddress(text), null))
  }

  test('never holds a character that ends a path or a line', () => {
    const piece = fc.oneof(
      fc.constantFrom('a', '@', 'b.example', '"', '\\', '>', '<', ' ', '\r\n', 'ü', '\u2028', '.'),
      fc.string({ unit: 'binary', maxLength: 3 }),
    )
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const written = writeAddress(pieces.join(''))
        if (written !== null) assert.doesNotMatch(written.address, /[\s<>\p{Cc}\p{Cs}]/u)
      }),
      { numRuns: ADDRESSES },
    )
  })
})

test('MAIL parameters are read only on request', () => {
  const plain = { reversePath: '', sizeBytes: null, isEightBit: false, isSmtpUtf8: false }
  assert.equal(formatMail(plain), 'MAIL FROM:<>\r\n')
  const all = { reversePath: 'a@b.example', sizeBytes: 7, isEightBit: true, isSmtpUtf8: true }
  assert.equal(formatMail(all), 'MAIL FROM:<a@b.example> SIZE=7 BODY=8BITMIME SMTPUTF8\r\n')
  assert.equal(formatRcpt('a@b.example'), 'RCPT TO:<a@b.example>\r\n')
})

test('a domain name is read in lower case, as A-labels, without its final dot', () => {
  for (const [written, name] of [
    ['Example.COM', 'example.com'],
    ['example.com.', 'example.com'],
    ['Bücher.example', 'xn--bcher-kva.example'],
    ['_dmarc.example', '_dmarc.example'],
  ] as const) {
    assert.equal(readDomainName(written), name)
  }
  for (const written of ['', '.', '[192.0.2.1]', '192.0.2.1', 'a b.example', 'a@b.example']) {
    assert.equal(readDomainName(written), null, written)
  }
})

test('a text longer than the limit of a name or label is no domain name', () => {
  const label = 'a'.repeat(63)
  const longest = `${`${label}.`.repeat(3)}${'b'.repeat(61)}`
  assert.equal(readDomainName(longest), longest)
  assert.equal(readDomainName(`${longest}.`), longest)
  assert.equal(readDomainName(`${longest}b`), null)
  assert.equal(readDomainName(`${label}a.example`), null)
  assert.equal(readDomainName(`${label}.example`), `${label}.example`)
  assert.equal(readDomainName('ü'.repeat(500_000)), null)
  assert.equal(readDomainName(`${'ü'.repeat(63)}.example`), null)
})
