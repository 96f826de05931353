import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliver } from '#test/scenarios/deliver.ts'
import { refusal } from '#test/scenarios/outcomes.ts'
import { openSendingTenant, send } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, plainMail } from '#test/world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

onEachEngine('a rule with an end', (engine) => {
  const world = opened(() => openSendingTenant(engine))
  const ahead = (ms: number) => new Date(world.clock.now() + ms).toISOString()
  const value = 'friend.example'

  test('decides about sends until that moment, and is then listed but no longer applied', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const scope = { inboxId: inbox.id }
    const expiresAt = ahead(HOUR_MS)
    const terms = { expiresAt, note: 'Until the fair is over.' }
    const direction = 'outbound'
    const rule = await client.policy.createRule(
      { direction, type: 'block', value, ...terms },
      scope,
    )
    assert.deepEqual([rule.expiresAt, rule.note], [expiresAt, terms.note])
    const before = await client.policy.get(scope)
    assert.deepEqual(before.effective.outbound.rules, [rule])
    assert.equal(await refusal(send(world, inbox)), '403 recipient_not_permitted')
    world.clock.advance(HOUR_MS - MINUTE_MS)
    assert.equal(await refusal(send(world, inbox)), '403 recipient_not_permitted')
    world.clock.advance(MINUTE_MS)
    assert.equal((await send(world, inbox)).status, 'pending')
    const after = await client.policy.get(scope)
    assert.deepEqual(after.effective.outbound.rules, [])
    assert.deepEqual(after.outbound.rules, before.outbound.rules)
    // What was read can be written again, and a rule that has ended can begin again.
    const { rules } = after.outbound
    assert.deepEqual((await client.policy.replace({ outbound: { rules } }, scope)).etag, after.etag)
    const again = await client.policy.createRule({ direction, type: 'block', value }, scope)
    assert.deepEqual(again, { ...rule, expiresAt: null, note: null })
    assert.equal(await refusal(send(world, inbox)), '403 recipient_not_permitted')
  })

  test('decides about received mail until that moment', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const from = 'bob@friend.example'
    const mail = (messageId: string) => plainMail({ from, to: inbox.address, messageId })
    const expiresAt = ahead(HOUR_MS)
    const asked = { type: 'block', value, inboxId: inbox.id, expiresAt, note: 'A test.' } as const
    const rule = await client.senderRules.create(asked)
    assert.deepEqual(await client.senderRules.get(rule.id), rule)
    assert.deepEqual([rule.expiresAt, rule.note], [expiresAt, 'A test.'])
    world.clock.advance(HOUR_MS - MINUTE_MS)
    await world.send({ to: inbox.address, raw: mail('<e1@friend.example>') })
    assert.equal((await client.quarantine.list({ inboxId: inbox.id }).page()).total, 1)
    world.clock.advance(MINUTE_MS)
    await deliver(world, inbox, mail('<e2@friend.example>'))
  })

  test('ends in the future, and has a note of at most 500 characters', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const scope = { inboxId: inbox.id }
    const wrong = [
      ...['tomorrow', ahead(0), ahead(-HOUR_MS), ahead(36_501 * 24 * HOUR_MS)].map((expiresAt) => ({
        expiresAt,
      })),
      { note: 'x'.repeat(501) },
      { note: 'Two\nlines' },
    ]
    for (const terms of wrong) {
      const rule = { type: 'allow', value, ...terms } as const
      const tries = [
        client.senderRules.create(rule),
        client.policy.createRule({ direction: 'outbound', ...rule }, scope),
        client.policy.replace({ outbound: { rules: [rule] } }, scope),
        client.policy.replace({ inbound: { rules: [rule] } }, scope),
      ]
      const outcomes = await Promise.all(tries.map(refusal))
      assert.deepEqual(
        outcomes,
        tries.map(() => '400 bad_request'),
      )
    }
    assert.deepEqual((await client.policy.get(scope)).effective.outbound.rules, [])
  })
})
