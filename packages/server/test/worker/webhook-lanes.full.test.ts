import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '#platform/clock.ts'
import { silentLog } from '#platform/log.ts'
import type { GroupOutcome, Item } from '#queue/dispatched-queue.ts'
import { type Dispatcher, openDispatcher } from '#queue/dispatcher.ts'
import { WEBHOOK_BOUNDS } from '#queue/dispatcher-bounds.ts'
import { domains, Tally } from '#test/worker/dispatching.ts'
import { type MemoryQueue, openMemoryQueue } from '#test/worker/memory-queue.ts'

const LIMIT = { timeout: 120_000 }
/** A hanging endpoint times out after 15 seconds; three seconds have the same effects. */
const HANG_MS = 3_000
/** Marks an event that hangs until the end of its test. */
const HANGING_BYTES = 999

type World = {
  queue: MemoryQueue
  dispatcher: Dispatcher
  /** `<lane>` attempts begun, `done <lane>` answered, `hanging` in progress at endpoints that hang. */
  tally: Tally
  /** Milliseconds until the first attempt in each of these lanes. */
  wait(lanes: string[], count?: number, sizeBytes?: number): Promise<number[]>
}

type Options = {
  accountOf?: (lane: string) => string
  hangs?: (lane: string) => boolean
}

/** An account has at most a hundred endpoints: those that hang belong to so many accounts, the others to one more. */
const accountOf = (lane: string) => {
  const number = /^hang-(\d+)/.exec(lane)?.[1]
  return number === undefined ? 'ours' : `theirs ${Math.floor(Number(number) / 100)}`
}

async function dispatching(run: (world: World) => Promise<void>, options: Options = {}) {
  const { hangs = (lane: string) => lane.startsWith('hang') } = options
  const tally = new Tally()
  const answer = async (item: Item, signal: AbortSignal): Promise<GroupOutcome> => {
    if (!hangs(item.lane)) {
      await pause(5)
      return 'reached'
    }
    tally.add('hanging')
    tally.add('most hanging', Math.max(0, tally.of('hanging') - tally.of('most hanging')))
    await pause(HANG_MS, undefined, { signal }).catch(() => {})
    tally.add('hanging', -1)
    return signal.aborted ? 'returned' : 'unreached'
  }
  const queue = openMemoryQueue({
    async deliver(item, signal) {
      tally.add(item.lane)
      const outcome = await answer(item, signal)
      tally.add(`done ${item.lane}`)
      return outcome
    },
    accountOf: options.accountOf ?? accountOf,
  })
  const dispatcher = openDispatcher(
    queue,
    { clock: systemClock, log: silentLog },
    { bounds: WEBHOOK_BOUNDS },
  )
  const wait: World['wait'] = (lanes, count = 1, sizeBytes) => {
    const startMs = performance.now()
    queue.add(lanes, count, sizeBytes)
    dispatcher.wake()
    return Promise.all(
      lanes.map(async (lane) => {
        await tally.until(() => tally.of(lane) > 0)
        return performance.now() - startMs
      }),
    )
  }
  try {
    await run({ queue, dispatcher, tally, wait })
  } finally {
    await dispatcher.close(0)
  }
}

const worstOf = (waits: number[]) => Math.round(Math.max(...waits))

/** The median of several: a busy machine delays some of them, a hanging one all. */
const assertSoon = (worstMs: number[]) => {
  const middleMs = worstMs.toSorted((one, other) => one - other)[(worstMs.length - 1) >> 1] ?? 0
  assert.ok(middleMs < 0.7 * HANG_MS, `${worstMs.join(', ')} ms`)
}

for (const count of [90, 300, 1_300]) {
  test(`${count} endpoints that hang, with long queues, delay no new one`, LIMIT, async () => {
    // The new ones of an account with ninety that hang, or of another one.
    const isOwn = count === 90
    await dispatching(
      async ({ queue, tally, wait }) => {
        // At a cold start: no endpoint is known, and the good ones come last by name.
        queue.add(domains('hang', count), 20)
        const worstMs = [worstOf(await wait(domains('new', 5), 10))]
        await tally.until(() => tally.of('hanging') >= Math.min(count, 400))
        for (const name of ['again', 'later', 'other', 'zlast']) {
          await pause(HANG_MS / 2)
          worstMs.push(worstOf(await wait(domains(name, 5), 10)))
        }
        assertSoon(worstMs)
        for (const lane of domains('new', 5)) assert.equal(tally.of(`done ${lane}`), 10)
      },
      isOwn ? { accountOf: () => 'ours' } : {},
    )
  })
}

test('endpoints that keep hanging are all tried, in rotation', LIMIT, async () => {
  await dispatching(async ({ queue, dispatcher, tally }) => {
    const lanes = domains('hang', 600)
    queue.add(lanes, 20)
    dispatcher.wake()
    await tally.until(() => lanes.every((lane) => tally.of(lane) >= 2))
    assert.ok(tally.of('most hanging') < WEBHOOK_BOUNDS.slow.attempts)
  })
})

test(
  'endpoints that answered and then hang, and thousands that never answered, delay no others',
  LIMIT,
  async () => {
    let isHanging = false
    const hangs = (lane: string) =>
      lane.startsWith('hang') || (isHanging && lane.startsWith('known'))
    await dispatching(
      async ({ queue, dispatcher, tally, wait }) => {
        const [known, good] = [domains('known', 40), domains('good', 5)]
        await wait([...known, ...good], 50)
        await tally.until(() =>
          [...known, ...good].every((lane) => tally.of(`done ${lane}`) === 50),
        )
        isHanging = true
        queue.add(known, 50)
        queue.add(domains('hang', 3_000), 2)
        dispatcher.wake()
        await tally.until(() => tally.of('hanging') > 1_500)
        queue.add(good, 50)
        dispatcher.wake()
        const startMs = performance.now()
        await tally.until(() => good.every((lane) => tally.of(`done ${lane}`) === 100))
        const tookMs = performance.now() - startMs
        assert.ok(tookMs < 4 * HANG_MS, `${tookMs} ms`)
        const max = WEBHOOK_BOUNDS.slots.attempts + WEBHOOK_BOUNDS.slow.attempts
        assert.ok(tally.of('most hanging') <= max, `${tally.of('most hanging')}`)
      },
      { hangs },
    )
  },
)

test(
  'large events to endpoints that hang stay within their octets and delay no small one',
  LIMIT,
  async () => {
    const large = 1024 * 1024
    await dispatching(async ({ queue, dispatcher, tally, wait }) => {
      queue.add(domains('hang', 300), 5, large)
      dispatcher.wake()
      await tally.until(() => tally.of('hanging') > 40)
      const worstMs: number[] = []
      for (const name of ['again', 'later', 'zlast']) {
        worstMs.push(worstOf(await wait(domains(name, 5), 10, WEBHOOK_BOUNDS.uncountedBytes)))
        await pause(600)
      }
      assertSoon(worstMs)
      const most = tally.of('most hanging') * large
      assert.ok(most <= WEBHOOK_BOUNDS.slow.bytes, `${most / large} MiB`)
    })
  },
)

test('five events that hang delay no other to an endpoint that answers', LIMIT, async () => {
  const tally = new Tally()
  const queue = openMemoryQueue({
    async deliver({ size_bytes: bytes }, signal) {
      if (bytes === HANGING_BYTES) {
        tally.add('hanging')
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        return 'returned'
      }
      tally.add('answered')
      return 'reached'
    },
  })
  const dispatcher = openDispatcher(
    queue,
    { clock: systemClock, log: silentLog },
    { bounds: WEBHOOK_BOUNDS },
  )
  const tell = (count: number, bytes: number) => {
    queue.add(['endpoint'], count, bytes)
    dispatcher.wake()
  }
  try {
    tell(1, 1_000)
    await tally.until(() => tally.of('answered') === 1)
    tell(5, HANGING_BYTES)
    await tally.until(() => tally.of('hanging') === 5)
    tell(1, 1_000)
    await tally.until(() => tally.of('answered') === 2)
  } finally {
    await dispatcher.close(0)
  }
})
