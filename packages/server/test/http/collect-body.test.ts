// What a body takes of memory while it comes in. In a file of its own, so that no other test's garbage is
// counted.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { collectBody } from '#http/collect-body.ts'

test('of many small chunks no more is kept than what is in them', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const count = 200_000
  const payload = new PassThrough()
  const hold = { growTo: () => {}, release: () => {} }
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
