import assert from 'node:assert/strict'
import { test } from 'node:test'
import { opened, prepared } from '@mailroom/server/test/world.ts'
import { onEachTransport, splitFences } from './mcp-world.ts'

const LIMIT = { timeout: 60_000 }

onEachTransport('tools for several workers', (open, connect) => {
  const world = opened(() => open())
  const inbox = prepared(() => world.inbox('team'))
  const tools = opened(() => connect(world))
  const others = opened(() => connect(world))

  async function receive(subject: string): Promise<string> {
    const mail = { from: 'bob@firm.example', to: inbox.address, subject, text: 'A text.' }
    const { data } = await world.client.sandbox.receive(mail)
    return data[0]?.threadId ?? assert.fail('nothing arrived')
  }

  const tokenIn = (text: string) => /^lease_token: (mrl_\S+)$/m.exec(text)?.[1] ?? assert.fail(text)

  test('a claimed thread is answered, marked and labelled only with its token', LIMIT, async () => {
    const threadId = await receive('Who answers?')
    const claimed = await tools.call('claim_thread', { owner: 'Ada' })
    assert.match(claimed, new RegExp(`^Thread ${threadId} is yours until 20\\S+Z\\.\n`))
    const token = tokenIn(claimed)
    assert.equal((await world.client.threads.get(threadId)).claim?.owner, 'Ada')
    assert.match(await others.call('claim_thread', {}), /^No unread thread in \S+ is free\.$/)
    assert.match(
      await others.refusal('claim_thread', { thread_id: threadId }),
      /thread_claimed|claimed/,
    )
    const calls = [
      ['label_thread', { thread_id: threadId, add: ['mine'] }],
      ['mark_thread', { thread_id: threadId, state: 'read' }],
      ['label_thread', { thread_id: threadId, state: 'read' }],
      ['reply', { thread_id: threadId, body: 'I do.' }],
    ] as const
    for (const [name, given] of calls) {
      await others.refusal(name, given)
      await others.refusal(name, { ...given, lease_token: `mrl_${'x'.repeat(40)}` })
    }
    const before = await world.client.threads.get(threadId)
    assert.deepEqual([before.labels, before.isRead, before.messageCount], [[], false, 1])
    for (const [name, given] of calls) {
      const answer = await tools.call(name, { ...given, lease_token: token })
      assert.ok(!splitFences(answer).outside.includes(token), name)
    }
    const after = await world.client.threads.get(threadId)
    assert.deepEqual([after.labels, after.isRead, after.messageCount], [['mine'], true, 2])
  })

  test('a released thread is free again, and the old token no longer counts', LIMIT, async () => {
    const threadId = await receive('Released')
    const token = tokenIn(await tools.call('claim_thread', { thread_id: threadId }))
    const release = { thread_id: threadId, lease_token: token }
    await others.refusal('release_thread', { ...release, lease_token: `mrl_${'x'.repeat(40)}` })
    assert.notEqual((await world.client.threads.get(threadId)).claim, null)
    const released = await tools.call('release_thread', { ...release, state: 'unread' })
    assert.equal(released, `Thread ${threadId} is released.`)
    await tools.refusal('label_thread', { thread_id: threadId, add: ['late'], lease_token: token })
    const next = await others.call('claim_thread', { inbox: inbox.address, lease_seconds: 60 })
    assert.notEqual(tokenIn(next), token)
    await others.call('release_thread', {
      thread_id: threadId,
      lease_token: tokenIn(next),
      state: 'read',
    })
    assert.equal((await world.client.threads.get(threadId)).isRead, true)
  })

  test(
    'labels are added and removed, and a wrong one is refused before anything changes',
    LIMIT,
    async () => {
      const threadId = await receive('Labels')
      const label = (given: object) => tools.call('label_thread', { thread_id: threadId, ...given })
      assert.equal(await label({ add: ['b', 'a'] }), `Labels of ${threadId}: a, b.`)
      assert.equal(await label({ add: ['c'], remove: ['a', 'b'] }), `Labels of ${threadId}: c.`)
      assert.equal(await label({ remove: ['c'] }), `Labels of ${threadId}: none.`)
      const refusal = (given: object) =>
        tools.refusal('label_thread', { thread_id: threadId, ...given })
      assert.match(await refusal({}), /Nothing to change/)
      await refusal({ add: ['fine', 'Not A Label'] })
      await tools.refusal('label_thread', { thread_id: 'thr_none', add: ['a'] })
      assert.deepEqual((await world.client.threads.get(threadId)).labels, [])
    },
  )

  test('a connection for reading has none of these tools', LIMIT, async () => {
    await using reading = await connect(world, { isReadOnly: true })
    const names = await reading.names()
    for (const name of ['claim_thread', 'release_thread', 'label_thread']) {
      assert.ok(!names.includes(name), name)
    }
  })
})
