import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settleDeliveries } from '#outbound/deliveries/store/settle.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { MAIL_BOUNDS } from '#queue/dispatcher-bounds.ts'
import { LANE_ATTEMPTS_MAX } from '#queue/lane.ts'
import type { Db } from '#store/tables.ts'
import { ACCEPTED, AMBIGUOUS, UNSENT } from '#test/conformance/delivering.ts'
import {
  type Answer,
  after,
  badHangs,
  type Dispatching,
  dispatching,
  domains,
  hang,
  Tally,
} from '#test/worker/dispatching.ts'

const LIMIT = { timeout: 120_000 }
/** Attempts at once to a destination of which nothing is known. */
const FIRST = MAIL_BOUNDS.lanes.first
const ATTEMPTS_MAX = MAIL_BOUNDS.slots.attempts + MAIL_BOUNDS.slow.attempts
const BYTES_MAX = MAIL_BOUNDS.slots.bytes + MAIL_BOUNDS.slow.bytes

test('a few destinations that hang, with long queues, delay no others', LIMIT, async () => {
  await dispatching(badHangs, async ({ tally, queue }) => {
    await queue([...domains('bad', 3), ...domains('good', 20)], 50)
    await tally.until(() => tally.of('settled') === 1_000)
    assert.equal(tally.of('under way'), 3 * FIRST)
  })
})

test('many destinations that hang, and came first, delay no others', LIMIT, async () => {
  await dispatching(badHangs, async ({ tally, queue }) => {
    await queue(domains('bad', 30), 200)
    await tally.until(() => tally.of('under way') === 30 * FIRST)
    await queue(domains('good', 20), 20)
    await tally.until(() => tally.of('settled') === 400)
    assert.equal(tally.of('under way'), 30 * FIRST)
  })
})

test(
  'destinations that never answered are limited to their share, and those that answered continue',
  LIMIT,
  async () => {
    await dispatching(badHangs, async ({ tally, queue }) => {
      await queue(domains('good', 20), 1)
      await tally.until(() => tally.of('settled') === 20)
      await queue(domains('bad', 200), 20)
      await tally.until(() => tally.of('under way') >= 200)
      await queue(domains('good', 20), 20)
      await tally.until(() => tally.of('settled') === 420)
      assert.ok(tally.of('under way') < MAIL_BOUNDS.slow.attempts / 2)
      assert.ok(tally.of('most') > tally.of('under way'))
    })
  },
)

test('destinations that greet and then hang leave room for new ones', LIMIT, async () => {
  const run = async ({ tally, queue }: Dispatching) => {
    await queue(domains('bad', 15), 20)
    await tally.until(() => tally.of('under way') >= 15 * FIRST)
    await queue(domains('good', 20), 20)
    await tally.until(() => tally.of('settled') === 400)
    assert.ok(tally.of('under way') >= 15 * FIRST)
  }
  await dispatching(badHangs, run, { isGreeted: true })
})

test('the number of attempts never exceeds its limit, whatever hangs', LIMIT, async () => {
  let isHeld = false
  const answer: Answer = (_, signal) => (isHeld ? hang(signal) : ACCEPTED)
  await dispatching(answer, async ({ tally, queue }) => {
    await queue(domains('good', 80), 10)
    await tally.until(() => tally.of('settled') === 800)
    isHeld = true
    await queue(domains('good', 80), 15)
    // Those that hang for a second leave their slots to others.
    await tally.until(() => tally.of('under way') > MAIL_BOUNDS.slots.attempts / 2)
    assert.ok(tally.of('most') <= ATTEMPTS_MAX)
  })
})

test(
  'the limit of a destination that answers grows at once, and that of one that stops answering falls',
  LIMIT,
  async () => {
    let mode: 'gated' | 'good' | 'bad' = 'gated'
    let gate = Promise.withResolvers<void>()
    const gated = new Tally()
    const answer: Answer = async (_, signal) => {
      const outcome = mode === 'bad' ? UNSENT : ACCEPTED
      if (mode !== 'gated') return after(1, outcome)
      gated.add('gated')
      await Promise.race([gate.promise, hang(signal)])
      return outcome
    }
    const open = () => {
      mode = 'good'
      gate.resolve()
      gate = Promise.withResolvers()
    }
    const lane = 'one.example'
    await dispatching(answer, async ({ tally, queue }) => {
      await queue([lane], 300)
      await gated.until(() => gated.of('gated') === FIRST)
      await new Promise(setImmediate)
      assert.equal(tally.of(lane), FIRST)
      open()
      await tally.until(() => tally.of('settled') === 300)
      assert.equal(tally.of(`most ${lane}`), LANE_ATTEMPTS_MAX)
      mode = 'bad'
      await queue([lane], 60)
      await tally.until(() => tally.of('deferred') === 40)
      mode = 'gated'
      await gated.until(() => gated.of('gated') === FIRST + 1)
      await tally.until(() => tally.of(lane) === 1)
      await new Promise(setImmediate)
      assert.equal(tally.of(lane), 1)
      open()
      await tally.until(() => tally.of('settled') === 360)
    })
  },
)

test(
  'messages in progress stay within the budget of octets, and one of any size is sent',
  LIMIT,
  async () => {
    await dispatching(
      () => after(2),
      async ({ tally, queue }) => {
        const sizeBytes = Math.round(MAIL_BOUNDS.slots.bytes / 8)
        await queue(domains('good', 10), 3, sizeBytes)
        await tally.until(() => tally.of('settled') === 30)
        assert.ok(tally.of('most') > 1)
        assert.ok(tally.of('most') * sizeBytes <= BYTES_MAX)
        await queue(['large.example'], 2, 2 * BYTES_MAX)
        await tally.until(() => tally.of('settled') === 32)
        assert.equal(tally.of('most large.example'), 1)
      },
    )
  },
)

test('a new destination does not wait for the backlogs of the others', LIMIT, async () => {
  await dispatching(
    () => after(1),
    async ({ tally, queue }) => {
      await queue(domains('long', 25), 80)
      await tally.until(() => tally.of('settled') > 400)
      const before = tally.of('settled')
      await queue(['aaa.example', 'zzz.example'], 1)
      const isDone = (domain: string) => tally.of(`settled ${domain}`) === 1
      await tally.until(() => isDone('aaa.example') && isDone('zzz.example'))
      assert.ok(tally.of('settled') - before < 1_000, `${tally.of('settled') - before} came first`)
    },
  )
})

test('backlogs are processed side by side', LIMIT, async () => {
  const names = domains('long', 30)
  await dispatching(
    () => after(1),
    async ({ tally, queue }) => {
      await queue(names, 60)
      await tally.until(() => tally.of('settled') >= 900)
      const done = names.map((name) => tally.of(`settled ${name}`))
      assert.ok(Math.min(...done) > 10, `done: ${done.join(' ')}`)
    },
  )
})

test(
  'at the end waiting deliveries are returned, running ones may finish, hanging ones are aborted',
  LIMIT,
  async () => {
    const finish: (() => void)[] = []
    const cut: Record<string, typeof UNSENT> = { bad: UNSENT, lost: AMBIGUOUS }
    const answer: Answer = async (domain, signal) => {
      const outcome = cut[domain.split('.')[0] ?? '']
      if (outcome !== undefined) return hang(signal, outcome)
      await Promise.race([new Promise<void>((resolve) => finish.push(resolve)), hang(signal)])
      return ACCEPTED
    }
    await dispatching(answer, async ({ tally, queue, dispatcher, rows, carried }) => {
      const names = ['bad.example', 'lost.example', 'good.example']
      await queue(names, 50)
      await tally.until(() => tally.of('under way') === 3 * FIRST)
      const closed = dispatcher.close(150)
      for (const open of finish.splice(0)) open()
      await closed
      assert.equal(dispatcher.active(), 0)
      const left = await rows()
      assert.equal(left.length, 150)
      const statesOf = (name: string) => {
        const states = left
          .filter(({ lane }) => lane === `${name}.example`)
          .map(({ queue_state, status, attempts }) => `${queue_state} ${status} ${attempts}`)
        return Object.fromEntries(
          [...Map.groupBy(states, (state) => state)].map(([state, all]) => [state, all.length]),
        )
      }
      assert.deepEqual(statesOf('bad'), { 'ready queued 0': 50 })
      assert.deepEqual(statesOf('lost'), { 'ready queued 0': 45, 'waiting deferred 1': 5 })
      assert.deepEqual(statesOf('good'), { 'ready queued 0': 45, 'null accepted 1': 5 })
      assert.equal(carried.size, 15)
      await queue(names, 1)
      await new Promise((resolve) => setTimeout(resolve, 20))
      assert.equal(carried.size, 15)
    })
  },
)

test('a lost wake-up delays work by about a second', LIMIT, async () => {
  await dispatching(
    () => ACCEPTED,
    async ({ tally, queue, dispatcher }) => {
      await queue(['first.example'], 1)
      await tally.until(() => tally.of('settled') === 1)
      const { wake } = dispatcher
      dispatcher.wake = () => {}
      const startMs = performance.now()
      await queue(['second.example'], 1)
      await tally.until(() => tally.of('settled') === 2)
      assert.ok(performance.now() - startMs < 20_000)
      dispatcher.wake = wake
    },
  )
})

test(
  'an outcome waits for a store that is down, and nothing is sent again meanwhile',
  LIMIT,
  async () => {
    let failures = 3
    const on = (db: Db): Db => ({
      ...db,
      read: db.read,
      async write(transaction, input) {
        if (transaction.name === settleDeliveries.name && failures-- > 0) {
          throw new StorageError('unavailable', 'The store is away.')
        }
        return db.write(transaction, input)
      },
    })
    await dispatching(
      () => ACCEPTED,
      async ({ tally, queue, carried, rows }) => {
        await queue(['good.example'], 3)
        await tally.until(() => tally.of('settled') === 3)
        assert.deepEqual([...carried.values()], [1, 1, 1])
        for (const { status, attempts } of await rows()) {
          assert.deepEqual([status, attempts], ['accepted', 1])
        }
      },
      { on },
    )
  },
)

test('a store that is down during leases costs only time', LIMIT, async () => {
  let failures = 1
  await dispatching(
    () => ACCEPTED,
    async ({ tally, queue }) => {
      await queue(['good.example'], 3)
      await tally.until(() => tally.of('settled') === 3)
      assert.ok(failures < 0)
    },
    {
      seen: (queue) => ({
        ...queue,
        lease: async (lanes) => {
          if (failures-- > 0) throw new StorageError('busy', 'The store is away.')
          return queue.lease(lanes)
        },
      }),
    },
  )
})
