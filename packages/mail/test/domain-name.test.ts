import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDomainName } from '#address.ts'

test('a domain name is read in lower case, as A-labels, without the dot at its end', () => {
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

test('what is longer than a name or a label can be is no name', () => {
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
