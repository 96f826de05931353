import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  DOMAIN,
  NOW_MS,
  octets,
  SELECTOR,
  signer,
  splitSigned,
  tag,
  verdicts,
} from './dkim-samples.ts'
import { ENVELOPE_FIELDS } from './samples.ts'

const HEAD = ENVELOPE_FIELDS.join('\r\n')

const bodies: readonly [name: string, body: string][] = [
  ['a line', 'hello\r\n'],
  ['no body', ''],
  ['only line ends', '\r\n\r\n\r\n'],
  ['only white space', ' \t \r\n\t\r\n  '],
  ['no line end at its end', 'hello'],
  ['white space instead of a line end', 'hello \t'],
  ['a line that is a dot', 'before\r\n.\r\nafter\r\n'],
  ['only dots', '.\r\n..\r\n...\r\n'],
  ['trailing white space', 'one \r\ntwo\t\r\nthree \t \r\n'],
  ['white space at the start of lines', ' one\r\n\ttwo\r\n \t three\r\n'],
  ['white space in runs', 'a  b \t c\td\r\n'],
  ['empty lines at its end', 'hello\r\n\r\n \r\n\t\r\n\r\n'],
  ['empty lines at its start', '\r\n\r\nhello\r\n'],
  ['lines of 998 octets', `${'x'.repeat(998)}\r\n`.repeat(20)],
  ['a line of 5,000 octets', `${'word '.repeat(1000)}\r\n`],
  ['8-bit octets', '\xe9\xa0\xff \x80\r\n\xc3\xa9\xc2\xa0\r\n'],
  ['NUL', 'a\0b\r\n\0\r\n'],
  ['more than one step of hashing', `${'ab  c\t \r\n'.repeat(200_000)}end \r\n`],
]

suite('a signed message', () => {
  for (const [name, body] of bodies) {
    test(`verifies with ${name}, and keeps its octets after the signature`, async () => {
      const raw = octets(HEAD, '', body)
      const signed = await signer.sign(raw, NOW_MS)
      assert.deepEqual(await verdicts(signed), ['pass'])
      assert.ok(splitSigned(signed).rest.equals(raw))
    })
  }

  test('verifies without any body or empty line', async () => {
    assert.deepEqual(await verdicts(await signer.sign(octets(HEAD, ''), NOW_MS)), ['pass'])
    assert.deepEqual(await verdicts(await signer.sign(octets(HEAD), NOW_MS)), ['pass'])
  })

  test('verifies with folded, padded, 8-bit, empty and odd fields', async () => {
    const raw = octets(
      'FROM :  "A  \t B"',
      '\t<ada@sender.example> ',
      'To:box@mailroom.example,',
      ' \t other@mailroom.example\t',
      'Subject:',
      ' folded before it begins \xe9 \xa0 ',
      '  and  again',
      'References:',
      ' <a@x>',
      ' <b@x>',
      'X-Mailer: none',
      'Reply-To: ',
      'List-Unsubscribe: <https://sender.example/?a=1;b=2>',
      'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
      '',
      'hello',
      '',
    )
    assert.deepEqual(await verdicts(await signer.sign(raw, NOW_MS)), ['pass'])
  })

  test('verifies after changes that relays make: other folding, other white space, more empty lines', async () => {
    const raw = octets(HEAD, 'References: <a@x> <b@x>', '', 'one two', 'three', '')
    const text = Buffer.from(await signer.sign(raw, NOW_MS)).toString('latin1')
    const relayed = text
      .replace('References: <a@x> <b@x>', 'references:<a@x>\r\n\t<b@x>  ')
      .replace('one two', 'one  \t two ')
      .concat('\r\n\r\n')
    assert.notEqual(relayed, text)
    const received = octets('Received: from a by b; Mon, 1 Jan 2024 00:00:00 +0000', relayed)
    assert.deepEqual(await verdicts(received), ['pass'])
  })

  test('fails when a word of the body or of a signed field is changed', async () => {
    const raw = octets(HEAD, 'Content-Transfer-Encoding: 8bit', '', 'one two', '')
    const text = Buffer.from(await signer.sign(raw, NOW_MS)).toString('latin1')
    for (const [word, other] of [
      ['one', 'two'],
      ['Sample', 'sample'],
      ['ada@', 'eve@'],
      ['8bit', '7bit'],
      ['mr1; t', 'mr1; x'],
    ] as const) {
      const changed = octets(text.replace(word, other))
      assert.notEqual(changed.toString('latin1'), text)
      assert.notDeepEqual(await verdicts(changed), ['pass'], word)
    }
  })

  for (const name of ['From', 'To', 'Cc', 'Subject', 'Date', 'Message-ID', 'Reply-To']) {
    test(`fails when another ${name} is added anywhere`, async () => {
      const signed = await signer.sign(octets(HEAD, '', 'hello', ''), NOW_MS)
      const { field, rest } = splitSigned(signed)
      const added = `${name}: eve@evil.example`
      const above = octets(added, field, rest.toString('latin1'))
      const below = octets(field, HEAD, added, '', 'hello', '')
      assert.notDeepEqual(await verdicts(above), ['pass'])
      assert.notDeepEqual(await verdicts(below), ['pass'])
    })
  }

  for (const name of ['List-Unsubscribe', 'List-Unsubscribe-Post']) {
    test(`with ${name} fails when another is added`, async () => {
      const own = `${name}: <https://ours.example/u>`
      const signed = await signer.sign(octets(HEAD, own, '', 'hello', ''), NOW_MS)
      const { field, rest } = splitSigned(signed)
      const added = `${name}: <https://evil.example/u>`
      const above = octets(added, field, rest.toString('latin1'))
      const below = octets(field, HEAD, own, added, '', 'hello', '')
      assert.deepEqual(await verdicts(signed), ['pass'])
      assert.notDeepEqual(await verdicts(above), ['pass'])
      assert.notDeepEqual(await verdicts(below), ['pass'])
    })
  }

  test('may be signed again, and both signatures verify', async () => {
    const once = await signer.sign(octets(HEAD, '', 'hello', ''), NOW_MS)
    assert.deepEqual(await verdicts(await signer.sign(once, NOW_MS)), ['pass', 'pass'])
  })
})

suite('the signature field', () => {
  test('states the algorithm, signer and time', async () => {
    const { field } = splitSigned(await signer.sign(octets(HEAD, '', 'hello', ''), NOW_MS + 999))
    assert.equal(tag(field, 'v'), '1')
    assert.equal(tag(field, 'a'), 'rsa-sha256')
    assert.equal(tag(field, 'c'), 'relaxed/relaxed')
    assert.equal(tag(field, 'd'), DOMAIN)
    assert.equal(tag(field, 's'), SELECTOR)
    assert.equal(tag(field, 't'), String(NOW_MS / 1000))
    assert.equal(tag(field, 'i'), '')
    assert.equal(tag(field, 'l'), '')
    assert.equal(tag(field, 'bh'), 'zS7KNTV0HyeorkDDGwxB1AV6enuRKzO5rthkhdHIRnY=')
  })

  test('names each present field, and once more each field that must not be added', async () => {
    const raw = octets(HEAD, 'Cc: a@x.example', 'List-Unsubscribe: <mailto:u@x.example>', '', '')
    const { field } = splitSigned(await signer.sign(raw, NOW_MS))
    assert.equal(
      tag(field, 'h'),
      'From:From:To:To:Cc:Cc:Subject:Subject:Date:Message-ID:Message-ID:Reply-To:MIME-Version:List-Unsubscribe:List-Unsubscribe',
    )
  })

  test('has lines of at most 76 characters', async () => {
    const many = Array.from({ length: 40 }, (_, i) => `References: <${i}@x.example>`)
    const { field } = splitSigned(await signer.sign(octets(HEAD, ...many, '', ''), NOW_MS))
    const lines = field.split('\r\n')
    assert.ok(lines.length > 10)
    for (const line of lines) assert.ok(line.length <= 76, line)
  })
})
