// Forty endpoints that never answer must not delay one that does, in their own account or in another,
// from the first message after a start on.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isLongRun, LONG_LIMIT, sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { Mailroom } from '@mailroom/sdk'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { openReceiver, type Receiver } from '#test/peers/receiver.ts'
import { OPERATOR_TOKEN, plainMail } from '#test/world.ts'
import { Service } from './service.ts'

const HANGING = 40
/** The aim is a second; a post behind one that hangs would wait for fifteen. */
const DELAY_MS_MAX = 4_000
/** Factor over the delay without them, for a busy machine. */
const DELAY_FACTOR_MAX = 10
/** Ten messages a second to each account. */
const MESSAGES = sizeOf('TEST_MAILROOM_ENDPOINT_MESSAGES', { usual: 12, long: 100 })
const GAP_MS = 100
/** Starts after which all endpoints that hang are tried again. */
const COLD_STARTS = sizeOf('TEST_MAILROOM_ENDPOINT_STARTS', { usual: 1, long: 5 })
/** The rest may be late because the machine is busy. */
const SHARE_IN_TIME = 0.9

// One after the other, because the tests measure time.
suite('endpoints that hang', () => {
  test('delay no other by a second, on SQLite', LONG_LIMIT, (t) => measure(t))
  // The dispatcher decides who waits for whom; `worker/webhook-lanes.full.test.ts` tests it without an engine.
  if (isLongRun()) {
    test('delay no other by a second, on PostgreSQL', LONG_LIMIT, async (t) =>
      measure(t, await createTestDatabase()),
    )
  }
})

type Good = { address: string; receiver: Receiver }

async function measure(t: TestContext, databaseUrl?: string): Promise<void> {
  const hanging = await openReceiver()
  t.after(() => hanging.close())
  hanging.answer = (_, index) => (index % 2 === 0 ? 'hang' : 'trickle')
  const service = await Service.start({
    env: { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true', MAILROOM_ADMIN_TOKEN: OPERATOR_TOKEN },
    databaseUrl,
  })
  t.after(() => service.close())
  const { apiKey } = await service.clientWith(OPERATOR_TOKEN).admin.accounts.create({
    name: 'another',
    plan: 'launch',
  })
  const goods = await Promise.all(
    [service.client, service.clientWith(apiKey.token)].map((client) => openGood(t, client)),
  )
  const alone = [await sendAll(service, goods, 1), await startCold(service, goods)]
  for (let index = 0; index < HANGING; index++) {
    await service.client.webhooks.create({ url: `${hanging.origin}/${index}` })
  }
  const steady = await sendAll(service, goods, MESSAGES)
  const cold: number[][] = goods.map(() => [])
  for (let start = 0; start < COLD_STARTS; start++) {
    const delays = await startCold(service, goods)
    for (const [index, some] of delays.entries()) cold[index]?.push(...some)
  }
  const aloneMs = Math.max(...alone.flat(2))
  t.diagnostic(`alone at most ${Math.round(aloneMs)}; steady ${tell(steady)}; cold ${tell(cold)}`)
  assert.ok(hanging.requests.length >= HANGING, 'all of them were tried')
  for (const delays of steady) assertInTime(quantile(delays, SHARE_IN_TIME), aloneMs)
  for (const delays of cold) assertInTime(quantile(delays, 0.5), aloneMs)
}

function assertInTime(delayMs: number, aloneMs: number): void {
  const maxMs = Math.max(DELAY_MS_MAX, DELAY_FACTOR_MAX * aloneMs)
  assert.ok(delayMs < maxMs, `${delayMs} ms, and ${aloneMs} ms alone`)
}

/** The delay of the first message after a start that finds a backlog. */
async function startCold(service: Service, goods: readonly Good[]): Promise<number[][]> {
  await service.kill()
  await service.start()
  return sendAll(service, goods, 1)
}

/** A webhook of the client's account that answers at once, and an inbox for its events. */
async function openGood(t: TestContext, client: Mailroom): Promise<Good> {
  const receiver = await openReceiver()
  t.after(() => receiver.close())
  const { address } = await client.inboxes.create({})
  await client.webhooks.create({ url: `${receiver.origin}/good` })
  return { address, receiver }
}

/**
 * Sends so many messages to each, and waits for all. Milliseconds from the reply to each message to the
 * post of its event, for each of them.
 */
async function sendAll(
  service: Service,
  goods: readonly Good[],
  count: number,
): Promise<number[][]> {
  const sender = await service.sender()
  const waits: Promise<number>[][] = goods.map(() => [])
  for (let number = 0; number < count; number++) {
    for (const [index, { address, receiver }] of goods.entries()) {
      const subject = `Number ${crypto.randomUUID()}`
      const raw = plainMail({ to: address, subject })
      assert.equal((await sender.send({ to: address, raw })).code, 250)
      const acknowledgedAtMs = performance.now()
      const arrives = receiver.waitFor(({ body }) => body.includes(subject))
      waits[index]?.push(arrives.then(({ atMs }) => atMs - acknowledgedAtMs))
    }
    if (number < count - 1) await sleep(GAP_MS)
  }
  await sender.quit()
  return Promise.all(waits.map((some) => Promise.all(some)))
}

function quantile(delays: readonly number[], share: number): number {
  const sorted = delays.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
}

/** The middle one, the slowest of those in time and the slowest of all, for each. */
function tell(delays: readonly number[][]): string {
  const tellOne = (some: readonly number[]) =>
    [0.5, SHARE_IN_TIME, 1].map((share) => `${Math.round(quantile(some, share))}`).join(' / ')
  return `${delays.map(tellOne).join(' and ')} ms`
}
