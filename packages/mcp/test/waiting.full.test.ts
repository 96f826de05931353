import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Inbox } from '@mailroom/sdk'
import { OPERATOR_TOKEN, opened, plainMail } from '@mailroom/server/test/world.ts'
import { type Era, onEachTransport, splitFences, textOf } from './mcp-world.ts'

/** Less than the minute after which a wait ends by itself. */
const LIMIT = { timeout: 40_000 }

onEachTransport('wait_for_mail', (open, connect) => {
  const world = opened(() => open())
  const tools = opened(() => connect(world))

  const deliver = async (inbox: Inbox, subject: string, body = 'A body.', from?: string) => {
    const raw = plainMail({ subject, body, ...(from === undefined ? {} : { from }) })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    const [message] = (await world.client.messages.list(inbox.id, { limit: 1 }).page()).data
    return message ?? assert.fail('no message')
  }
  const cursor = (text: string) => /after="(\w+)"/.exec(text)?.[1] ?? assert.fail(text)

  test('returns mail that arrives while it waits, in an inbox that was empty', LIMIT, async () => {
    const inbox = await world.inbox()
    const waiting = tools.call('wait_for_mail', { inbox: inbox.id, timeout_seconds: 60 })
    await untilWaits(1)
    const { id, threadId } = await deliver(inbox, 'Hello', 'See https://a.example/x')
    const { inside, outside } = splitFences(await waiting)
    assert.match(
      outside,
      new RegExp(`^Message ${id} in thread ${threadId} arrived at .* UNVERIFIED`),
    )
    assert.match(inside, /Hello/)
    assert.equal(cursor(outside), id)
  })

  test('skips earlier mail unless it is told where to start', LIMIT, async () => {
    const inbox = await world.inbox()
    const first = await deliver(inbox, 'First')
    const second = await deliver(inbox, 'Second')
    const wait = (given: object) =>
      tools.call('wait_for_mail', { inbox: inbox.address, timeout_seconds: 1, ...given })
    const none = await wait({})
    assert.match(none, /^No matching mail arrived at .* within 1 seconds/)
    assert.equal(cursor(none), second.id)
    assert.ok((await wait({ after: first.id })).startsWith(`Message ${second.id} `))
    assert.ok((await wait({ after: 'beginning' })).startsWith(`Message ${first.id} `))
    assert.ok(
      (await wait({ after: 'beginning', subject: 'sec' })).startsWith(`Message ${second.id}`),
    )
    assert.match(await wait({ after: 'beginning', from: 'nobody@' }), /^No matching mail/)
    assert.match(await wait({ after: first.id, thread_id: first.threadId }), /^No matching mail/)
    const third = await deliver(inbox, 'Third')
    assert.ok((await wait({ after: cursor(none) })).startsWith(`Message ${third.id} `))
  })

  test('continues from an empty inbox without missing mail between two calls', LIMIT, async () => {
    const inbox = await world.inbox()
    const none = await tools.call('wait_for_mail', { inbox: inbox.id, timeout_seconds: 1 })
    assert.equal(cursor(none), 'beginning')
    const { id } = await deliver(inbox, 'Between')
    const given = { inbox: inbox.id, timeout_seconds: 1, after: cursor(none) }
    assert.ok((await tools.call('wait_for_mail', given)).startsWith(`Message ${id} `))
  })

  test('with code_wanted returns the code and skips mail without one', LIMIT, async () => {
    const inbox = await world.inbox()
    const given = { inbox: inbox.id, timeout_seconds: 60, code_wanted: true }
    const waiting = tools.call('wait_for_mail', given)
    await untilWaits(1)
    await deliver(inbox, 'News', 'There is nothing to type in here.')
    const body = 'Your verification code is 482913. Or open https://a.example/verify?token=abc'
    const { id } = await deliver(inbox, 'Your code', body)
    const { inside, outside } = splitFences(await waiting)
    assert.match(outside, new RegExp(`^Message ${id} `))
    assert.match(inside, /^code: 482913$/m)
    assert.match(inside, /verify link: https:\/\/a\.example\/verify\?token=abc/)
    const { id: news } = (await world.client.messages.list(inbox.id).page()).data[1] ?? {}
    const late = await tools.call('wait_for_mail', { ...given, after: news })
    assert.match(splitFences(late).inside, /^code: 482913$/m)
  })

  test('reports progress to a client that asks for it', { timeout: 90_000 }, async () => {
    const inbox = await world.inbox()
    const seen: number[] = []
    const given = { inbox: inbox.id, timeout_seconds: 12 }
    await tools.client.callTool(
      { name: 'wait_for_mail', arguments: given },
      { onprogress: ({ progress }) => seen.push(progress), timeout: 60_000 },
    )
    assert.ok(seen.length >= 2, String(seen))
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
    )
  })

  for (const era of ['auto', 'legacy'] satisfies Era[]) {
    test(`ends its API request when the client disconnects (${era})`, LIMIT, async () => {
      const inbox = await world.inbox()
      await deliver(inbox, 'There')
      const leaving = await connect(world, { era })
      const waiting = leaving.result('wait_for_mail', { inbox: inbox.id, timeout_seconds: 60 })
      waiting.catch(() => {})
      await untilWaits(1)
      await leaving.close()
      await untilWaits(0)
    })
  }

  test('ends when the client cancels it', LIMIT, async () => {
    const inbox = await world.inbox()
    await deliver(inbox, 'There')
    const cancel = new AbortController()
    const given = { inbox: inbox.id, timeout_seconds: 60 }
    const waiting = tools.client.callTool(
      { name: 'wait_for_mail', arguments: given },
      { signal: cancel.signal, timeout: 90_000 },
    )
    waiting.catch(() => {})
    await untilWaits(1)
    cancel.abort()
    await assert.rejects(waiting)
    await untilWaits(0)
    // The connection stays open.
    const next = await tools.result('wait_for_mail', { inbox: inbox.id, timeout_seconds: 1 })
    assert.match(textOf(next), /^No matching mail/)
  })

  /** API requests that wait, as the service counts them. */
  async function untilWaits(count: number): Promise<void> {
    for (;;) {
      const operator = world.clientWith(OPERATOR_TOKEN)
      if (waitsIn(await operator.service.metrics()) === count) return
      await sleep(50)
    }
  }
})

function waitsIn(metrics: string): number {
  return Number(/^mailroom_event_waits\S* (\d+)$/m.exec(metrics)?.[1] ?? -1)
}
