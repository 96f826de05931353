import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { refusal } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

const DAY_MS = 24 * 60 * 60 * 1000

onEachEngine('retention and expiry', (engine) => {
  const world = opened(() => openTenant(engine))

  const inDays = (days: number) => new Date(world.clock.now() + days * DAY_MS).toISOString()

  async function untilGone(inboxId: string): Promise<void> {
    for (;;) {
      const response = await world.fetch(`/v1/inboxes/${inboxId}`)
      if (response.status === 404) return
      await sleep(50)
    }
  }

  test('retentionDays is set on account, pod and inbox, and an inbox shows which counts', async () => {
    const { client } = await world.newAccount()
    assert.equal((await client.account.get()).retentionDays, null)
    assert.equal((await client.account.update({ retentionDays: 365 })).retentionDays, 365)
    const pod = await client.pods.create({ name: 'short', retentionDays: 30 })
    assert.equal(pod.retentionDays, 30)
    assert.deepEqual(await client.pods.get(pod.id), pod)
    const inbox = await client.inboxes.create({ podId: pod.id })
    assert.deepEqual([inbox.retentionDays, inbox.effectiveRetentionDays], [null, 30])
    const own = await client.inboxes.update(inbox.id, { retentionDays: 36_500 })
    assert.deepEqual([own.retentionDays, own.effectiveRetentionDays], [36_500, 36_500])
    await client.inboxes.update(inbox.id, { retentionDays: null })
    await client.pods.update(pod.id, { retentionDays: null })
    const listed = (await client.inboxes.list().page()).data[0]
    assert.deepEqual([listed?.retentionDays, listed?.effectiveRetentionDays], [null, 365])
    // Neither setting touches the other.
    assert.equal((await client.account.update({ filterMode: 'none' })).retentionDays, 365)
    assert.equal((await client.account.update({ retentionDays: null })).filterMode, 'none')
    assert.equal((await client.account.get()).inboxLimit, 200)
    assert.equal((await client.inboxes.get(inbox.id)).effectiveRetentionDays, null)
    const made = await client.inboxes.create({ retentionDays: 7, expiresAt: inDays(1) })
    assert.equal(made.effectiveRetentionDays, 7)
  })

  test('wrong settings are refused, and change nothing', async () => {
    const inbox = await world.inbox()
    const bad = [0, -1, 36_501, 1.5, '30', true, [1]]
    for (const retentionDays of bad) {
      for (const [path, method] of [
        ['/v1/account', 'PATCH'],
        ['/v1/pods', 'POST'],
        ['/v1/inboxes', 'POST'],
        [`/v1/inboxes/${inbox.id}`, 'PATCH'],
      ] as const) {
        const body = JSON.stringify({ retentionDays })
        const headers = { 'content-type': 'application/json' }
        const response = await world.fetch(path, { method, body, headers })
        assert.equal(response.status, 400, `${path} ${body}`)
        assert.match(await response.text(), /retentionDays/)
      }
    }
    for (const expiresAt of ['soon', '2026-13-01T00:00:00Z', inDays(-1), inDays(40_000), '']) {
      for (const request of [
        () => world.client.inboxes.create({ expiresAt }),
        () => world.client.inboxes.update(inbox.id, { expiresAt }),
      ]) {
        assert.equal(await refusal(request()), '400 bad_request', expiresAt)
      }
    }
    const empty = await world.fetch('/v1/account', {
      method: 'PATCH',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(empty.status, 400)
    assert.deepEqual(await world.client.inboxes.get(inbox.id), inbox)
    const { client: foreign } = await world.newAccount()
    assert.equal(
      await refusal(foreign.inboxes.update(inbox.id, { expiresAt: inDays(1) })),
      '404 not_found',
    )
  })

  test('an inbox deletes itself at its time, and says so in the log', async () => {
    const expiresAt = inDays(3)
    const inbox = await world.client.inboxes.create({ expiresAt })
    assert.equal(inbox.expiresAt, expiresAt)
    await world.send({ to: inbox.address, raw: plainMail({}) })
    const [message] = (await world.client.messages.list(inbox.id).page()).data
    const kept = await world.client.inboxes.create({ expiresAt })
    await world.client.inboxes.update(kept.id, { expiresAt: null })
    world.clock.advance(3 * DAY_MS + 1)
    await untilGone(inbox.id)
    assert.equal((await world.client.inboxes.get(kept.id)).expiresAt, null)
    assert.equal(await refusal(world.client.messages.get(message?.id ?? '')), '404 not_found')
    assert.notEqual((await world.send({ to: inbox.address, raw: plainMail({}) })).code, 250)
    const told = await untilTold(inbox.id)
    assert.deepEqual(told.inbox, { id: inbox.id, address: inbox.address, expires_at: expiresAt })
    assert.equal(told.pod_id, inbox.podId)
    const { data } = await world.client.events.list({ event_types: 'message.received' }).page()
    assert.equal(
      data.some(({ inbox_id }) => inbox_id === inbox.id),
      false,
    )
  })

  async function untilTold(inboxId: string) {
    for (;;) {
      const { data } = await world.client.events.list({ event_types: 'inbox.expired' }).page()
      const event = data.find(({ inbox_id }) => inbox_id === inboxId)
      if (event !== undefined) return event
      await sleep(50)
    }
  }

  test('an inbox with a policy that only an approver may remove does not expire', async () => {
    const { client, key } = await world.newAccount()
    const inbox = await client.inboxes.create({ expiresAt: inDays(1) })
    const plain = await client.inboxes.create({ expiresAt: inDays(1) })
    await client.policy.replace({ inbound: { mode: 'allowlist' } }, { inboxId: inbox.id })
    await client.approvers.create({ name: 'Ann' })
    world.clock.advance(DAY_MS + 1)
    const statusOf = async (id: string) => {
      const headers = { authorization: `Bearer ${key}` }
      return (await world.fetch(`/v1/inboxes/${id}`, { headers })).status
    }
    while ((await statusOf(plain.id)) !== 404) await sleep(50)
    assert.equal(await statusOf(inbox.id), 200)
  })
})
