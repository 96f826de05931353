import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sealer } from '#platform/seal.ts'

const key = Buffer.alloc(32, 1)
const { seal, open } = sealer(key)
const secret = Buffer.from('a secret')

test('a sealed value opens in its context, whatever its length', () => {
  for (const length of [0, 1, 15, 16, 17, 1_700, 100_000]) {
    const plain = Buffer.alloc(length, 0xa5)
    const opened = open(seal(plain, 'place'), 'place')
    assert.ok(opened !== null && plain.equals(opened), String(length))
  }
})

test('a sealed value opens in no other context and with no other key', () => {
  const sealed = seal(secret, 'dkim:a.example')
  assert.equal(open(sealed, 'dkim:b.example'), null)
  assert.equal(open(sealed, ''), null)
  assert.equal(sealer(Buffer.alloc(32, 2)).open(sealed, 'dkim:a.example'), null)
})

test('a sealed value does not open after a change of any bit, or cut anywhere', () => {
  const sealed = seal(secret, 'place')
  for (let at = 0; at < sealed.length; at += 1) {
    for (let bit = 0; bit < 8; bit += 1) {
      const changed = Uint8Array.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ (1 << bit)
      assert.equal(open(changed, 'place'), null)
    }
    assert.equal(open(sealed.subarray(0, at), 'place'), null)
  }
})

test('the form is version, nonce, ciphertext and tag, and differs each time', () => {
  const once = seal(secret, 'place')
  const twice = seal(secret, 'place')
  assert.equal(once[0], 1)
  assert.equal(once.length, 1 + 12 + secret.length + 16)
  assert.notDeepEqual(once, twice)
  assert.ok(!Buffer.from(once).includes(secret))
})

test('a secret sealed by an earlier version of the program still opens', () => {
  const sealed = Buffer.from('ARrksxAdUm7UZePc0vgIK7AU9qDUGfq8rNn91amy58KrYhQbcA==', 'base64')
  assert.equal(Buffer.from(open(sealed, 'place') ?? '').toString(), 'a secret')
})

test('a key of another length is refused', () => {
  assert.throws(() => sealer(Buffer.alloc(31)), RangeError)
})
