// Mail comes in, its events go to webhooks that fail every second time and to readers that resume after each break, and
// the service is killed again and again. Each event of acknowledged mail must reach its webhooks at least once, and each
// reader once and in order.

import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LONG_LIMIT, sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { Inbox } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { type Follower, followByFeed, followByLibrary, followBySocket } from './event-followers.ts'
import { compareReceived, Intake } from './intake.ts'
import { type KillTest, killAndRestart, killTest } from './kills.ts'
import type { Service } from './service.ts'
import { readStored } from './stored.ts'
import { digest, type Post, WebhookSink } from './webhook-sink.ts'

const EVENTS = sizeOf('TEST_MAILROOM_WEBHOOK_EVENTS', { usual: 100, long: 10_000 })
const KILLS = sizeOf('TEST_MAILROOM_WEBHOOK_KILLS', { usual: 2, long: 20 })
const POSTGRES = { events: Math.ceil(EVENTS / 4), kills: Math.ceil(KILLS / 4) }
const CLIENTS = 4
const LARGE_SHARE = 0.01
const MOMENT_MS_MAX = 60
/** Interval at which the test makes all waiting attempts due. */
const TIME_PASSES_MS = 250
const LIFE_MS_MAX = 60_000
/** The outcome of a delivery is committed by then: only kills before it make a second copy. */
const NOTED_MS_MAX = 15_000
const SETTLED_MS_MAX = 180_000 + 20 * EVENTS

/** Seconds between an attempt and the next one, beginning with the first. */
const WAITS_S = [30, 60, 120, 240, 900, 3_600, 14_400, 43_200, 86_400]
/** An attempt takes at most fifteen seconds, and its commit a while. */
const ATTEMPT_MS_MAX = 28_000
const EARLY_MS_MAX = 50

const limit = { timeout: LONG_LIMIT.timeout + 500 * EVENTS }

suite('events survive kill -9', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS, limit, of: `${EVENTS} ` }, (killing) =>
    killAgainAndAgain(killing, EVENTS),
  )
  killTest('postgres', { kills: POSTGRES.kills, limit, of: `${POSTGRES.events} ` }, (killing) =>
    killAgainAndAgain(killing, POSTGRES.events),
  )
})

/** A webhook with the events that it wants. */
type Reader = { path: string; wants(event: { inboxId: string }): boolean }

async function killAgainAndAgain(killing: KillTest, wantedEvents: number): Promise<void> {
  const { t, kills, random } = killing
  const sink = await WebhookSink.open(random)
  t.after(() => sink.close())
  const service = await killing.start({ MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' })
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
  for (let kill = 0; kill < kills; kill++) {
    const left = wantedEvents - intake.acknowledged.length
    const wanted = (2 * random() * left) / (kills - kill + 1)
    await live(service, intake, wanted)
    const options = { service, random, momentMs: MOMENT_MS_MAX, strikesStarts: true }
    killedAtMs.push(...(await killAndRestart(options)).killedAtMs)
  }
  // A post that hangs from now on would delay the end by fifteen seconds.
  sink.failing = { ...sink.failing, hung: 0 }
  await live(service, intake, wantedEvents - intake.acknowledged.length)
  await intake.stop()
  const takenInMs = performance.now() - startMs
  await finish(service)
  const settledMs = performance.now() - startMs
  const log = await readLog(service, targets)
  await untilTold(followers, log.events.length - 1)
  await Promise.all(followers.map((follower) => follower.stop()))
  await service.stopWell()

  const { received } = await readStored(service)
  const compared = readers.map((reader) => compare(sink, log, reader))
  t.diagnostic(
    JSON.stringify({
      seconds: [takenInMs, settledMs].map((ms) => Math.round(ms / 100) / 10),
      kills: killedAtMs.length,
      acknowledged: intake.acknowledged.length,
      unanswered: intake.unanswered,
      events: log.events.length,
      posts: sink.countOutcomes(),
      webhooks: compared.map(({ repeats, ...counts }) => ({ ...counts, repeats: repeats.length })),
      readers: followers.map(({ name, told, connections }) => ({
        name,
        told: told.length,
        connections,
      })),
    }),
  )
  compareReceived(intake.acknowledged, received)
  assert.ok(intake.acknowledged.length >= wantedEvents)
  assert.equal(log.events.length, received.length, 'each message has its event in the log')
  assert.deepEqual(sink.mistakes, [])
  for (const { lost, invented, altered, unordered, repeats } of compared) {
    assert.deepEqual({ lost, invented, altered, unordered }, NOTHING)
    assertExplained(repeats, killedAtMs)
  }
  for (const follower of followers) assertExactlyOnce(follower, log, after)
}

const NOTHING = { lost: 0, invented: 0, altered: 0, unordered: 0 }

/** One for all events and one for the first inbox. */
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

/** Lets so many messages come in, and retries failed deliveries meanwhile. */
async function live(service: Service, intake: Intake, count: number): Promise<void> {
  const wanted = intake.acknowledged.length + count
  const endMs = performance.now() + LIFE_MS_MAX
  while (intake.acknowledged.length < wanted && performance.now() < endMs) {
    await intake.untilAcknowledged(wanted - intake.acknowledged.length, TIME_PASSES_MS)
    await passTime(service)
  }
}

/** Retries until nothing waits, also the deliveries that were given up. */
async function finish(service: Service): Promise<void> {
  const endMs = performance.now() + SETTLED_MS_MAX
  while (!(await isQueueEmpty(service))) {
    if (performance.now() > endMs) assert.fail(`still queued: ${await describeQueue(service)}`)
    await passTime(service)
    for (const { webhookId, id } of await listFailed(service)) {
      await service.client.webhooks.retryDelivery(webhookId, id)
    }
    await sleep(TIME_PASSES_MS)
  }
}

/**
 * Makes all waiting deliveries due, as if the hours had passed, after a check that each waits as long as it should. The
 * service must be running.
 */
async function passTime(service: Service): Promise<void> {
  const rows = await runSql(
    service,
    `select id, attempts, last_attempt_at, next_attempt_at from webhook_deliveries
      where queue_state = 'waiting' and next_attempt_at > 0`,
  )
  if (rows.length === 0) return
  for (const row of rows) {
    const attempts = Number(row.attempts)
    const waitsMs = Number(row.next_attempt_at) - Number(row.last_attempt_at)
    const lateMs = waitsMs - 1_000 * (WAITS_S[attempts - 1] ?? 0)
    const isRight = lateMs > -EARLY_MS_MAX && lateMs < ATTEMPT_MS_MAX
    assert.ok(isRight, `attempt ${attempts} of ${row.id} is ${lateMs} ms late`)
  }
  await runSql(
    service,
    "update webhook_deliveries set next_attempt_at = 0 where queue_state = 'waiting'",
  )
}

/** Whether the events reader has seen all events and all deliveries have succeeded. */
async function isQueueEmpty(service: Service): Promise<boolean> {
  const [open] = await runSql(
    service,
    "select count(*) as count from webhook_deliveries where status <> 'succeeded'",
  )
  const [unread] = await runSql(
    service,
    `select count(*) as count from events, event_readers
      where event_readers.name = 'webhooks'
        and (events.transaction_id > event_readers.transaction_id
          or (events.transaction_id = event_readers.transaction_id
            and events.sequence > event_readers.sequence))`,
  )
  return Number(open?.count) === 0 && Number(unread?.count) === 0
}

/** Deliveries that were given up. */
async function listFailed(service: Service): Promise<{ id: string; webhookId: string }[]> {
  const rows = await runSql(
    service,
    "select id, lane from webhook_deliveries where status = 'failed' and queue_state is null",
  )
  return rows.map(({ id, lane }) => ({ id: String(id), webhookId: String(lane) }))
}

async function describeQueue(service: Service): Promise<string> {
  const rows = await runSql(
    service,
    `select queue_state, status, min(error) as error, max(attempts) as attempts, count(*) as count
      from webhook_deliveries group by queue_state, status`,
  )
  return JSON.stringify(rows)
}

type TestLog = {
  /** In the order of the log. */
  readonly events: readonly LogEntry[]
  /** Ids of the messages that the inboxes list. */
  readonly messageIds: ReadonlySet<string>
}

type LogEntry = { id: string; inboxId: string; messageId: string; sha256: string }

/** All events and messages that the API lists. */
async function readLog(service: Service, inboxes: readonly Inbox[]): Promise<TestLog> {
  const { client } = service
  const events: LogEntry[] = []
  for (const event of await service.listEvents()) {
    const { event_id: id, inbox_id: inboxId, message } = event
    events.push({ id, inboxId: inboxId ?? '', messageId: message?.id ?? '', sha256: digest(event) })
  }
  const messageIds = new Set<string>()
  for (const inbox of inboxes) {
    for await (const { id } of client.messages.list(inbox.id, { limit: 100 })) messageIds.add(id)
  }
  return { events, messageIds }
}

/** Waits until each has so many events, or a mistake, or too much time has passed. */
async function untilTold(followers: readonly Follower[], count: number): Promise<void> {
  const endMs = performance.now() + 120_000
  const isBehind = ({ told, mistake }: Follower) => told.length < count && mistake === null
  while (followers.some(isBehind) && performance.now() < endMs) await sleep(20)
  // A surplus event would come now.
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
  /** Posts of events that had been taken before. */
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

/** Between the two there was a kill, soon after the first was taken. */
function assertExplained(repeats: readonly Repeat[], killedAtMs: readonly number[]): void {
  for (const { first, second } of repeats) {
    // Posts of a killed process may be read here after its end.
    const atMs = killedAtMs.find((ms) => first.madeAtMs < ms && ms < second.madeAtMs)
    assert.ok(atMs !== undefined, `${first.eventId} came twice in one life`)
    const waitedMs = atMs - first.atMs
    assert.ok(waitedMs < NOTED_MS_MAX, `${first.eventId} was not committed for ${waitedMs} ms`)
  }
}

function assertExactlyOnce(follower: Follower, { events }: TestLog, after: string): void {
  const { name, told, mistake } = follower
  assert.equal(mistake, null, name)
  const ids = events.map(({ id }) => id)
  const expected = ids.slice(ids.indexOf(after) + 1)
  const wrong = expected.findIndex((id, index) => told[index] !== id)
  const message = `${name}: ${told.length} events of ${expected.length}, different at ${wrong}`
  assert.deepEqual([wrong, told.length], [-1, expected.length], message)
}
