import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CarryOutcome } from '#delivery/carrier.ts'
import type { DeliveryQueue } from '#delivery/delivery-queue.ts'
import { systemClock } from '#platform/clock.ts'
import { silentLog } from '#platform/log.ts'
import { openDispatcher } from '#queue/dispatcher.ts'
import { MAIL_BOUNDS } from '#queue/dispatcher-bounds.ts'
import { ACCEPTED, AMBIGUOUS } from '#test/conformance/delivering.ts'
import {
  type Answer,
  after,
  badHangs,
  dispatching,
  domains,
  hang,
} from '#test/worker/dispatching.ts'

const LIMIT = { timeout: 120_000 }
const CROWDED: CarryOutcome = { kind: 'crowded', text: 'Busy' }

test('large messages to servers that hang delay neither small nor large ones', LIMIT, async () => {
  await dispatching(badHangs, async ({ tally, queue }) => {
    await queue(domains('good', 5), 1)
    await tally.until(() => tally.of('accepted') === 5)
    const sizeBytes = 25 * 1024 * 1024
    await queue(domains('bad', 4), 3, sizeBytes)
    await tally.until(() => tally.of('under way') >= 2)
    await queue(domains('good', 5), 2, sizeBytes)
    await queue([...domains('good', 5), ...domains('new', 5)], 2)
    await tally.until(() => tally.of('accepted') === 35)
    assert.ok(tally.of('under way') * sizeBytes <= MAIL_BOUNDS.slow.bytes)
  })
})

test(
  'destinations that answered once and then hang leave room for those with few attempts',
  LIMIT,
  async () => {
    let isHanging = false
    const answer: Answer = (domain, signal) =>
      isHanging && domain.startsWith('bad') ? hang(signal, AMBIGUOUS) : ACCEPTED
    await dispatching(answer, async ({ tally, queue }) => {
      const [bad, good] = [domains('bad', 20), domains('good', 20)]
      await queue([...bad, ...good], 20)
      await tally.until(() => tally.of('accepted') === 800)
      isHanging = true
      await queue(bad, 25)
      await tally.until(() => tally.of('under way') >= 300)
      await queue(good, 5)
      await tally.until(() => tally.of('accepted') === 900)
    })
  },
)

test(
  'destinations behind one busy host keep it busy, and no attempt is counted for waiting',
  LIMIT,
  async () => {
    const turns = { taken: 0, most: 0, crowded: 0 }
    const answer: Answer = async (domain) => {
      if (domain.startsWith('other')) return ACCEPTED
      if (turns.taken === 20) {
        turns.crowded += 1
        return CROWDED
      }
      turns.taken += 1
      turns.most = Math.max(turns.most, turns.taken)
      const outcome = await after(50)
      turns.taken -= 1
      return outcome
    }
    await dispatching(answer, async ({ tally, queue, rows }) => {
      const startMs = performance.now()
      await queue(domains('shared', 60), 15)
      await tally.until(() => tally.of('accepted') >= 50)
      await queue(domains('other', 5), 10)
      const others = () => domains('other', 5).every((name) => tally.of(`settled ${name}`) === 10)
      await tally.until(others)
      assert.ok(tally.of('accepted') < 950, 'they waited for nobody')
      await tally.until(() => tally.of('accepted') === 950)
      assert.ok(turns.crowded > 0)
      assert.equal(turns.most, 20)
      assert.ok(performance.now() - startMs < 60_000, 'it could take 2.3 seconds')
      for (const { attempts } of await rows()) assert.equal(attempts, 1)
    })
  },
)

test('a thousand dead destinations do not delay a good one', LIMIT, async () => {
  await dispatching(badHangs, async ({ tally, queue }) => {
    await queue(['good.example'], 20)
    await tally.until(() => tally.of('accepted') === 20)
    for (let from = 0; from < 1_200; from += 300) await queue(domains(`bad${from}`, 300), 1)
    await tally.until(() => tally.of('under way') >= 150)
    const startMs = performance.now()
    await queue(['good.example'], 500)
    await tally.until(() => tally.of('accepted') === 520)
    assert.ok(performance.now() - startMs < 30_000, `${performance.now() - startMs} ms`)
    assert.ok(tally.of('under way') < MAIL_BOUNDS.slow.attempts)
  })
})

const NOTHING: DeliveryQueue = {
  listHeads: () => Promise.resolve([]),
  lease: () => Promise.resolve([]),
  group: () => [],
  readyDue: () => Promise.resolve(),
  renew: () => Promise.resolve(),
  return: () => Promise.resolve(),
  deliver: () => Promise.resolve('reached'),
}

test('destinations without attempts are not remembered', LIMIT, async () => {
  let seen = 0
  const dispatcher = openDispatcher(
    {
      ...NOTHING,
      async listHeads({ limit }) {
        return Array.from({ length: limit }, () => ({ account: 'acc', lane: `${seen++}.example` }))
      },
    },
    { clock: systemClock, log: silentLog },
  )
  while (seen < 3_000) {
    dispatcher.wake()
    await new Promise(setImmediate)
  }
  assert.equal(dispatcher.lanes(), 0)
  await dispatcher.close(0)
})

test('closing does not wait for a long scan for due deliveries', LIMIT, async () => {
  const begun = Promise.withResolvers<void>()
  const dispatcher = openDispatcher(
    {
      ...NOTHING,
      readyDue(_, signal) {
        begun.resolve()
        return new Promise((resolve) => {
          signal?.addEventListener('abort', () => resolve(), { once: true })
        })
      },
    },
    { clock: systemClock, log: silentLog },
  )
  await begun.promise
  await dispatcher.close(0)
})
