import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SentMessage } from '@mailroom/sdk'
import { openMta } from '@mailroom/smtp/test/peers/mta.ts'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import {
  attempted,
  deliveryOf,
  openSendingTenant,
  passTime,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Waits between attempts; the last one ends after two days. */
const WAITS = [1, 5, 15, 60, 180, 360, ...Array(4).fill(480)].map((minutes) => minutes * MINUTE_MS)

onEachEngine('a deferred delivery', (engine) => {
  const world = opened(() => openSendingTenant(engine))
  const polite = prepared(() => world.mta.script)

  const waitOf = async (sent: SentMessage) => {
    const { nextAttemptAt, lastAttemptAt } = await deliveryOf(world, sent)
    assert.ok(nextAttemptAt !== null && lastAttemptAt !== null)
    return Date.parse(nextAttemptAt) - Date.parse(lastAttemptAt)
  }

  /** Whether no attempt of the message is in progress. */
  async function isIdle({ messageId }: SentMessage): Promise<boolean> {
    const states = "queue_state in ('ready', 'leased')"
    const busy = `select id from deliveries where message_id = '${messageId}' and ${states}`
    return (await runSql(world, busy)).length === 0
  }

  test('is retried after the documented waits, for two days, and then fails', async () => {
    world.mta.script = { ...polite, onRcpt: '451 4.7.1 Not now' }
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { to: 'patience@friend.example' })
    const startMs = Date.parse(sent.createdAt)
    for (const [index, waitMs] of WAITS.entries()) {
      const delivery = await attempted(world, sent, index + 1)
      assert.deepEqual([delivery.status, delivery.attempts], ['deferred', index + 1])
      const toldMs = await waitOf(sent)
      assert.ok(Math.abs(toldMs - waitMs) < 20_000, `wait ${index} is ${toldMs}`)
      await passTime(world, waitMs)
    }
    const last = await attempted(world, sent, WAITS.length + 1)
    assert.equal(last.status, 'deferred')
    const untilEndMs = Date.parse(last.nextAttemptAt ?? '') - (startMs + 2 * DAY_MS)
    assert.ok(
      Math.abs(untilEndMs) < 5_000,
      `it ends ${untilEndMs} ms from two days after its start`,
    )
    await passTime(world, Date.parse(last.nextAttemptAt ?? '') - world.clock.now() + 10)
    const message = await settled(world, sent)
    const delivery = await deliveryOf(world, sent)
    assert.deepEqual(
      [message.status, delivery.status, delivery.attempts, delivery.nextAttemptAt],
      ['failed', 'failed', WAITS.length + 2, null],
    )
    assert.match(message.failureReason ?? '', /48 hours.*Not now/)
    const rcpts = world.mta.commands.filter(({ line }) => line.includes('patience@'))
    assert.equal(rcpts.length, WAITS.length + 2)
    const events = await runSql(world, `select kind from events where inbox_id = '${inbox.id}'`)
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['message.failed'],
    )
    const { data } = await world.client.suppressions.list().page()
    assert.deepEqual(data, [])
  })

  test('does not expire when the wall clock is set ahead, nor waits longer when it is set back', async () => {
    world.mta.script = { ...polite, onRcpt: '451 4.7.1 Not now' }
    const ahead = await send(world, await world.inbox(), { to: 'ahead@friend.example' })
    await attempted(world, ahead, 1)
    world.clock.step(3 * DAY_MS)
    await passTime(world, MINUTE_MS)
    assert.equal((await attempted(world, ahead, 2)).status, 'deferred')
    world.clock.step(-5 * DAY_MS)
    await passTime(world, 5 * MINUTE_MS)
    assert.equal((await attempted(world, ahead, 3)).status, 'deferred')
    world.mta.script = polite
    await passTime(world, 15 * MINUTE_MS)
    assert.equal((await settled(world, ahead)).status, 'sent')
    assert.equal((await deliveryOf(world, ahead)).attempts, 4)
    world.clock.step(2 * DAY_MS)
  })

  test('without a reply to its final dot is attempted at most three times, with the same octets', async () => {
    world.mta.script = { ...polite, onFinalDot: 'reset' }
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { to: 'unsure@friend.example' })
    for (const [index, waitMs] of [MINUTE_MS, 5 * MINUTE_MS].entries()) {
      const delivery = await attempted(world, sent, index + 1)
      assert.deepEqual([delivery.status, delivery.responseCode], ['deferred', null])
      assert.match(delivery.response ?? '', /sent no reply/)
      await passTime(world, waitMs)
    }
    const message = await settled(world, sent)
    const delivery = await deliveryOf(world, sent)
    assert.deepEqual(
      [message.status, delivery.status, delivery.attempts, delivery.nextAttemptAt],
      ['failed', 'unknown', 3, null],
    )
    assert.match(message.failureReason ?? '', /^unsure@friend\.example: .*sent no reply/)
    const copies = world.mta.received.filter(({ raw }) => raw.includes(sent.providerMessageId))
    assert.equal(copies.length, 3)
    const { content } = await world.client.messages.raw(sent.messageId)
    for (const { raw } of copies) assert.ok(raw.equals(content))
    world.mta.script = polite
  })

  test('that is then accepted counts for one message of several recipients', async () => {
    // Not by a count: an attempt on a busy machine may end before RCPT.
    let isBusy = true
    world.mta.script = {
      ...polite,
      onRcpt: (address) => (isBusy && address.startsWith('slow') ? '450 4.2.0 Busy' : undefined),
    }
    const cc = ['slow.one@friend.example', 'slow.two@friend.example']
    const sent = await send(world, await world.inbox(), { cc })
    const statuses = async () =>
      (await world.client.messages.deliveries(sent.messageId).page()).data.map(
        (one) => `${one.status} ${one.attempts}`,
      )
    // In this order: a lease between the two reads counts an attempt that is in progress.
    const becomes = (expected: string[]) =>
      until(async () => (await statuses()).join() === expected.join() && (await isIdle(sent)))
    await becomes(['accepted 1', 'deferred 1', 'deferred 1'])
    assert.equal((await world.client.messages.get(sent.messageId)).status, 'pending')
    await passTime(world, MINUTE_MS)
    await becomes(['accepted 1', 'deferred 2', 'deferred 2'])
    isBusy = false
    await passTime(world, 5 * MINUTE_MS)
    await becomes(['accepted 1', 'accepted 3', 'accepted 3'])
    assert.equal((await settled(world, sent)).failureReason, null)
    const envelopes = world.mta.transactions
      .filter(({ raw }) => raw.includes(sent.providerMessageId))
      .map(({ recipients }) => recipients)
    assert.deepEqual(envelopes, [['bob@friend.example'], cc])
    world.mta.script = polite
  })

  test('after a broken TLS handshake is repeated in clear text within the attempt', async () => {
    for (const [index, tls] of (['garbage', 'close'] as const).entries()) {
      const address = `127.0.0.${6 + index}`
      const broken = await openMta({ tls }, world.mta.port, address)
      world.dns.zone[`${tls}.example`] = { A: [address] }
      const sent = await send(world, await world.inbox(), { to: `bob@${tls}.example` })
      assert.equal((await settled(world, sent)).status, 'sent')
      const delivery = await deliveryOf(world, sent)
      assert.deepEqual([delivery.tls, delivery.attempts], [null, 1])
      assert.equal(broken.connections.opened, 2)
      await broken.close()
    }
  })
})
