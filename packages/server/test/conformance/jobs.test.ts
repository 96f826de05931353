import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { systemClock } from '#platform/clock.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { silentLog } from '#platform/log.ts'
import { addJobs, hasDueJob, leaseJobs, releaseJobs, renewJobs, settleJob } from '#queue/jobs.ts'
import { failureOf } from '#queue/trouble.ts'
import { type JobKind, openJobWorker } from '#queue/work-jobs.ts'
import { openWorkerLoop } from '#queue/worker-loop.ts'
import { purgeExpired, purgeJobs, sweepBlobs } from '#removal/removal.ts'
import type { Db } from '#store/tables.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  openDatabase,
  storeOn,
} from '#test/conformance/open-database.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

const HOUR_MS = 60 * 60 * 1_000
const MINUTE_MS = 60 * 1_000
const NOW_MS = 1_000_000

onBothEngines('jobs', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)

  let kinds = 0
  const newKind = () => `kind ${++kinds}`
  const add = (kind: string, account_id: string, ...keys: string[]) =>
    db.write(addJobs, { jobs: keys.map((key) => ({ kind, key, account_id, due_at: NOW_MS })) })
  type Lease = Partial<Parameters<typeof leaseJobs.run>[1]>
  const lease = async (kind: string, more: Lease = {}) => {
    const usual = { worker: 'w', nowMs: NOW_MS, leaseMs: MINUTE_MS, limit: 1, afterAccount: '' }
    return (await db.write(leaseJobs, { kind, ...usual, ...more })).map(({ key }) => key)
  }
  const rowOf = (key: string) =>
    db.read.selectFrom('jobs').selectAll().where('key', '=', key).executeTakeFirst()
  const open = (kind: JobKind, of: Db = db) =>
    openJobWorker(
      { ...storeOn(of), makeWorker: () => `test ${makeId('job')}` },
      { pollMs: 20, ...kind },
    )

  test('accounts take turns, each with its oldest job first', async () => {
    const kind = newKind()
    await add(kind, 'acc_1', 'a', 'b')
    await add(kind, 'acc_2', 'c')
    await add(kind, 'acc_3', 'd')
    const keys: string[] = []
    for (const afterAccount of ['', 'acc_1', 'acc_2', 'acc_3', 'acc_1']) {
      keys.push(...(await lease(kind, { afterAccount })))
    }
    assert.deepEqual(keys, ['a', 'c', 'd', 'b'])
  })

  test('where the jobs of an account run one after the other, a job that waits to be retried holds up no other', async () => {
    const kind = newKind()
    await add(kind, 'acc_1', 'e', 'f')
    const own = { isExclusive: true }
    assert.deepEqual(await lease(kind, own), ['e'])
    assert.deepEqual(await lease(kind, own), [])
    assert.equal(await hasDueJob(db, { kind, nowMs: NOW_MS, ...own }), false)
    await add(kind, 'acc_2', 'g')
    const except = (exceptAccount: string) =>
      hasDueJob(db, { kind, nowMs: NOW_MS, ...own, exceptAccount })
    assert.deepEqual([await except('acc_1'), await except('acc_2')], [true, false])
    const held = { kind, key: 'e', worker: 'w', nowMs: NOW_MS }
    const outcome = { failure: failureOf(new Error('secret')) }
    await db.write(settleJob, { ...held, outcome, faultsMax: 9 })
    assert.deepEqual(await lease(kind, own), ['f'])
  })

  test('a worker that lost the lease can neither settle nor renew the job', async () => {
    const kind = newKind()
    await add(kind, 'acc_1', 'h')
    await lease(kind, { worker: 'slow' })
    await lease(kind, { worker: 'quick', nowMs: NOW_MS + MINUTE_MS })
    const before = await rowOf('h')
    const slow = { kind, key: 'h', worker: 'slow', nowMs: NOW_MS }
    const renewal = { kind, workers: ['slow'], untilMs: NOW_MS + HOUR_MS }
    assert.deepEqual(await db.write(renewJobs, renewal), [])
    const failure = failureOf(new Error())
    for (const outcome of ['done', 'again', { failure }] as const) {
      assert.equal(await db.write(settleJob, { ...slow, outcome, faultsMax: 9 }), null)
    }
    assert.deepEqual(await rowOf('h'), before)
  })

  test('failures add up until the job makes progress, and passing ones give up no job', async () => {
    const kind = newKind()
    await add(kind, 'acc_1', 'i')
    const held = { kind, key: 'i', worker: 'w', nowMs: NOW_MS }
    const settle = async (error: Error) => {
      await lease(kind, { nowMs: Number.MAX_SAFE_INTEGER - MINUTE_MS })
      const outcome = { failure: failureOf(error) }
      return db.write(settleJob, { ...held, outcome, faultsMax: 3 })
    }
    for (const kindOfError of ['full', 'busy', 'unavailable'] as const) {
      const trouble = await settle(new StorageError(kindOfError, 'a path'))
      assert.equal(trouble?.faults, 0)
      assert.match(trouble?.message ?? '', /^The s.*; nothing was changed\.$/)
    }
    assert.deepEqual(
      [(await settle(new Error()))?.faults, (await settle(new Error()))?.faults],
      [1, 2],
    )
    await lease(kind, { nowMs: NOW_MS + HOUR_MS })
    await db.write(settleJob, { ...held, outcome: 'again', faultsMax: 3 })
    for (let fault = 1; fault <= 3; fault++)
      assert.equal((await settle(new Error()))?.faults, fault)
    // Its worker keeps the lease to give it up.
    assert.equal((await rowOf('i'))?.leased_by, 'w')
  })

  test('an instance that starts again frees its own jobs and no others', async () => {
    const kind = newKind()
    await add(kind, 'acc_1', 'j')
    await lease(kind, { worker: 'server job_1' })
    for (const instance of ['serve', 'server2', 'job_1']) await db.write(releaseJobs, { instance })
    assert.deepEqual(await lease(kind), [])
    await db.write(releaseJobs, { instance: 'server' })
    assert.deepEqual(await lease(kind), ['j'])
    await db.write(releaseJobs, { instance: null })
    assert.deepEqual(await lease(kind), ['j'])
  })

  test('a job that takes longer than its lease stays with its worker', async () => {
    const kind = newKind()
    await add(kind, 'acc_1', 'k')
    const leaseMs = 600
    let runs = 0
    const worker = open({
      name: kind,
      leaseMs,
      atOnce: 2,
      async run(_, { signal }) {
        runs += 1
        await new Promise((resolve) => setTimeout(resolve, 3 * leaseMs))
        assert.equal(signal.aborted, false)
        return 'done'
      },
    })
    await until(async () => (await rowOf('k')) === undefined)
    await worker.close()
    assert.equal(runs, 1)
  })

  test('a run is aborted once another worker has its lease', async () => {
    const kind = newKind()
    await add(kind, 'acc_1', 'l')
    const aborted = Promise.withResolvers<void>()
    const worker = open({
      name: kind,
      leaseMs: 600,
      async run([job], { signal, held }) {
        await lease(kind, { worker: 'thief', nowMs: held(job).nowMs + HOUR_MS, leaseMs: HOUR_MS })
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        aborted.resolve()
        return 'again'
      },
    })
    await aborted.promise
    await worker.close()
    assert.equal((await rowOf('l'))?.leased_by, 'thief')
  })

  test('a job that always fails is given up once, and its worker goes on to others', async () => {
    const kind = newKind()
    const givenUp: string[] = []
    await add(kind, 'acc_1', 'm', 'n')
    const worker = open({
      name: kind,
      faultsMax: 1,
      async run([{ key }]) {
        if (key === 'm') throw new Error('It is broken.')
        return 'done'
      },
      async giveUp({ key }, { faults }) {
        givenUp.push(`${key} ${faults}`)
      },
    })
    await until(async () => (await lease(kind)).length === 0 && (await rowOf('n')) === undefined)
    await until(async () => (await rowOf('m')) === undefined)
    await worker.close()
    assert.deepEqual(givenUp, ['m 1'])
  })

  test('of jobs that run together one may fail alone', async () => {
    const kind = newKind()
    await add(kind, 'acc_1', 'o', 'p', 'q')
    const worker = open({
      name: kind,
      batch: 5,
      async run(jobs, { fail }) {
        for (const job of jobs) if (job.key === 'p') await fail(job, new Error('It is broken.'))
        return 'done'
      },
    })
    await until(async () => (await rowOf('q')) === undefined)
    await worker.close()
    assert.match((await rowOf('p'))?.trouble ?? '', /"faults":1/)
    assert.equal(await rowOf('o'), undefined)
  })

  test('a worker that closes stops a purge after the current step and returns its job', async () => {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    await db.write(storeReceived, arriving(owner, [inboxId]))
    const actor = { kind: 'operator' } as const
    await db.write(removeInbox, { actor, ...owner, inboxId, nowMs: NOW_MS })
    let steps = 0
    let closing: Promise<void> | null = null
    const ended: Db = {
      ...database.db,
      read: database.db.read,
      reading: database.db.reading,
      async write(transaction, input) {
        if (transaction.name === 'purgeInboxStep') {
          steps += 1
          closing ??= worker.close()
        }
        return database.db.write(transaction, input)
      },
    }
    const kind = purgeJobs(storeOn(ended))
    const worker = open(kind, ended)
    await until(async () => closing !== null)
    await closing
    assert.equal(steps, 1)
    const row = await rowOf(inboxId)
    assert.deepEqual([row?.leased_by, row?.trouble], [null, null])
    const next = open(purgeJobs(storeOn(db)))
    await until(async () => (await rowOf(inboxId)) === undefined)
    await next.close()
  })

  test('the turn of an account ends after three seconds, if another one waits', async () => {
    const kind = newKind()
    await add(kind, 'acc_1', 'r')
    let aheadMs = 0
    const clock = { ...systemClock, monotonic: () => performance.now() + aheadMs }
    const answers: boolean[] = []
    const worker = openJobWorker(
      { ...storeOn(db, clock), makeWorker: () => `test ${makeId('job')}` },
      {
        name: kind,
        async run([job], { isOver }) {
          if (job.key !== 'r') return 'done'
          answers.push(await isOver())
          aheadMs += 3_000
          answers.push(await isOver())
          await add(kind, 'acc_2', 's')
          answers.push(await isOver())
          return 'done'
        },
      },
    )
    await until(async () => (await rowOf('s')) === undefined && answers.length === 3)
    await worker.close()
    assert.deepEqual(answers, [false, false, true])
  })

  test('upkeep that is aborted stops after the current step', async () => {
    const ending = new AbortController()
    let steps = 0
    const endless: Db = {
      ...db,
      write: async () => {
        steps += 1
        if (steps === 3) ending.abort()
        return { isDone: false, blobIds: [] } as never
      },
    }
    await purgeExpired(storeOn(endless), ending.signal)
    assert.equal(steps, 3)

    let batches = 0
    const sweeping = new AbortController()
    const blobs: BlobStore = {
      put: () => Promise.reject(new Error('Nothing is put.')),
      get: () => Promise.resolve(null),
      remove: () => Promise.resolve(),
      sweepEveryMs: HOUR_MS,
      async *list() {
        for (;;) {
          batches += 1
          if (batches === 3) sweeping.abort()
          yield [{ id: makeId('raw'), readAgeMs: () => Promise.resolve(0) }]
        }
      },
      close: () => Promise.resolve(),
    }
    await sweepBlobs({ db, blobs }, sweeping.signal)
    assert.equal(batches, 3)
  })
})

test('closing a loop aborts its step, waits for it, and starts no other', async () => {
  let steps = 0
  const entered = Promise.withResolvers<void>()
  const loop = openWorkerLoop({
    name: 'test',
    everyMs: HOUR_MS,
    clock: systemClock,
    log: silentLog,
    async step(signal) {
      steps += 1
      entered.resolve()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return true
    },
  })
  await entered.promise
  await loop.close()
  loop.wake()
  assert.equal(steps, 1)
})
