import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { until } from '#test/scenarios/outcomes.ts'
import { OPERATOR_TOKEN, opened, openWorld, plainMail } from '#test/world.ts'

suite('figures of a service that nobody delivers for', () => {
  const world = opened(() => openWorld('postgres', { env: { MAILROOM_ROLES: 'http,smtp' } }))

  const figures = async () => {
    const authorization = `Bearer ${OPERATOR_TOKEN}`
    const text = await (await world.fetch('/metrics', { headers: { authorization } })).text()
    return (name: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1],
      )
  }

  test('what is due is counted, and its age goes on until somebody takes it', async () => {
    const before = await figures()
    assert.equal(before('mailroom_deliveries_ready'), 0)
    assert.equal(before('mailroom_deliveries_oldest_due_seconds'), 0)
    const inbox = await world.inbox()
    const subject = 'Nobody takes it'
    await world.client.inboxes.send(inbox.id, { to: 'bob@friend.example', subject, body: 'Yet.' })
    world.clock.advance(70_000)
    const later = await figures()
    assert.equal(later('mailroom_deliveries_ready'), 1)
    assert.ok(later('mailroom_deliveries_oldest_due_seconds') >= 70)
    assert.equal(later('mailroom_webhook_deliveries_ready'), 0)
  })

  test('events that nobody reads for webhooks are counted, and how long they have waited', async () => {
    const inbox = await world.inbox()
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address }) })
    world.clock.advance(30_000)
    // On PostgreSQL others' transactions hold the log up for a moment.
    await until(async () => (await figures())('mailroom_event_fan_out_waiting') === 1)
    assert.ok((await figures())('mailroom_event_fan_out_lag_seconds') >= 30)
  })

  test('the times of mail and of transactions, connections and duties are told', async () => {
    const inbox = await world.inbox()
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address }) })
    const told = await figures()
    assert.ok(told('mailroom_smtp_message_duration_seconds_count') >= 1)
    assert.ok(told('mailroom_write_duration_seconds_count') >= 3)
    const waiting = 'mailroom_database_connections{state="waiting"}'
    await until(async () => (await figures())(waiting) === 0)
    assert.ok(told('mailroom_database_connections{state="busy"}') >= 0)
    await until(async () => (await figures())('mailroom_duties_held{duty="retention"}') === 1)
    await until(async () => (await figures())('mailroom_search_inboxes_waiting') === 0)
    assert.equal(told('mailroom_domain_checks_due'), 0)
  })
})
