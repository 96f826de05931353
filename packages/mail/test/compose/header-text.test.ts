import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseAddressList } from '#address-list.ts'
import {
  addressField,
  COMPOSED_HEADER_OCTETS_MAX,
  forwardSubject,
  HEADER_WORD_LENGTH_MAX,
  isInternational,
  replySubject,
  trimReferences,
  writeAddress,
} from '#compose/header-text.ts'

test('an address is written so that every reader takes it for one address', () => {
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

test('a field has as many mailboxes as given, whatever their names', () => {
  const piece = fc.constantFrom(
    ...`a ü @ " , ; : < > ( ) [ ] . evil@evil.example`.split(/\s+/),
    '\\',
    ' ',
    '\r\n',
    '\0',
    '\u2028',
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

test('a reply has one Re:, however many the thread has', () => {
  const subjects = [
    'x',
    'Re: x',
    'RE: x',
    're:x',
    'Re : x',
    'Re: Re: x',
    'Re[2]: x',
    'RE: re[3]: Re^2: x',
    ' Re:\tx',
    'Re： x',
  ]
  for (const subject of subjects) assert.equal(replySubject(subject), 'Re: x', subject)
  for (const subject of ['Fwd: Re: x', 'Regards: x', 'AW: x', 'Re x', 'Re-: x']) {
    assert.equal(replySubject(subject), `Re: ${subject}`)
  }
  assert.equal(replySubject(''), 'Re:')
  assert.equal(replySubject('Re:'), 'Re:')
})

test('the subject of a forward has its prefix once, and keeps that of a reply', () => {
  for (const subject of [
    'x',
    'Fwd: x',
    'FW: fwd : x',
    'Re: Fwd: x',
    'fw: re[2]: FWD： x',
    ' Fwd:x',
  ]) {
    assert.equal(forwardSubject(subject), 'Fwd: x', subject)
  }
  for (const subject of ['Re: x', 'Forward: x', 'Fwd x', 'x Fwd: y']) {
    assert.equal(forwardSubject(subject), `Fwd: ${subject}`)
  }
  assert.equal(forwardSubject('Fwd: Re: x'), 'Fwd: Re: x')
  assert.equal(forwardSubject(''), 'Fwd:')
  assert.equal(forwardSubject('x'.repeat(998)).length, 998)
  const part = fc.constantFrom('Fwd:', 'fw :', 'Re:', ' ', 'x', 'F', ':', '😀', '[1]')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 400 }), (parts) => {
      const once = forwardSubject(parts.join(''))
      assert.equal(forwardSubject(once), once)
      assert.ok(once.startsWith('Fwd:') && once.length <= 998 && once.isWellFormed())
    }),
  )
})

test('the subject of a reply to a reply is the same, within 998 characters', () => {
  assert.equal(replySubject('x'.repeat(998)).length, 998)
  assert.equal(replySubject(`${'x'.repeat(993)}😀`), `Re: ${'x'.repeat(993)}`)
  const part = fc.constantFrom('Re:', 're[2]:', ' ', 'x', 'Re', ':', '😀', '[1]')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 400 }), (parts) => {
      const once = replySubject(parts.join(''))
      assert.equal(replySubject(once), once)
      assert.ok(once.startsWith('Re:') && once.length <= 998 && once.isWellFormed())
    }),
  )
})

const ids = (count: number, length = 30) =>
  Array.from(
    { length: count },
    (_, index) => `<${String(index).padStart(length - 10, '0')}@x.test>`,
  )

test('a reply refers to all messages of its thread, in a very long one to the root and the newest', () => {
  assert.deepEqual(trimReferences([]), [])
  assert.deepEqual(trimReferences(ids(3)), ids(3))
  assert.deepEqual(trimReferences(ids(1_500)), ids(1_500))
  const thread = ids(3_000)
  const kept = trimReferences(thread)
  assert.ok(kept.length > 1_500 && kept.length < 3_000)
  assert.deepEqual(kept, [thread[0], ...thread.slice(1 - kept.length)])
})

test('a longer header section leaves room for fewer references', () => {
  const thread = ids(1_500)
  const kept = trimReferences(thread, ['ü'.repeat(8_000)])
  assert.ok(kept.length < 1_500)
  assert.deepEqual([kept[0], kept.at(-1)], [thread[0], thread.at(-1)])
  assert.deepEqual(trimReferences(thread, ['x'.repeat(99_000)]), [thread[0], thread.at(-1)])
})

test('each identifier is referenced once, and the last one stays last', () => {
  assert.deepEqual(trimReferences(['<a@x>', '<b@x>', '<a@x>', '<c@x>']), [
    '<a@x>',
    '<b@x>',
    '<c@x>',
  ])
  assert.deepEqual(trimReferences(['<a@x>', '<b@x>', '<a@x>']), ['<b@x>', '<a@x>'])
})

test('identifiers that fit no header are left out', () => {
  const long = `<${'x'.repeat(10_000)}@x>`
  assert.deepEqual(trimReferences([long, '<a@x>', '<ü@x>', '<b c@x>', '<b@x>', long]), [
    '<a@x>',
    '<b@x>',
  ])
})

test('references stay within their octet limit, whatever the identifiers', () => {
  const lengths = fc.array(fc.integer({ min: 12, max: HEADER_WORD_LENGTH_MAX + 20 }), {
    maxLength: 150,
  })
  fc.assert(
    fc.property(lengths, (all) => {
      const thread = all.map((length, index) => ids(index + 1, length).at(-1) ?? '')
      const kept = trimReferences(thread)
      assert.ok(kept.join('\r\n ').length <= COMPOSED_HEADER_OCTETS_MAX)
      const sendable = thread.filter((id) => id.length <= HEADER_WORD_LENGTH_MAX)
      assert.equal(kept[0], sendable[0])
      assert.equal(kept.at(-1), sendable.at(-1))
    }),
  )
})
