import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeReceived } from '#inbound/receive-message-rows.ts'
import { removeInbox } from '#inboxes/change-inbox-rows.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { silentLog } from '#platform/log.ts'
import {
  claimJobs,
  completeJob,
  continueJob,
  enqueueJob,
  renewLease,
  retryJob,
  returnJobs,
} from '#queue/job-rows.ts'
import { workJobs } from '#queue/work-jobs.ts'
import { openWorkerLoop } from '#queue/worker-loop.ts'
import { purgeExpired, runJob, sweepBlobs } from '#removal/removal.ts'
import type { Db } from '#schema/tables.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  openDatabase,
} from '#test/conformance/open-database.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

const HOUR_MS = 60 * 60 * 1_000
const NEVER = AbortSignal.any([])

onBothEngines('jobs', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))

  let nowMs = Date.now() + HOUR_MS
  const clock = { now: () => nowMs, monotonic: () => nowMs, steady: () => nowMs }
  const claim = (worker: string, limit = 10) =>
    db.write(claimJobs, { worker, nowMs, leaseMs: 1_000, limit })
  const addJob = async () => {
    const id = makeId('job')
    await db.write(enqueueJob, { id, kind: 'none', payload: {}, runAtMs: nowMs, nowMs })
    return id
  }
  const depsOf = (db: Db): Parameters<typeof workJobs>[0] => ({
    db,
    clock,
    log: silentLog,
    runJob: (job, lease) => runJob({ db, blobs: null, clock }, job, lease),
  })
  const rowOf = (id: string) =>
    db.read.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst()
  /** A deleted inbox whose purge takes three steps, and the id of its job. */
  const deletedInbox = async () => {
    const inboxId = await addInbox(db, owner)
    await db.write(storeReceived, arriving(owner, [inboxId]))
    const jobId = makeId('job')
    await db.write(removeInbox, {
      actor: { kind: 'operator' },
      ...owner,
      inboxId,
      jobId,
      nowMs,
    })
    return { inboxId, jobId }
  }
  /** The same database, with a hook before each step of a purge. */
  const beforeEachStep = (happens: (input: object) => unknown): Db => ({
    ...db,
    read: db.read,
    async write(transaction, input) {
      if (/^purge\w+Step$/.test(transaction.name)) await happens(input as object)
      return db.write(transaction, input)
    },
  })

  test('a worker that lost the lease can neither end, defer nor renew the job', async () => {
    const id = await addJob()
    await claim('slow')
    nowMs += 1_001
    await claim('quick')
    const held = await rowOf(id)
    const slow = { id, worker: 'slow' }
    assert.equal(await db.write(renewLease, { ...slow, untilMs: nowMs + HOUR_MS }), false)
    assert.equal(await db.write(retryJob, { ...slow, runAtMs: nowMs + HOUR_MS }), false)
    assert.equal(await db.write(continueJob, { ...slow, nowMs }), false)
    assert.equal(await db.write(completeJob, slow), false)
    await db.write(returnJobs, { worker: 'slow' })
    assert.deepEqual(await rowOf(id), held)
    assert.equal(await db.write(completeJob, { id, worker: 'quick' }), true)
    assert.equal(await rowOf(id), undefined)
  })

  test('a job that takes longer than its lease stays with its worker', async () => {
    const { jobId } = await deletedInbox()
    const taken: string[] = []
    const slowly = beforeEachStep(async () => {
      nowMs += 25_000
      taken.push(...(await claim('thief')).map(({ id }) => id))
    })
    await workJobs(depsOf(slowly), { worker: 'slow', signal: NEVER })
    assert.deepEqual(taken, [])
    assert.equal(await rowOf(jobId), undefined)
  })

  test('of jobs claimed together, one that another worker took over is left to it', async () => {
    const [first, second] = [await deletedInbox(), await deletedInbox()]
    const stepped = new Set<string>()
    let isFirst = true
    const stalled = beforeEachStep(async (input) => {
      stepped.add((input as { inboxId: string }).inboxId)
      if (!isFirst) return
      isFirst = false
      nowMs += 61_000
      await claim('other')
    })
    await workJobs(depsOf(stalled), { worker: 'stalled', signal: NEVER })
    assert.deepEqual([...stepped], [first.inboxId])
    assert.equal((await rowOf(first.jobId))?.leased_by, 'other')
    assert.equal((await rowOf(second.jobId))?.leased_by, 'other')
    for (const { jobId } of [first, second]) {
      await db.write(completeJob, { id: jobId, worker: 'other' })
    }
  })

  test('a job that makes progress resets its failures, one that fails does not', async () => {
    const id = await addJob()
    const holding = { id, worker: 'worker' }
    for (let run = 1; run <= 20; run++) {
      assert.equal((await claim('worker')).at(0)?.attempts, 1)
      await db.write(continueJob, { ...holding, nowMs })
    }
    for (let run = 1; run <= 3; run++) {
      assert.equal((await claim('worker')).at(0)?.attempts, run)
      await db.write(retryJob, { ...holding, runAtMs: nowMs })
    }
    await claim('worker')
    await db.write(completeJob, holding)
  })

  test('a worker told to end stops after the current step and returns its jobs', async () => {
    const jobs = [await deletedInbox(), await deletedInbox(), await deletedInbox()]
    const ending = new AbortController()
    let steps = 0
    const ended = beforeEachStep(() => {
      steps += 1
      ending.abort()
    })
    await workJobs(depsOf(ended), { worker: 'ending', signal: ending.signal })
    assert.equal(steps, 1)
    for (const { jobId } of jobs) {
      const { leased_by, lease_until, attempts, run_at } = (await rowOf(jobId)) ?? {}
      assert.deepEqual([leased_by, lease_until, attempts], [null, null, 0])
      assert.ok((run_at ?? nowMs + 1) <= nowMs)
    }
    await workJobs(depsOf(ended), { worker: 'ending', signal: ending.signal })
    assert.equal(steps, 1)
    await workJobs(depsOf(db), { worker: 'next', signal: NEVER })
    for (const { jobId } of jobs) assert.equal(await rowOf(jobId), undefined)
  })

  test('upkeep told to end stops after the current step', async () => {
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
    await purgeExpired({ db: endless, blobs: null, clock }, ending.signal)
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
