import assert from 'node:assert/strict'
import { test } from 'node:test'
import { POLICY_RULES_MAX } from '@mailroom/contract/vocabulary.ts'
import type { Mailroom } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { countOutcomes, refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import { type Account, onEachEngine, opened, openTenant } from '#test/world.ts'

onEachEngine('sender rules', (engine) => {
  const world = opened(() => openTenant(engine))

  const list = async (client: Mailroom, query = {}) =>
    (await client.senderRules.list(query).page()).data
  const ruleCount = async ({ id }: Account) => {
    const [row] = await runSql(world, `select sender_rule_count from accounts where id = '${id}'`)
    return Number(row?.sender_rule_count)
  }

  test('a rule is shown in the form that is compared, and found by its id', async () => {
    const { client } = await world.newAccount()
    const rule = await client.senderRules.create({ type: 'allow', value: 'Ann@MÜNCHEN.example' })
    assert.match(rule.id, /^rul_/)
    assert.deepEqual(rule, {
      id: rule.id,
      type: 'allow',
      value: 'ann@xn--mnchen-3ya.example',
      podId: null,
      inboxId: null,
      requireVerified: true,
      expiresAt: null,
      note: null,
      createdAt: rule.createdAt,
    })
    assert.deepEqual(await client.senderRules.get(rule.id), rule)
    const block = await client.senderRules.create({ type: 'block', value: 'Spam.EXAMPLE' })
    assert.deepEqual([block.value, block.requireVerified], ['spam.example', false])
    assert.deepEqual(await list(client), [block, rule])
  })

  test('a value that is no address or domain of a sender is refused with its name', async () => {
    const { client } = await world.newAccount()
    for (const value of [
      '',
      'com',
      'co.uk',
      'Ann <a@b.example> <b@b.example>',
      '@b.example',
      '192.0.2.1',
      'a b.example',
    ]) {
      const refused = await refusalOf(client.senderRules.create({ type: 'block', value }))
      assert.equal(refused.status, 400, value)
      assert.equal(refused.code, 'bad_request')
      assert.match(refused.message, /"value"/)
    }
    const never = 'never' as 'allow'
    assert.equal(
      await refusal(client.senderRules.create({ type: never, value: 'a.example' })),
      '400 bad_request',
    )
    assert.deepEqual(await list(client), [])
  })

  test('only an allow rule can require a verified sender', async () => {
    const { client } = await world.newAccount()
    for (const requireVerified of [true, false]) {
      const asked = client.senderRules.create({
        type: 'block',
        value: 'a.example',
        requireVerified,
      })
      assert.match((await refusalOf(asked)).message, /"requireVerified"/)
    }
    const value = 'a.example'
    const lax = await client.senderRules.create({ type: 'allow', value, requireVerified: false })
    assert.equal(lax.requireVerified, false)
  })

  test('creating the same rule again returns the existing one, with the new requirement', async () => {
    const account = await world.newAccount()
    const { client } = account
    const asked = { type: 'allow' as const, value: 'a.example' }
    const first = await client.senderRules.create(asked)
    world.clock.advance(1_000)
    assert.deepEqual(await client.senderRules.create({ ...asked, value: 'A.example' }), first)
    const lax = await client.senderRules.create({ ...asked, requireVerified: false })
    assert.deepEqual(lax, { ...first, requireVerified: false })
    assert.deepEqual(await list(client), [lax])
    const block = await client.senderRules.create({ type: 'block', value: 'a.example' })
    assert.notEqual(block.id, first.id)
    const many = Array.from({ length: 8 }, () =>
      client.senderRules.create({ ...asked, value: 'b.example' }),
    )
    assert.equal(new Set((await Promise.all(many)).map(({ id }) => id)).size, 1)
    assert.equal(await ruleCount(account), 3)
  })

  test('a rule is for the account, a pod or an inbox, and a pod must contain its inbox', async () => {
    const { client } = await world.newAccount()
    const pod = await client.pods.create({ clientId: 'tenant' })
    const inbox = await client.inboxes.create({ podId: pod.id })
    const other = await client.inboxes.create()
    const block = { type: 'block' as const, value: 'spam.example' }
    const ofPod = await client.senderRules.create({ ...block, podId: 'tenant' })
    assert.deepEqual([ofPod.podId, ofPod.inboxId], [pod.id, null])
    const ofInbox = await client.senderRules.create({ ...block, inboxId: inbox.id })
    assert.deepEqual([ofInbox.podId, ofInbox.inboxId], [pod.id, inbox.id])
    const both = { ...block, inboxId: inbox.id, podId: pod.id }
    assert.equal((await client.senderRules.create(both)).id, ofInbox.id)
    const disagreeing = client.senderRules.create({ ...both, inboxId: other.id })
    assert.match((await refusalOf(disagreeing)).message, /"inboxId"/)
    assert.equal(
      await refusal(client.senderRules.create({ ...block, podId: 'x' })),
      '400 invalid_pod',
    )
    assert.equal(
      await refusal(client.senderRules.create({ ...block, inboxId: 'x' })),
      '400 bad_request',
    )
  })

  test('the list is filtered and paged, newest first', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const made = []
    for (let index = 0; index < 12; index += 1) {
      const scope = index % 3 === 0 ? { inboxId: inbox.id } : {}
      const type = index % 2 === 0 ? 'block' : 'allow'
      made.unshift(await client.senderRules.create({ type, value: `d${index}.example`, ...scope }))
    }
    assert.deepEqual(await list(client), made)
    const page = await client.senderRules.list({ limit: 5, offset: 5 }).page()
    assert.deepEqual([page.data, page.total], [made.slice(5, 10), 12])
    const allowed = await client.senderRules.list({ type: 'allow', limit: 2 }).page()
    assert.deepEqual([allowed.data.length, allowed.total], [2, 6])
    const ofInbox = made.filter(({ inboxId }) => inboxId !== null)
    assert.deepEqual(await list(client, { inboxId: inbox.id }), ofInbox)
    assert.deepEqual(await list(client, { podId: inbox.podId }), ofInbox)
    assert.deepEqual(await list(client, { value: 'D3.EXAMPLE' }), [made[8]])
    for (const query of [{ value: 'example' }, { value: 'd3' }, { podId: 'x' }, { inboxId: 'x' }]) {
      assert.deepEqual(await client.senderRules.list(query).page(), { data: [], total: 0 })
    }
  })

  test('a rule is deleted once, and leaves the list and the total', async () => {
    const account = await world.newAccount()
    const { client } = account
    const rule = await client.senderRules.create({ type: 'block', value: 'a.example' })
    const removals = Array.from({ length: 5 }, () => client.senderRules.delete(rule.id))
    assert.deepEqual(await countOutcomes(removals), { done: 1, '404 not_found': 4 })
    assert.deepEqual(await client.senderRules.list().page(), { data: [], total: 0 })
    assert.equal(await ruleCount(account), 0)
  })

  test('rules are deleted with the inbox or the pod that they are limited to', async () => {
    const account = await world.newAccount()
    const { client } = account
    const pod = await client.pods.create({})
    const inbox = await client.inboxes.create({ podId: pod.id })
    const value = 'spam.example'
    const everywhere = await client.senderRules.create({ type: 'block', value })
    const ofPod = await client.senderRules.create({ type: 'block', value, podId: pod.id })
    await client.senderRules.create({ type: 'block', value, inboxId: inbox.id })
    await client.inboxes.delete(inbox.id)
    assert.deepEqual(await list(client), [ofPod, everywhere])
    await client.pods.delete(pod.id)
    assert.deepEqual(await list(client), [everywhere])
    assert.equal(await ruleCount(account), 1)
  })

  test('an account has a limited number of rules, and repeating one adds none', async () => {
    const account = await world.newAccount()
    const { client } = account
    const rule = await client.senderRules.create({ type: 'block', value: 'a.example' })
    const left = 3
    const count = POLICY_RULES_MAX - left
    await runSql(
      world,
      `update accounts set sender_rule_count = ${count} where id = '${account.id}'`,
    )
    const many = Array.from({ length: 10 }, (_, index) =>
      client.senderRules.create({ type: 'block', value: `m${index}.example` }),
    )
    const outcomes = await countOutcomes(many)
    assert.deepEqual(outcomes, { done: left, '422 sender_rule_limit_reached': 10 - left })
    assert.equal(
      (await client.senderRules.create({ type: 'block', value: 'a.example' })).id,
      rule.id,
    )
  })

  test('the account shows its setting for unlisted senders, and only the account changes it', async () => {
    const { id, key, client } = await world.newAccount('developer')
    const account = await client.account.get()
    const { createdAt } = account
    assert.deepEqual(account, {
      id,
      name: 'another',
      plan: 'developer',
      filterMode: 'none',
      retentionDays: null,
      undoSeconds: 0,
      inboxLimit: 10,
      createdAt,
    })
    const changed = await client.account.update({ filterMode: 'allowlist' })
    assert.deepEqual(changed, { ...account, filterMode: 'allowlist' })
    assert.deepEqual(await client.account.get(), changed)
    for (const body of [
      {},
      { filterMode: 'all' },
      { filterMode: 'none', plan: 'launch' },
      { name: 'x' },
    ]) {
      const response = await world.fetch('/v1/account', {
        method: 'PATCH',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      assert.equal(response.status, 400, JSON.stringify(body))
    }
    assert.deepEqual(await client.account.get(), changed)
  })
})
