import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseAddressList } from '#address-list.ts'
import { addressField, isInternational, writeAddress } from '#compose/header-text.ts'

test('an address is written so that every reader takes it for one', () => {
  const cases: [string, string][] = [
    ['a.b@peer.example', 'a.b@peer.example'],
    ['A+b@Peer.Example', 'A+b@Peer.Example'],
    ['a@bücher.example', 'a@xn--bcher-kva.example'],
    ['jürgen@BÜCHER.example', 'jürgen@xn--bcher-kva.example'],
    ['"a b"@peer.example', '"a b"@peer.example'],
    ['a b@peer.example', '"a b"@peer.example'],
    ['a@evil.example@peer.example', '"a@evil.example"@peer.example'],
    ['a@peer.example, b', 'a@peer.exampleb'],
    ['a@peer.example> <b', 'a@peer.exampleb'],
    ['a@1.2', 'a@1.2'],
    ['a@[127.0.0.1]', 'a@[127.0.0.1]'],
    ['a@[IPv6:::1]', 'a@[IPv6:::1]'],
    ['a\u202eb@peer.example', 'ab@peer.example'],
    ['a\u00a0b@peer.example', 'ab@peer.example'],
  ]
  for (const [address, expected] of cases) assert.equal(writeAddress(address), expected)
  assert.equal(isInternational('jürgen@peer.example'), true)
  assert.equal(isInternational('a@bücher.example'), false)
})

test('whatever the text, a field has as many mailboxes as were given', () => {
  const piece = fc.constantFrom(
    'a',
    'ü',
    '@',
    '"',
    '\\',
    ',',
    ';',
    ':',
    '<',
    '>',
    '(',
    ')',
    '[',
    ']',
    ' ',
    '\r\n',
    '\0',
    '\u2028',
    '.',
    'evil@evil.example',
  )
  const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
  const mailbox = fc.oneof(
    fc.record({ name: fc.constant(null), address: text.map((part) => `x${part}@peer.example`) }),
    // Some readers end an address at the first bracket, quoted or not.
    fc.record({
      name: text,
      address: text.map((part) => `x${part.replace(/[<>]/g, '')}@peer.example`),
    }),
  )
  fc.assert(
    fc.property(fc.array(mailbox, { minLength: 1, maxLength: 4 }), (mailboxes) => {
      const field = addressField('To', mailboxes)
      assert.ok(!/[\r\n](?![\n ])|[^\x20-\x7e\r\n\u0080-\uffff]/.test(field), field)
      const read = parseAddressList(field.slice('To:'.length).replaceAll('\r\n', ''))
      assert.equal(read.length, mailboxes.length, field)
      for (const { address } of read) assert.ok(address.endsWith('@peer.example'), field)
    }),
    { numRuns: 5_000 },
  )
})
