import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeReturnPath, RETURN_PATH_MS, readReturnPath } from '#outbound/send/store/loop-marks.ts'
import { makeId } from '#test/conformance/open-database.ts'

const KEY = new Uint8Array(32).fill(7)
const nowMs = Date.now()

function localPartOf(address: string): string {
  return address.slice(0, address.lastIndexOf('@'))
}

function make(domain = 'mailroom.localhost') {
  const deliveryId = makeId('dlv')
  const address = makeReturnPath(KEY, { deliveryId, domain })
  return { deliveryId, address, localPart: localPartOf(address) }
}

test('A return path names its delivery', () => {
  const { deliveryId, address, localPart } = make('Example.COM')
  assert.match(address, /^b\+[0-9a-z]{26}\.[0-9a-z]{10}@example\.com$/)
  assert.deepEqual(readReturnPath(KEY, { localPart, nowMs }), { kind: 'delivery', deliveryId })
})

test('A return path has at most 64 octets before the @', () => {
  const { localPart } = make()
  assert.equal(Buffer.byteLength(localPart), 39)
})

test('A server may change the case of a return path', () => {
  const { deliveryId, localPart } = make()
  const folded = { localPart: localPart.toUpperCase(), nowMs }
  assert.deepEqual(readReturnPath(KEY, folded), { kind: 'delivery', deliveryId })
})

test('A change of any character after the plus sign is a forgery', () => {
  const { localPart } = make()
  const characters = '0123456789abcdefghijklmnopqrstuvwxyz.+-_=@ é\u212a\u017f'
  let forgeries = 0
  for (let place = 2; place < localPart.length; place += 1) {
    for (const character of ['', ...characters]) {
      if (character === localPart[place]) continue
      const changed = localPart.slice(0, place) + character + localPart.slice(place + 1)
      assert.deepEqual(readReturnPath(KEY, { localPart: changed, nowMs }), { kind: 'forged' })
      forgeries += 1
    }
    const longer = `${localPart.slice(0, place)}0${localPart.slice(place)}`
    assert.deepEqual(readReturnPath(KEY, { localPart: longer, nowMs }), { kind: 'forged' })
  }
  assert.ok(forgeries > 1_500)
})

test('A return path of another key is a forgery', () => {
  const { localPart } = make()
  const other = new Uint8Array(32).fill(8)
  assert.deepEqual(readReturnPath(other, { localPart, nowMs }), { kind: 'forged' })
})

test('The signatures of two return paths cannot be exchanged', () => {
  const [one, other] = [make().localPart, make().localPart]
  const mixed = `${one.slice(0, one.indexOf('.'))}${other.slice(other.indexOf('.'))}`
  assert.deepEqual(readReturnPath(KEY, { localPart: mixed, nowMs }), { kind: 'forged' })
})

test('A return path accepts reports for 30 days', () => {
  const { deliveryId, localPart } = make()
  const last = { localPart, nowMs: nowMs + RETURN_PATH_MS - 60_000 }
  assert.deepEqual(readReturnPath(KEY, last), { kind: 'delivery', deliveryId })
  const late = { localPart, nowMs: nowMs + RETURN_PATH_MS + 60_000 }
  assert.deepEqual(readReturnPath(KEY, late), { kind: 'expired' })
})

test('Other local parts are no return paths', () => {
  for (const localPart of ['', 'b', 'bob', 'b-x', 'ann+b', 'bb+x', '+b']) {
    assert.equal(readReturnPath(KEY, { localPart, nowMs }), null)
  }
  for (const localPart of ['b+', 'b+.', 'b+tag', 'B+tag', `b+${'x'.repeat(1_000)}`]) {
    assert.deepEqual(readReturnPath(KEY, { localPart, nowMs }), { kind: 'forged' })
  }
})
