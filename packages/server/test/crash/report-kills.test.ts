// Reports come to return paths, and to an inbox in the same transaction, while the service is killed
// again and again. Their servers repeat what was not answered: each recipient bounces once, is told of
// once and suppressed once, and each report is in the inbox once.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Inbox } from '@mailroom/sdk'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { bounceMail } from '#test/scenarios/report-mail.ts'
import { LONG_LIMIT, sizeOf } from '#test/size-of.ts'
import { WIDE_LIMITS } from '#test/world.ts'
import { seededRandom } from './intake.ts'
import { Service } from './service.ts'

const KILLS = sizeOf('TEST_MAILROOM_REPORT_KILLS', { usual: 2, long: 8 })
const POSTGRES_KILLS = Math.ceil(KILLS / 2)
const REPORTS_PER_KILL = sizeOf('TEST_MAILROOM_REPORTS_PER_KILL', { usual: 40, long: 60 })
const CLIENTS = 4
/** A life lets at least one report be under way. */
const LIFE_MS_MIN = 30
const LIFE_MS_MAX = 200
const RETRY_MS = 20

suite('reports survive kill -9', { concurrency: true }, () => {
  test(`on SQLite, ${KILLS} times`, LONG_LIMIT, (t) => killAgainAndAgain(t, { kills: KILLS }))
  test(`on PostgreSQL, ${POSTGRES_KILLS} times`, LONG_LIMIT, async (t) =>
    killAgainAndAgain(t, { kills: POSTGRES_KILLS, databaseUrl: await createTestDatabase() }),
  )
})

type Told = { to: string; path: string }

type Plan = { kills: number; databaseUrl?: string }

async function killAgainAndAgain(t: TestContext, { kills, ...database }: Plan) {
  const count = REPORTS_PER_KILL * kills
  const seed = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
  const random = seededRandom(seed)
  const service = await Service.start({
    env: { ...WIDE_LIMITS, MAILROOM_DNS_SERVERS: '127.0.0.1:9' },
    ...database,
  })
  t.after(() => service.close())
  const inbox = await service.client.inboxes.create()
  const reports = await sendAll(service, inbox, count)
  const figures = { answered: 0, unanswered: 0 }
  const waiting = [...reports]
  const clients = Array.from({ length: CLIENTS }, async () => {
    for (let report = waiting.shift(); report !== undefined; report = waiting.shift()) {
      await tell(service, inbox, report, figures)
    }
  })
  for (let kill = 0; kill < kills && figures.answered < count; kill++) {
    await sleep(LIFE_MS_MIN + random() * (LIFE_MS_MAX - LIFE_MS_MIN))
    await service.kill()
    await service.start()
  }
  await Promise.all(clients)

  const kinds = new Map<string, number>()
  for await (const { event, recipient = '' } of service.client.events.list({ limit: 100 })) {
    const key = event === 'message.bounced' ? `${event} ${recipient}` : event
    kinds.set(key, (kinds.get(key) ?? 0) + 1)
  }
  t.diagnostic(`seed ${seed}: ${JSON.stringify(figures)}`)
  for (const { to } of reports) assert.equal(kinds.get(`message.bounced ${to}`), 1, to)
  assert.equal(kinds.get('message.failed'), count)
  assert.equal(kinds.get('message.received'), count)
  assert.equal((await service.client.suppressions.list({ limit: 1 }).page()).total, count)
  const listed = service.client.messages.list(inbox.id, { direction: 'inbound', limit: 1 })
  assert.equal((await listed.page()).total, count)
  assert.ok(figures.unanswered > 0, 'kills struck while reports were on their way')
}

/** To the sandbox, which tells the return paths. */
async function sendAll({ client }: Service, inbox: Inbox, count: number): Promise<Told[]> {
  for (let number = 0; number < count; number += CLIENTS) {
    await Promise.all(
      Array.from({ length: CLIENTS }, (_, index) =>
        client.inboxes.send(inbox.id, {
          to: `bob${number + index}@far.example`,
          subject: 'A subject',
          body: 'A body.',
        }),
      ),
    )
  }
  const listed = () => client.messages.list(inbox.id, { limit: 100 })
  for (let isSent = false; !isSent; ) {
    isSent = true
    for await (const { status } of listed()) isSent &&= status === 'sent'
    await sleep(RETRY_MS)
  }
  const reports: Told[] = []
  for await (const { to, reversePath } of client.sandbox.list({ limit: 100 })) {
    reports.push({ to: to[0] ?? '', path: reversePath })
  }
  assert.equal(reports.length, count)
  return reports
}

/** As a server does, which keeps a report until it is answered. */
async function tell(
  service: Service,
  inbox: Inbox,
  { to, path }: Told,
  figures: { answered: number; unanswered: number },
): Promise<void> {
  const raw = bounceMail({ to: path, recipient: to })
  for (;;) {
    const sender = await service.sender().catch(() => null)
    try {
      const reply = await sender?.send({ from: '', to: [path, inbox.address], raw })
      if (reply?.code === 250) {
        figures.answered += 1
        return
      }
    } catch {
      figures.unanswered += 1
    } finally {
      sender?.socket.destroy()
    }
    await sleep(RETRY_MS)
  }
}
