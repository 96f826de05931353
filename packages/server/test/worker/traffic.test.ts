import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAIL_BOUNDS, WEBHOOK_BOUNDS } from '#queue/dispatcher-bounds.ts'
import { Traffic } from '#queue/traffic.ts'

const MIB = 1024 * 1024
const newcomers = {
  attempts: { max: 4, hardMax: 10 },
  bytes: { max: 4 * MIB, hardMax: 8 * MIB },
  longAttemptMs: 1,
  ownerHeldMax: 1,
  ownerSilentHeldMax: 1,
}
const BOUNDS = {
  ...WEBHOOK_BOUNDS,
  attempts: { max: 4, unprovenMax: 2, hardMax: 8 },
  bytes: { ...WEBHOOK_BOUNDS.bytes, max: 4 * MIB, unprovenMax: 2 * MIB, hardMax: 8 * MIB },
  smallLaneAttempts: 0,
  newcomers,
}
const kept = { ...BOUNDS.bytes, keptForSmall: MIB, smallMax: 1_000 }

test('an item is counted as large as it turns out, from the first octet on', () => {
  const traffic = new Traffic({ ...BOUNDS, bytes: kept })
  for (const standing of ['proven', 'newcomer'] as const) {
    const underWay = traffic.begin(standing, 5 * MIB)
    assert.equal(traffic.hasBytesFor(standing, 1), false)
    underWay.resize(3 * MIB - 1)
    assert.equal(traffic.hasBytesFor(standing, MIB), true)
    underWay.resize(3 * MIB)
    assert.equal(traffic.hasBytesFor(standing, MIB), false, 'the rest is for small ones')
    assert.equal(traffic.hasBytesFor(standing, 1_000), true)
    underWay.turnLong()
    underWay.resize(9 * MIB)
    assert.equal(traffic.hasBytesFor(standing, 1), false)
    underWay.end()
    const other = traffic.begin(standing, 3 * MIB - 1)
    assert.equal(traffic.hasBytesFor(standing, MIB), true, 'nothing is left of the first')
    other.resize(4 * MIB)
    assert.equal(traffic.hasBytesFor(standing, 1), false)
    other.end()
    assert.equal(traffic.active, 0)
  }
})

test('newcomers and the others take nothing from each other', () => {
  const traffic = new Traffic(BOUNDS)
  const silent = { standing: 'silent', isSmall: true } as const
  const proven = { standing: 'proven', isSmall: true } as const
  const first = Array.from({ length: 4 }, () => traffic.begin('newcomer', 0))
  assert.equal(traffic.newcomersFree, 0)
  assert.ok(traffic.hasRoomFor(silent) && traffic.hasRoomFor(proven))
  for (const underWay of first) underWay.turnLong()
  assert.equal(traffic.newcomersFree, 4, 'their places are given back')
  for (let count = 0; count < 4; count++) traffic.begin('newcomer', 0).turnLong()
  assert.equal(traffic.newcomersFree, 2, 'but so many and no more go on')
  assert.ok(traffic.hasRoomFor(silent) && traffic.hasRoomFor(proven))
  for (let count = 0; count < 8; count++) traffic.begin('proven', 0).turnLong()
  assert.ok(!traffic.hasRoomFor(silent) && !traffic.hasRoomFor(proven))
  assert.ok(traffic.hasRoomFor({ standing: 'newcomer', isSmall: true }))
  assert.equal(traffic.active, 16)
})

test('where newcomers have no part of their own they are as those that do not answer', () => {
  const traffic = new Traffic(MAIL_BOUNDS)
  const { unprovenMax } = MAIL_BOUNDS.attempts
  for (let count = 0; count < unprovenMax; count++) traffic.begin('newcomer', 1)
  for (const standing of ['newcomer', 'silent'] as const) {
    assert.equal(traffic.hasRoomFor({ standing, isSmall: true }), false)
  }
  assert.equal(traffic.hasRoomFor({ standing: 'proven', isSmall: true }), true)
})
