// What happens to a scheduled message when something refuses it between its acceptance and its time.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { verifiedDomain } from '#test/scenarios/domain-world.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { holdSend } from '#test/scenarios/review-world.ts'
import { openSendingWorld, send, settled } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened } from '#test/world.ts'

const HOUR_MS = 3_600_000
const SENDS_PER_MINUTE = 5
const COLD_PER_DAY = 6

onEachEngine('a scheduled message that is refused at its time', (engine) => {
  const world = opened(() =>
    openSendingWorld(engine, {
      env: {
        MAILROOM_LIMIT_SENDS_PER_MINUTE: String(SENDS_PER_MINUTE),
        MAILROOM_LIMIT_COLD_PER_DAY: String(COLD_PER_DAY),
      },
    }),
  )
  const inAnHour = () => new Date(world.clock.now() + HOUR_MS).toISOString()

  const schedule = (inbox: Pick<Inbox, 'id'>, ...recipients: string[]) => {
    const sendAt = inAnHour()
    return Promise.all(recipients.map((to) => send(world, inbox, { to, sendAt })))
  }

  /** The outcome of each at its time, as it is told of, in the order of the words. */
  async function outcomesOf(sent: { messageId: string; providerMessageId: string }[]) {
    world.clock.advance(HOUR_MS + 1_000)
    const outcomes: string[] = []
    for (const { messageId, providerMessageId } of sent) {
      const { status, failureReason } = await settled(world, { messageId })
      const kind = `message.${status}`
      await until(async () => {
        const rows = await runSql(
          world,
          `select kind from events where message_id = '${messageId}'`,
        )
        return rows.some((row) => row.kind === kind)
      })
      const copies = world.mta.received.filter(({ raw }) => raw.includes(providerMessageId))
      assert.equal(copies.length, status === 'sent' ? 1 : 0)
      outcomes.push(failureReason ?? status)
    }
    return outcomes.sort()
  }

  test('by a limit of the inbox fails with its code, and as many leave as it allows', async () => {
    const inbox = await world.inbox()
    const same = Array<string>(SENDS_PER_MINUTE + 3).fill('bob@friend.example')
    assert.deepEqual(await outcomesOf(await schedule(inbox, ...same)), [
      ...Array(3).fill('rate_limit_exceeded'),
      ...Array(SENDS_PER_MINUTE).fill('sent'),
    ])
  })

  test('by the limit on cold recipients fails with its code', async () => {
    const inbox = await world.inbox()
    const recipients = [1, 2, 3, 4].map((one) => `cold${one}@friend.example`)
    const cc = ['x', 'y', 'z'].map((one) => `cold-${one}@friend.example`)
    const sent = await schedule(inbox, ...recipients)
    const all = await send(world, inbox, { to: 'cold0@friend.example', cc, sendAt: inAnHour() })
    const outcomes = await outcomesOf([...sent, all])
    assert.ok(outcomes.includes('cold_outreach_limit'))
    assert.ok(outcomes.includes('sent'))
  })

  test('because the domain of its inbox has failed fails with invalid_domain', async () => {
    const domain = await verifiedDomain(world, `${engine}.example`)
    const inbox = await world.client.inboxes.create({ domain: domain.domain })
    const sent = await schedule(inbox, 'bob@friend.example')
    await runSql(world, `update domains set status = 'failed' where id = '${domain.id}'`)
    assert.deepEqual(await outcomesOf(sent), ['invalid_domain'])
  })

  test('because the recipient is suppressed fails, although a person has approved it', async () => {
    const approver = await world.client.approvers.create({ name: 'Ann' })
    const inbox = await world.inbox()
    const sendAt = inAnHour()
    const to = 'gone@friend.example'
    const held = await holdSend(world, inbox, { to }, { sendAt })
    const { digest, reviewId, messageId } = held
    await world.clientWith(approver.token).reviews.approve(reviewId, { digest })
    await world.client.suppressions.create({ address: to })
    const { rfcMessageId } = await world.client.messages.get(messageId)
    const sent = { messageId, providerMessageId: rfcMessageId ?? '' }
    assert.deepEqual(await outcomesOf([sent]), ['recipient_suppressed'])
    assert.equal((await world.client.reviews.get(reviewId)).status, 'approved')
  })

  test('because its inbox was deleted is gone, and nothing leaves', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    const sent = await schedule(inbox, 'bob@friend.example', 'eve@friend.example')
    await world.client.inboxes.delete(inbox.id)
    assert.deepEqual(await outcomesOf(await schedule(other, 'bob@friend.example')), ['sent'])
    for (const { messageId, providerMessageId } of sent) {
      await assert.rejects(world.client.messages.get(messageId), { code: 'not_found' })
      assert.ok(!world.mta.received.some(({ raw }) => raw.includes(providerMessageId)))
    }
    const rows = await runSql(world, `select * from waiting_sends where inbox_id = '${inbox.id}'`)
    assert.deepEqual(rows, [])
  })
})
