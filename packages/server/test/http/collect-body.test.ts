import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { bodyBudget, collectBody, JSON_BODY_BYTES_MAX } from '#http/collect-body.ts'

test('many small chunks take only the memory of their content', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const count = 200_000
  const payload = new PassThrough()
  const hold = bodyBudget(count).open()
  const collected = collectBody(payload, { headers: {}, bytesMax: count, hold })
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let sent = 0; sent < count; sent += 1) {
    if (!payload.write(Buffer.from('x'))) await once(payload, 'drain')
  }
  collectGarbage()
  const kept = process.memoryUsage().heapUsed - before
  payload.end()
  assert.equal((await collected).toString(), 'x'.repeat(count))
  // A buffer is at least 90 octets.
  assert.ok(kept < count * 40, `${kept}`)
})

const LARGE = JSON_BODY_BYTES_MAX + 1

/** Holds of large bodies, and the order in which they got their slots. */
function queueOf(count: number, options: { atOnce?: number; waitMsMax?: number }) {
  const budget = bodyBudget(count * LARGE, options)
  const come: number[] = []
  const holds = Array.from({ length: count }, (_, index) => {
    const hold = budget.open()
    hold.growTo(LARGE)
    const turn = hold.takeSlot().then(() => void come.push(index))
    return { ...hold, turn }
  })
  return { budget, holds, come }
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

test('large bodies are processed in the order of their arrival, small ones at once', async () => {
  const { budget, holds, come } = queueOf(5, { atOnce: 2 })
  const [first, second, third, , last] = holds
  await nextTurn()
  assert.deepEqual(come, [0, 1])
  const small = budget.open()
  small.growTo(JSON_BODY_BYTES_MAX)
  await small.takeSlot()
  small.releaseSlot()
  second?.releaseSlot()
  second?.releaseSlot()
  await nextTurn()
  assert.deepEqual(come, [0, 1, 2])
  // One whose client has left is still processed; one that waits leaves the queue.
  first?.release()
  holds[3]?.release()
  await assert.rejects(holds[3]?.turn ?? Promise.resolve(), { code: 'service_unavailable' })
  await nextTurn()
  assert.deepEqual(come, [0, 1, 2])
  third?.releaseSlot()
  await last?.turn
  assert.deepEqual(come, [0, 1, 2, 4])
})

test('a large body that waits too long is refused, and takes no slot', async () => {
  const { holds } = queueOf(2, { atOnce: 1, waitMsMax: 1 })
  const [first, second] = holds
  await first?.turn
  await assert.rejects(second?.turn ?? Promise.resolve(), { code: 'service_unavailable' })
  second?.releaseSlot()
  first?.releaseSlot()
  const { turn } = queueOf(1, {}).holds[0] ?? {}
  await turn
})
