import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { systemClock } from '#platform/clock.ts'
import { silentLog } from '#platform/log.ts'
import type { Item } from '#queue/dispatched-queue.ts'
import { openDispatcher } from '#queue/dispatcher.ts'
import { type DispatcherBounds, MAIL_BOUNDS, WEBHOOK_BOUNDS } from '#queue/dispatcher-bounds.ts'
import { LANE_ATTEMPTS_MAX } from '#queue/lane.ts'
import { domains, Tally } from '#test/worker/dispatching.ts'
import { type MemoryQueue, openMemoryQueue } from '#test/worker/memory-queue.ts'

const LIMIT = { timeout: 120_000 }
const ATTEMPTS_MAX = MAIL_BOUNDS.slots.attempts + MAIL_BOUNDS.slow.attempts
/** Enough to keep every slot busy while other deliveries arrive. */
const QUEUED = sizeOf('TEST_MAILROOM_QUEUED', { usual: 10_000, long: 50_000 })
const LANES = sizeOf('TEST_MAILROOM_LANES', { usual: 250, long: 1_000 })

type World = {
  queue: MemoryQueue
  /** `<account>` attempts begun. */
  tally: Tally
  wake(): void
  /** Attempts that others began until the first of this account, counted from the arrival of its delivery. */
  waitOf(account: string, lane: string): Promise<number>
}

async function dispatching(
  run: (world: World) => Promise<void>,
  options: { bounds: DispatcherBounds; attempt(item: Item, signal: AbortSignal): Promise<boolean> },
): Promise<void> {
  const tally = new Tally()
  const memory = openMemoryQueue({
    async deliver(item, signal) {
      tally.add('all')
      tally.add(item.account_id)
      return (await options.attempt(item, signal)) ? 'reached' : 'unreached'
    },
    accountOf: (lane) => lane,
  })
  const queue: MemoryQueue = {
    ...memory,
    return(held) {
      tally.add('given back', held.length)
      return memory.return(held)
    },
  }
  const { bounds } = options
  const dispatcher = openDispatcher(queue, { clock: systemClock, log: silentLog }, { bounds })
  const waitOf: World['waitOf'] = async (account, lane) => {
    const before = tally.of('all')
    const own = tally.of(account)
    queue.add([lane], 1, 1_000, account)
    dispatcher.wake()
    await tally.until(() => tally.of(account) > own)
    return tally.of('all') - before - 1
  }
  try {
    await run({ queue, tally, wake: dispatcher.wake, waitOf })
  } finally {
    await dispatcher.close(0)
  }
}

const answers = async (_: Item, signal: AbortSignal) => {
  await pause(50, undefined, { signal }).catch(() => {})
  return true
}
/** Until the dispatcher ends. */
const hangs = async (signal: AbortSignal) => {
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
  return false
}

test(
  'one message is sent at once to a destination for which another account has queued thousands',
  LIMIT,
  async () => {
    await dispatching(
      async ({ queue, tally, wake, waitOf }) => {
        queue.add(['relay'], QUEUED, 1_000, 'large')
        wake()
        await tally.until(() => tally.of('large') > 3 * LANE_ATTEMPTS_MAX)
        for (const account of ['a', 'b', 'z']) {
          const waited = await waitOf(account, 'relay')
          assert.ok(waited <= 2 * LANE_ATTEMPTS_MAX, `${waited} attempts of others`)
        }
      },
      { bounds: MAIL_BOUNDS, attempt: answers },
    )
  },
)

test(
  'one message to a new destination does not wait for hundreds of other destinations of one account',
  LIMIT,
  async () => {
    await dispatching(
      async ({ queue, tally, wake, waitOf }) => {
        queue.add(domains('many', LANES), QUEUED / LANES, 1_000, 'large')
        wake()
        await tally.until(() => tally.of('large') > ATTEMPTS_MAX)
        for (const account of ['a', 'b', 'z']) {
          const waited = await waitOf(account, `${account}.example`)
          assert.ok(waited <= ATTEMPTS_MAX, `${waited} attempts of others`)
        }
      },
      { bounds: MAIL_BOUNDS, attempt: answers },
    )
  },
)

test(
  'one message is sent while hundreds of destinations of another account hang',
  LIMIT,
  async () => {
    const attempt = ({ lane }: Item, signal: AbortSignal) =>
      lane.startsWith('many') ? hangs(signal) : Promise.resolve(true)
    await dispatching(
      async ({ queue, tally, wake, waitOf }) => {
        queue.add(domains('many', LANES), 5, 1_000, 'large')
        wake()
        await tally.until(() => tally.of('large') >= 150)
        for (const account of ['a', 'b', 'z']) await waitOf(account, `${account}.example`)
      },
      { bounds: MAIL_BOUNDS, attempt },
    )
  },
)

test(
  'a large message is sent while hanging ones of another account hold all octets',
  LIMIT,
  async () => {
    const attempt = ({ account_id: account }: Item, signal: AbortSignal) =>
      account === 'large' ? hangs(signal) : Promise.resolve(true)
    await dispatching(
      async ({ queue, tally, wake }) => {
        queue.add(domains('many', 20), 5, MAIL_BOUNDS.slow.bytes / 4, 'large')
        wake()
        await tally.until(() => tally.of('large') === 2)
        queue.add(['a.example'], 1, MAIL_BOUNDS.slow.bytes / 4, 'a')
        wake()
        await tally.until(() => tally.of('a') === 1)
        assert.equal(tally.of('large'), 2)
      },
      { bounds: MAIL_BOUNDS, attempt },
    )
  },
)

test('more destinations than a process remembers are all served', LIMIT, async () => {
  await dispatching(
    async ({ queue, tally, wake }) => {
      queue.add(domains('many', 11_000), 2, 1_000, 'large')
      wake()
      await tally.until(() => tally.of('large') === 22_000)
    },
    { bounds: MAIL_BOUNDS, attempt: async () => true },
  )
})

for (const count of [10, 40, 100]) {
  test(
    `${count} accounts with long queues for one destination are served in rotation`,
    LIMIT,
    async () => {
      const accounts = Array.from({ length: count }, (_, index) => `account-${index}`)
      const attempt = async () => {
        await pause(5)
        return true
      }
      await dispatching(
        async ({ queue, tally, wake }) => {
          for (const account of accounts) queue.add(['relay'], 4_000 / count, 1_000, account)
          wake()
          await tally.until(() => tally.of('all') >= 1_000)
          const counts = accounts.map((account) => tally.of(account)).sort((one, two) => one - two)
          // Includes deliveries given to the first account before the others were found.
          const even = 1_000 / count
          assert.ok((counts[0] ?? 0) >= even / 2, `${counts}`)
          assert.ok((counts.at(-1) ?? 0) <= 2 * even + 10, `${counts}`)
          const returned = tally.of('given back')
          assert.ok(returned <= 200, `${returned} were taken in vain`)
        },
        { bounds: MAIL_BOUNDS, attempt },
      )
    },
  )
}

test(
  'an endpoint that answers is called at once, whatever hundreds of slow ones another account has',
  LIMIT,
  async () => {
    const attempt = async ({ lane }: Item) => {
      if (lane.startsWith('many')) await pause(200)
      return true
    }
    await dispatching(
      async ({ queue, tally, wake, waitOf }) => {
        // Known before.
        await waitOf('known', 'known')
        queue.add(domains('many', LANES), QUEUED / LANES, 1_000, 'large')
        wake()
        await tally.until(() => tally.of('large') > 3_000)
        const waits = [await waitOf('known', 'known'), await waitOf('known', 'known')]
        assert.ok(
          Math.min(...waits) <= WEBHOOK_BOUNDS.slots.attempts,
          `${waits} attempts of others`,
        )
      },
      { bounds: WEBHOOK_BOUNDS, attempt },
    )
  },
)
