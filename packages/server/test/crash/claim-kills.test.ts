// Workers at two processes on one PostgreSQL, of which one is killed, and workers that stall for longer than their
// lease: every thread is answered once.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { LONG_LIMIT, sizeOf } from '@mailroom/mail/test/size-of.ts'
import { type ClaimedThread, MailroomConnectionError, MailroomError } from '@mailroom/sdk'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { plainMail } from '#test/world.ts'
import { Service } from './service.ts'

const WORKERS = sizeOf('TEST_MAILROOM_CLAIM_WORKERS', { usual: 12, long: 50 })
const THREADS = sizeOf('TEST_MAILROOM_CLAIM_MAIL', { usual: 40, long: 500 })
const KILLS = sizeOf('TEST_MAILROOM_CLAIM_KILLS', { usual: 2, long: 10 })
const LEASE_SECONDS = 10
const STALL_MS = 13_000
/** One in so many claims stalls. */
const STALL_EACH = 6
const LIMITS = {
  MAILROOM_LIMIT_SENDS_PER_MINUTE: '100000',
  MAILROOM_LIMIT_SENDS_PER_DAY: '100000',
  MAILROOM_LIMIT_COLD_PER_DAY: '100000',
  MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY: '100000',
}

type Tally = { claims: number; answered: number; lost: number; stalls: number }

suite('workers on one inbox at two processes', () => {
  test('answer every thread once, beside kills and stalls', LONG_LIMIT, async (t) => {
    const [first, second] = await startPair(t)
    const inbox = await first.client.inboxes.create()
    const over = new AbortController()
    const tally: Tally = { claims: 0, answered: 0, lost: 0, stalls: 0 }
    const workers = Array.from({ length: WORKERS }, (_, index) =>
      work(index % 2 === 0 ? [first, second] : [second, first], {
        inboxId: inbox.id,
        owner: `worker ${index}`,
        signal: over.signal,
        tally,
      }),
    )
    const killing = killNowAndThen(second)
    await deliver(first, inbox.address)
    await killing
    const isUnread = async () =>
      (await first.client.threads.list(inbox.id, { is_read: false, limit: 1 }).page()).total > 0
    while (await isUnread()) await pause(500)
    over.abort()
    await Promise.all(workers)
    t.diagnostic(JSON.stringify(tally))
    assert.ok(tally.stalls > 0 && tally.lost > 0, JSON.stringify(tally))

    const answers = new Map<string, number>()
    for await (const { threadId } of first.client.messages.list(inbox.id, {
      direction: 'outbound',
    })) {
      answers.set(threadId, (answers.get(threadId) ?? 0) + 1)
    }
    assert.equal(answers.size, THREADS)
    assert.deepEqual([...new Set(answers.values())], [1])
    await assertOneAtATime(first)
  })
})

async function startPair(t: TestContext): Promise<[Service, Service]> {
  const databaseUrl = await createTestDatabase()
  const options = { databaseUrl, env: LIMITS }
  const first = await Service.start(options)
  t.after(() => first.close())
  const second = await Service.start(options)
  t.after(() => second.close())
  return [first, second]
}

async function deliver(service: Service, to: string): Promise<void> {
  const sender = await service.sender()
  for (let number = 0; number < THREADS; number++) {
    const raw = plainMail({ to, subject: `Mail ${number}`, messageId: `<${number}@x.example>` })
    assert.equal((await sender.send({ to, raw })).code, 250)
  }
  await sender.quit()
}

async function killNowAndThen(service: Service): Promise<void> {
  for (let kill = 0; kill < KILLS; kill++) {
    await pause(2_000)
    await service.kill()
    await pause(500)
    await service.start()
  }
}

/** Uses the other process while its own is away. */
async function work(
  services: readonly Service[],
  {
    inboxId,
    owner,
    signal,
    tally,
  }: { inboxId: string; owner: string; signal: AbortSignal; tally: Tally },
): Promise<void> {
  for (let turn = 0; !signal.aborted; turn++) {
    const service = services[turn % services.length]
    const terms = { owner, leaseSeconds: LEASE_SECONDS, waitSeconds: 5 }
    const asked = service?.client.inboxes.claimThreads(inboxId, terms, { maxRetries: 0 })
    const { data } = (await asked?.catch(passing)) ?? { data: [] }
    if (data.length === 0) await pause(50)
    for (const claim of data) {
      await answer(services, claim, tally)
    }
  }
}

/** An answer with the same key may be given to either process. */
async function answer(
  services: readonly Service[],
  claim: ClaimedThread,
  tally: Tally,
): Promise<void> {
  const { threadId, inboxId, fence, leaseToken } = claim
  if (tally.claims++ % STALL_EACH === 0) {
    tally.stalls += 1
    await pause(STALL_MS)
  }
  const options = { idempotencyKey: `${threadId}-${fence}`, leaseToken, maxRetries: 0 }
  const reply = { to: 'ann@sender.example', threadId, body: `Answer ${fence}` }
  for (let attempt = 0; ; attempt++) {
    const service = services[attempt % services.length]
    try {
      await service?.client.inboxes.send(inboxId, reply, options)
      tally.answered += 1
      return
    } catch (error) {
      if (error instanceof MailroomError && error.code === 'lease_lost') {
        tally.lost += 1
        return
      }
      passing(error)
      await pause(100)
    }
  }
}

/** Of a process that was killed, or is busy. */
function passing(error: unknown): null {
  if (error instanceof MailroomConnectionError) return null
  if (error instanceof MailroomError && error.status === 503) return null
  throw error
}

/** Each claim of a thread is told after the end of the one before it. */
async function assertOneAtATime(service: Service): Promise<void> {
  const held = new Map<string, number>()
  for (const { event, thread_id: threadId, claim } of await service.listEvents()) {
    if (threadId === null || claim === undefined) continue
    if (event === 'thread.claimed') {
      assert.equal(held.get(threadId), undefined, `${threadId} was claimed twice`)
      held.set(threadId, claim.fence)
    } else {
      assert.equal(held.get(threadId), claim.fence)
      held.delete(threadId)
    }
  }
}
