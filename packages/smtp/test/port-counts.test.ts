import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePortCounts, PortCounts } from '@mailroom/smtp/server/port-counts.ts'

const ADDRESSES = Array.from({ length: 20_000 }, (_, n) => `10.${n >> 16}.${n >> 8}.${n}`)

test('a server counts each of its addresses exactly, however many', () => {
  const counts = new PortCounts(makePortCounts(2), 1)
  for (const address of ADDRESSES) {
    counts.countConnection(address, 1)
    counts.hold(address, 100)
  }
  assert.deepEqual(new Set(ADDRESSES.map((one) => counts.connectionsOf(one))), new Set([1]))
  assert.deepEqual(new Set(ADDRESSES.map((one) => counts.heldBytesOf(one))), new Set([100]))
  for (const address of ADDRESSES) {
    counts.hold(address, -100)
    counts.countConnection(address, -1)
  }
  assert.deepEqual([counts.connections, counts.heldBytes], [0, 0])
  assert.deepEqual(new Set(ADDRESSES.map((one) => counts.connectionsOf(one))), new Set([0]))
})

test('two servers on a port count an address together, until one of them ends', () => {
  const buffer = makePortCounts(2)
  const [first, second] = [new PortCounts(buffer, 0), new PortCounts(buffer, 1)]
  for (const counts of [first, second, second]) counts.countConnection('192.0.2.1', 1)
  second.hold('192.0.2.1', 5)
  assert.deepEqual([first.connectionsOf('192.0.2.1'), second.connectionsOf('192.0.2.1')], [3, 3])
  assert.deepEqual([first.heldBytesOf('192.0.2.1'), first.connections], [5, 3])
  // As the main thread does for a thread that died.
  new PortCounts(buffer, 1).clear()
  assert.deepEqual([first.connectionsOf('192.0.2.1'), first.heldBytes], [1, 0])
})
