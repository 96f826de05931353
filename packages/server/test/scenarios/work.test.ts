import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { ClaimedThread, Inbox, WorkOptions } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { refusal, until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

onEachEngine('workers of the SDK', (engine) => {
  const world = opened(() => openTenant(engine))
  const client = prepared(() => world.client)
  let sent = 0

  async function receive(inbox: Inbox): Promise<void> {
    const raw = plainMail({ to: inbox.address, messageId: `<w${++sent}@x.example>` })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
  }
  /** Works until `run` is over, and then ends well. */
  async function beside(
    inbox: Inbox,
    options: Omit<WorkOptions, 'owner' | 'signal'>,
    run: () => Promise<void>,
  ): Promise<void> {
    const stop = new AbortController()
    const given = { owner: 'worker', signal: stop.signal, ...options }
    const work = client.work(inbox.id, given)
    try {
      await run()
    } finally {
      stop.abort()
      await work
    }
  }
  const isDone = async (inbox: Inbox, count: number) => {
    const page = await client.threads.list(inbox.id, { is_read: true }).page()
    return page.total === count && page.data.every(({ claim }) => claim === null)
  }

  test('get each thread once, may answer in it, and release it as read', async () => {
    const inbox = await world.inbox()
    const handled: string[] = []
    let atOnce = 0
    let most = 0
    const handle: WorkOptions['handle'] = async ({ threadId, inboxId }, { mail }) => {
      most = Math.max(most, ++atOnce)
      handled.push(threadId)
      assert.equal(
        await refusal(client.threads.update(threadId, { isRead: true })),
        '409 lease_lost',
      )
      await mail.inboxes.send(inboxId, { threadId, replyAll: true, body: 'Done.' })
      await pause(50)
      atOnce -= 1
      return undefined
    }
    await beside(inbox, { concurrency: 3, handle }, async () => {
      for (let each = 0; each < 7; each++) await receive(inbox)
      await until(() => isDone(inbox, 7))
    })
    assert.deepEqual([handled.length, new Set(handled).size], [7, 7])
    assert.ok(most > 1 && most <= 3, `${most}`)
    const { total } = await client.messages.list(inbox.id, { direction: 'outbound' }).page()
    assert.equal(total, 7)
  })

  test('leave a thread that they failed in until its lease is over, and keep others unread if told so', async () => {
    const inbox = await world.inbox()
    await receive(inbox)
    const errors: [unknown, string][] = []
    const failure = new Error('no')
    const handle = async () => {
      throw failure
    }
    const onError = (error: unknown, { threadId }: ClaimedThread) => errors.push([error, threadId])
    await beside(inbox, { leaseSeconds: 600, handle, onError }, () =>
      until(async () => errors.length > 0),
    )
    const { data } = await client.threads.list(inbox.id).page()
    const [thread] = data
    assert.deepEqual(errors, [[failure, thread?.id]])
    assert.deepEqual([thread?.isRead, thread?.claim?.fence], [false, 1])
    await runSql(world, `update threads set claim_until = 1 where id = '${thread?.id}'`)
    let times = 0
    const keep = async () => ({ isRead: ++times > 2 })
    await beside(inbox, { handle: keep }, () => until(() => isDone(inbox, 1)))
    assert.equal(times, 3)
  })

  test('renew a lease while they work, and are told when it is lost', async () => {
    const inbox = await world.inbox()
    await receive(inbox)
    const reasons: unknown[] = []
    const handle: WorkOptions['handle'] = async ({ threadId, expiresAt }, { signal }) => {
      await until(
        async () => ((await client.threads.get(threadId)).claim?.expiresAt ?? '') > expiresAt,
      )
      await runSql(world, `update threads set claim_until = 1 where id = '${threadId}'`)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return undefined
    }
    const onError = (error: unknown) => reasons.push(error)
    await beside(inbox, { leaseSeconds: 10, handle, onError }, () =>
      until(async () => reasons.length > 0),
    )
    assert.equal(await refusal(Promise.reject(reasons[0])), '409 lease_lost')
  })

  test('end with the error of a request that can never succeed', async () => {
    const inbox = await world.inbox()
    await client.inboxes.delete(inbox.id)
    const handle = async () => undefined
    assert.equal(await refusal(client.work(inbox.id, { owner: 'x', handle })), '404 not_found')
  })
})
