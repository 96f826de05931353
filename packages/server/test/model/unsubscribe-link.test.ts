import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hopMarkOf } from '#outbound/send/store/loop-marks.ts'
import { readUnsubscribeToken, unsubscribeUrl } from '#outbound/unsubscribe/unsubscribe.ts'
import { SEALING_KEY_BYTES, sealer } from '#platform/seal.ts'

const SEALER = sealer(new Uint8Array(SEALING_KEY_BYTES).fill(7))
const FOUND = {
  accountId: 'acc_01h455vb4pex5vsknk084sn02q',
  address: 'bob@friend.example',
  messageId: 'msg_01h455vb4pex5vsknk084sn02q',
}
const PREFIX = 'https://mail.example/unsubscribe/'

function tokenOf(found = FOUND): string {
  const url = unsubscribeUrl({ publicUrl: () => 'https://mail.example', sealer: SEALER }, found)
  assert.ok(url.startsWith(PREFIX))
  return url.slice(PREFIX.length)
}

test('only the service can read whom a link belongs to, and each link differs', () => {
  const tokens = [tokenOf(), tokenOf()]
  for (const token of tokens) assert.deepEqual(readUnsubscribeToken(SEALER, token), FOUND)
  assert.notEqual(tokens[0], tokens[1])
  const plain = Buffer.from(tokens[0] ?? '', 'base64url').toString('latin1')
  for (const part of Object.values(FOUND)) assert.ok(!plain.includes(part))
})

test('a link with any character changed, removed or added is invalid', () => {
  const token = tokenOf()
  for (let at = 0; at < token.length; at++) {
    for (const other of ['A', 'B', '=', '.', '']) {
      const changed = token.slice(0, at) + other + token.slice(at + 1)
      if (changed === token) continue
      assert.equal(readUnsubscribeToken(SEALER, changed), null, changed)
    }
  }
  for (const other of [`${token}A`, `${token}=`, ` ${token}`, '', '=', 'A', 'x'.repeat(5_000)]) {
    assert.equal(readUnsubscribeToken(SEALER, other), null, other)
  }
})

test('a value sealed with another key or for another purpose is no link', () => {
  const other = sealer(new Uint8Array(SEALING_KEY_BYTES).fill(8))
  assert.equal(readUnsubscribeToken(other, tokenOf()), null)
  const sealed = SEALER.seal(Buffer.from(JSON.stringify(FOUND)), 'dkim:mail.example')
  assert.equal(readUnsubscribeToken(SEALER, Buffer.from(sealed).toString('base64url')), null)
})

test('the link of the longest address fits a line of a header section', () => {
  const quoted = `"${'\\"'.repeat(31)}"`
  for (const local of ['x'.repeat(64), quoted, 'ä'.repeat(32)]) {
    const rest = 254 - Buffer.byteLength(local) - 1
    const found = { ...FOUND, address: `${local}@${'d'.repeat(rest)}` }
    const token = tokenOf(found)
    assert.deepEqual(readUnsubscribeToken(SEALER, token), found)
    assert.ok(token.length <= 620, `${token.length}`)
  }
})

test('a mark is constant for an inbox, and differs for each inbox and key', () => {
  const [key, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
  const marks = [
    hopMarkOf({ deriveKey: () => key }, 'inb_1'),
    hopMarkOf({ deriveKey: () => key }, 'inb_2'),
    hopMarkOf({ deriveKey: () => other }, 'inb_1'),
  ]
  assert.equal(new Set(marks).size, 3)
  for (const mark of marks) assert.match(mark, /^[0-9a-v]{26}$/)
  assert.equal(hopMarkOf({ deriveKey: () => key }, 'inb_1'), marks[0])
})
