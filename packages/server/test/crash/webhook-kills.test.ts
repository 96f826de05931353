// Mail comes in, its events go to webhooks that fail every second time and to readers that go on after
// each break, and the service is killed again and again. Every event of mail that was acknowledged
// must be taken by its webhooks at least once, and told to each reader once and in order.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Inbox } from '@mailroom/sdk'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { LONG_LIMIT, sizeOf } from '#test/size-of.ts'
import { type Follower, followByFeed, followByLibrary, followBySocket } from './event-followers.ts'
import { findLosses, Intake, type Random, seededRandom } from './intake.ts'
import { Service } from './service.ts'
import { readStored } from './stored.ts'
import { type Post, WebhookSink } from './webhook-sink.ts'
import { passTime, QueueOfWebhooks, readLog, type TestLog } from './webhook-stored.ts'

const EVENTS = sizeOf('TEST_MAILROOM_WEBHOOK_EVENTS', { usual: 100, long: 10_000 })
const KILLS = sizeOf('TEST_MAILROOM_WEBHOOK_KILLS', { usual: 2, long: 20 })
const POSTGRES = { events: Math.ceil(EVENTS / 4), kills: Math.ceil(KILLS / 4) }
const CLIENTS = 4
const LARGE_SHARE = 0.01
const MOMENT_MS_MAX = 60
const EARLY_SHARE = 0.15
/** How often the time until the next attempts has passed. */
const TIME_PASSES_MS = 250
const LIFE_MS_MAX = 60_000
/** What a receiver took is noted by then: only kills within it make a second copy. */
const NOTED_MS_MAX = 15_000
const SETTLED_MS_MAX = 180_000 + 20 * EVENTS

const LIMIT = { timeout: LONG_LIMIT.timeout + 500 * EVENTS }

suite('events survive kill -9', { concurrency: true }, () => {
  test(`on SQLite, ${EVENTS} of them and ${KILLS} kills`, LIMIT, (t) =>
    killAgainAndAgain(t, { events: EVENTS, kills: KILLS }),
  )
  test(`on PostgreSQL, ${POSTGRES.events} of them and ${POSTGRES.kills} kills`, LIMIT, async (t) =>
    killAgainAndAgain(t, { ...POSTGRES, databaseUrl: await createTestDatabase() }),
  )
})

type Plan = { events: number; kills: number; databaseUrl?: string }

/** What there is to be told, to whom. */
type Reader = { path: string; wants(event: { inboxId: string }): boolean }

async function killAgainAndAgain(t: TestContext, plan: Plan): Promise<void> {
  const seed = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
  t.diagnostic(`seed ${seed}`)
  const random = seededRandom(seed)
  const sink = await WebhookSink.open(random)
  t.after(() => sink.close())
  const service = await Service.start({
    env: { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' },
    ...(plan.databaseUrl && { databaseUrl: plan.databaseUrl }),
  })
  t.after(() => service.close())
  const targets = await Promise.all(
    ['one', 'two', 'three'].map((mailboxName) => service.client.inboxes.create({ mailboxName })),
  )
  const readers = await makeWebhooks(service, sink, targets)
  const startMs = performance.now()
  const intake = new Intake({ service, targets, clients: CLIENTS, random, largeShare: LARGE_SHARE })
  t.after(() => intake.abandon())
  const after = await firstEvent(service)
  const parts = { service, after, random }
  const followers = [followBySocket(parts), followByFeed(parts), followByLibrary(parts)]
  t.after(() => Promise.all(followers.map((follower) => follower.stop())))

  const killedAtMs: number[] = []
  for (let kill = 0; kill < plan.kills; kill++) {
    const left = plan.events - intake.acknowledged.length
    const wanted = (2 * random() * left) / (plan.kills - kill + 1)
    await live(service, intake, wanted)
    await killOnce(service, random, killedAtMs)
  }
  // What hangs from now on would take its fifteen seconds.
  sink.failing = { ...sink.failing, hung: 0 }
  await live(service, intake, plan.events - intake.acknowledged.length)
  await intake.stop()
  const takenInMs = performance.now() - startMs
  await finish(service)
  const settledMs = performance.now() - startMs
  const log = await readLog(service, targets)
  await untilTold(followers, log.events.length - 1)
  await Promise.all(followers.map((follower) => follower.stop()))
  assert.doesNotMatch(service.log, /because of an internal error|"level":50/)
  assert.equal((await service.stop()).code, 0)

  const stored = await readStored(service)
  const losses = findLosses(intake.acknowledged, stored)
  const compared = readers.map((reader) => compare(sink, log, reader))
  t.diagnostic(
    JSON.stringify({
      seconds: [takenInMs, settledMs].map((ms) => Math.round(ms / 100) / 10),
      kills: killedAtMs.length,
      acknowledged: intake.acknowledged.length,
      unanswered: intake.unanswered,
      events: log.events.length,
      mail: losses,
      posts: sink.countOutcomes(),
      webhooks: compared.map(({ repeats, ...counts }) => ({ ...counts, repeats: repeats.length })),
      readers: followers.map(({ name, told, connections }) => ({
        name,
        told: told.length,
        connections,
      })),
    }),
  )
  assert.deepEqual(losses, { lost: 0, truncated: 0, doubled: 0 })
  assert.ok(intake.acknowledged.length >= plan.events)
  assert.equal(log.events.length, stored.length, 'each message has its event in the log')
  assert.deepEqual(sink.mistakes, [])
  for (const { lost, invented, altered, unordered, repeats } of compared) {
    assert.deepEqual({ lost, invented, altered, unordered }, NOTHING)
    assertExplained(repeats, killedAtMs)
  }
  for (const follower of followers) assertExactlyOnce(follower, log, after)
}

const NOTHING = { lost: 0, invented: 0, altered: 0, unordered: 0 }

/** One that wants everything and one of the first inbox alone. */
async function makeWebhooks(
  service: Service,
  sink: WebhookSink,
  [first]: readonly Inbox[],
): Promise<Reader[]> {
  const inboxId = first?.id ?? ''
  const wanted = [
    { path: '/all', wants: () => true },
    {
      path: '/one',
      inboxIds: [inboxId],
      wants: (event: { inboxId: string }) => event.inboxId === inboxId,
    },
  ]
  for (const { path, inboxIds } of wanted) {
    const url = sink.urlOf(path)
    const { secret } = await service.client.webhooks.create({ url, ...(inboxIds && { inboxIds }) })
    sink.expect(path, secret)
  }
  return wanted
}

/** The id of the first event, as soon as there is one. */
async function firstEvent({ client }: Service): Promise<string> {
  for (;;) {
    const { data } = await client.events.list({ limit: 1 }).page()
    const [event] = data
    if (event !== undefined) return event.event_id
    await sleep(20)
  }
}

/** Lets so many messages come in, and the time pass that failed deliveries wait. */
async function live(service: Service, intake: Intake, count: number): Promise<void> {
  const wanted = intake.acknowledged.length + count
  const endMs = performance.now() + LIFE_MS_MAX
  while (intake.acknowledged.length < wanted && performance.now() < endMs) {
    await intake.untilAcknowledged(wanted - intake.acknowledged.length, TIME_PASSES_MS)
    await passTime(service)
  }
}

async function killOnce(service: Service, random: Random, killedAtMs: number[]): Promise<void> {
  await sleep(random() * MOMENT_MS_MAX)
  await service.kill()
  killedAtMs.push(performance.now())
  if (random() < EARLY_SHARE) {
    await service.start({ waits: false })
    await sleep(random() * 1_000)
    await service.kill()
    killedAtMs.push(performance.now())
  }
  await service.start()
}

/** Lets the time pass until nothing waits; what was given up is delivered by hand. */
async function finish(service: Service): Promise<void> {
  const endMs = performance.now() + SETTLED_MS_MAX
  const queue = new QueueOfWebhooks(service)
  while (!(await queue.isEmpty())) {
    if (performance.now() > endMs) assert.fail(`still queued: ${await queue.describe()}`)
    await passTime(service)
    for (const { webhookId, id } of await queue.listFailed()) {
      await service.client.webhooks.retryDelivery(webhookId, id)
    }
    await sleep(TIME_PASSES_MS)
  }
}

/** All that they are told by when they have caught up, or what they have when that takes too long. */
async function untilTold(followers: readonly Follower[], count: number): Promise<void> {
  const endMs = performance.now() + 120_000
  const isBehind = ({ told, mistake }: Follower) => told.length < count && mistake === null
  while (followers.some(isBehind) && performance.now() < endMs) await sleep(20)
  // What is told too often is told now.
  await sleep(500)
}

type Repeat = { first: Post; second: Post }

type Compared = {
  events: number
  /** Events that were never taken. */
  lost: number
  /** Posts of events that are not in the log, not about the same message, or not for this webhook. */
  invented: number
  /** Posts that differ from the log in what must not change. */
  altered: number
  /** Posts whose attempt is not after that of the one before. */
  unordered: number
  /** Second posts of an attempt. */
  resent: number
  /** The greatest number of an attempt. */
  attempts: number
  /** What came after the event had been taken. */
  repeats: Repeat[]
}

function compare(sink: WebhookSink, log: TestLog, { path, wants }: Reader): Compared {
  const wanted = new Map(log.events.filter(wants).map((event) => [event.id, event]))
  const postsTo = sink.postsTo(path)
  const counts = { lost: 0, invented: 0, altered: 0, unordered: 0, resent: 0, attempts: 0 }
  const repeats: Repeat[] = []
  for (const [eventId, posts] of postsTo) {
    const event = wanted.get(eventId)
    let before: Post | null = null
    let taken: Post | null = null
    for (const post of posts) {
      if (event === undefined || event.messageId !== post.messageId) counts.invented += 1
      else if (!log.messageIds.has(post.messageId)) counts.invented += 1
      else if (event.sha256 !== post.sha256) counts.altered += 1
      if (before !== null && isOfSameAttempt(before, post)) counts.resent += 1
      else if (post.attempt <= (before?.attempt ?? 0)) counts.unordered += 1
      before = post
      counts.attempts = Math.max(counts.attempts, post.attempt)
      if (taken !== null) repeats.push({ first: taken, second: post })
      if (post.outcome === 'taken') taken = post
    }
  }
  for (const id of wanted.keys()) {
    if (!postsTo.get(id)?.some(({ outcome }) => outcome === 'taken')) counts.lost += 1
  }
  return { events: wanted.size, ...counts, repeats }
}

/** A receiver that breaks a connection just as it is used again gets the same once more. */
function isOfSameAttempt(first: Post, second: Post): boolean {
  return first.outcome === 'hung up' && first.copy === second.copy
}

/** A kill stands between them, soon after the first was taken. */
function assertExplained(repeats: readonly Repeat[], killedAtMs: readonly number[]): void {
  for (const { first, second } of repeats) {
    // What a killed process has sent may be read here after its end.
    const atMs = killedAtMs.find((ms) => first.madeAtMs < ms && ms < second.madeAtMs)
    assert.ok(atMs !== undefined, `${first.eventId} came twice in one life`)
    const waitedMs = atMs - first.atMs
    assert.ok(waitedMs < NOTED_MS_MAX, `${first.eventId} was not noted for ${waitedMs} ms`)
  }
}

function assertExactlyOnce(follower: Follower, { events }: TestLog, after: string): void {
  const { name, told, mistake } = follower
  assert.equal(mistake, null, name)
  const ids = events.map(({ id }) => id)
  const expected = ids.slice(ids.indexOf(after) + 1)
  const wrong = expected.findIndex((id, index) => told[index] !== id)
  const message = `${name}: ${told.length} told of ${expected.length}, different at ${wrong}`
  assert.deepEqual([wrong, told.length], [-1, expected.length], message)
}
