import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { COMPOSE_STEP_BYTES, completeLineFeeds, countLineEnds } from '#compose/encode-transfer.ts'

const octets = (text: string) => Buffer.from(text, 'latin1')

test('bare line feeds and carriage returns are counted, and bare line feeds become CRLF', async () => {
  const text = fc.array(fc.constantFrom('a', '\r', '\n', '\r\n', '\xff')).map((all) => all.join(''))
  await fc.assert(
    fc.asyncProperty(text, async (text) => {
      const found = await countLineEnds(octets(text))
      assert.equal(found.bareLineFeeds, text.match(/(?<!\r)\n/g)?.length ?? 0)
      assert.equal(found.bareCarriageReturns, text.match(/\r(?!\n)/g)?.length ?? 0)
      const complete = await completeLineFeeds(octets(text), found.bareLineFeeds)
      assert.equal(Buffer.from(complete).toString('latin1'), text.replace(/(?<!\r)\n/g, '\r\n'))
    }),
  )
})

test('a line end split over two chunks counts once', async () => {
  const raw = Buffer.alloc(COMPOSE_STEP_BYTES + 9, 'a')
  raw.write('\r\n', COMPOSE_STEP_BYTES - 1)
  assert.deepEqual(await countLineEnds(raw), { bareLineFeeds: 0, bareCarriageReturns: 0 })
  assert.equal(await completeLineFeeds(raw, 0), raw)
})

test('converting fourteen megabytes of line feeds is fast and needs only the memory of the result', async () => {
  const raw = Buffer.alloc(14 * 1024 * 1024, '\n')
  const started = process.cpuUsage()
  const before = process.memoryUsage.rss()
  const { bareLineFeeds } = await countLineEnds(raw)
  const complete = await completeLineFeeds(raw, bareLineFeeds)
  const { user, system } = process.cpuUsage(started)
  assert.deepEqual([bareLineFeeds, complete.length], [raw.length, 2 * raw.length])
  assert.ok(process.memoryUsage.rss() - before < 200e6)
  assert.ok(user + system < 600_000, `${(user + system) / 1_000} ms`)
})
