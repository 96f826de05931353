import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  CUSTOM_DOMAIN_LENGTH_MAX,
  readCustomDomain,
  readNamedDomain,
} from '#platform/domain-name.ts'

const SERVICE = 'agents.example.com'

async function reasonOf(text: string): Promise<string> {
  const named = await readCustomDomain(text, SERVICE)
  return named.kind === 'invalid' ? named.reason : `valid: ${named.domain}`
}

test('a name is converted to lower-case A-labels without a final dot', async () => {
  const forms: Record<string, string> = {
    'Example.COM': 'example.com',
    'example.com.': 'example.com',
    'MAIL.example.co.uk': 'mail.example.co.uk',
    'MÜNCHEN.example': 'xn--mnchen-3ya.example',
    'xn--MNCHEN-3ya.example': 'xn--mnchen-3ya.example',
    // The decomposed form, the ideographic full stop and full-width letters are spellings of the same.
    'mu\u0308nchen。ｅｘａｍｐｌｅ': 'xn--mnchen-3ya.example',
    '例え.テスト': 'xn--r8jz45g.xn--zckzah',
    '3com.com': '3com.com',
    'me.github.io': 'me.github.io',
    'example.com': 'example.com',
  }
  for (const [text, domain] of Object.entries(forms)) {
    assert.deepEqual(await readCustomDomain(text, SERVICE), { kind: 'domain', domain }, text)
  }
})

test('public suffixes are refused, those of private registries too', async () => {
  for (const text of [
    'co.uk',
    'github.io',
    'CO.UK.',
    'blogspot.com',
    'city.kawasaki.jp',
    's3.amazonaws.com',
  ]) {
    const reason = await reasonOf(text)
    const isSuffix = text === 'city.kawasaki.jp' ? /^valid/ : /public suffix/
    assert.match(reason, isSuffix, text)
  }
})

test('IP addresses are refused in every spelling', async () => {
  const addresses = [
    '192.0.2.1',
    '[192.0.2.1]',
    '::1',
    '[IPv6:2001:db8::1]',
    '0x7f.1',
    '１２７.0.0.1',
  ]
  for (const text of [...addresses, '1.2.3', '4294967295.', '192.0.2.1.']) {
    assert.match(await reasonOf(text), /IP address/, text)
  }
})

test('the domain of the service and its subdomains are refused, parents and siblings are not', async () => {
  assert.match(await reasonOf('Agents.Example.com.'), /the service itself/)
  assert.match(await reasonOf('a.b.agents.example.com'), /subdomain of the domain of the service/)
  assert.equal(await reasonOf('example.com'), 'valid: example.com')
  assert.equal(await reasonOf('otheragents.example.com'), 'valid: otheragents.example.com')
})

test('an invalid name is refused with the reason', async () => {
  const label = 'a'.repeat(63)
  const reasons: Record<string, RegExp> = {
    '': /empty/,
    com: /single word/,
    localhost: /single word/,
    日本: /single word/,
    'a..example': /part that is empty/,
    '.example.com': /part that is empty/,
    'example.com..': /part that is empty/,
    '-a.example': /hyphen/,
    'a-.example': /hyphen/,
    [`a${label}.example`]: /longer than 63/,
    'a_b.example': /not a domain name/,
    'a b.example': /not a domain name/,
    'example.123': /ends in a number/,
    'example.0x1f.': /ends in a number/,
    '1.2.3.4.5': /ends in a number/,
    ' a.example': /not a domain name/,
    'a%2eb.example': /not a domain name/,
    '*.example.com': /not a domain name/,
    'https://a.example': /not a domain name/,
    'a.example/path': /not a domain name/,
    'a.example:25': /not a domain name/,
    'ann@a.example': /not a domain name/,
    'a\0.example': /not a domain name/,
    'a\n.example': /not a domain name/,
    'a\u200b\u200e.example': /not a domain name|part|valid/,
    '\ud800.example': /not a domain name/,
  }
  for (const [text, reason] of Object.entries(reasons)) {
    assert.match(await reasonOf(text), reason, JSON.stringify(text))
  }
})

test('a name may be as long as its addresses allow', async () => {
  const label = `${'a'.repeat(49)}.`
  const longest = `${label.repeat(4)}${'b'.repeat(CUSTOM_DOMAIN_LENGTH_MAX - 200 - 8)}.example`
  assert.equal(longest.length, CUSTOM_DOMAIN_LENGTH_MAX)
  assert.equal(await reasonOf(longest), `valid: ${longest}`)
  assert.match(await reasonOf(`b${longest}`), /longer than 213/)
  assert.match(await reasonOf('ü'.repeat(100_000)), /not a domain name|longer than/)
})

test('any input gives a name that DNS can hold, or a reason', () => {
  const letters = [
    'a',
    'Ü',
    '.',
    '-',
    '1',
    '。',
    '\u00ad',
    '🙂',
    'ß',
    '٣',
    'x',
    'n',
    '_',
    '%',
    '[',
    ':',
  ]
  let seed = 7
  const next = (count: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return seed % count
  }
  for (let run = 0; run < 5_000; run++) {
    const text = Array.from({ length: next(14) }, () => letters[next(letters.length)]).join('')
    const named = readNamedDomain(text)
    if (named.kind === 'invalid') assert.notEqual(named.reason, '')
    else {
      assert.match(named.domain, /^(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))+$/)
      assert.deepEqual(readNamedDomain(named.domain), named, text)
    }
  }
})
