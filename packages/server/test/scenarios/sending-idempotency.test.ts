import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { countMessages } from '#test/scenarios/deliver.ts'
import { countOutcomes, outcomeOf, refusal } from '#test/scenarios/outcomes.ts'
import { PLAIN, send, settled } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

const HOUR_MS = 3_600_000

onEachEngine('an idempotency key', (engine) => {
  const world = opened(() => openTenant(engine))
  const inbox = prepared(() => world.inbox())

  const post = (key: string | null, body: unknown = PLAIN, inboxId = inbox.id) =>
    world.fetch(`/v1/inboxes/${inboxId}/send`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === null ? {} : { 'idempotency-key': key }),
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })

  test('returns the first answer again, and marks it as a repeat', async () => {
    const key = randomUUID()
    const count = await countMessages(world, inbox)
    const first = await post(key)
    const body = await first.json()
    assert.equal(first.headers.get('idempotency-replayed'), null)
    const reordered = `{"body": "A body.",\n "subject":"A subject", "to":"bob@friend\\u002eexample"}`
    for (const again of [PLAIN, reordered]) {
      const repeat = await post(key, again)
      assert.equal(repeat.status, 200)
      assert.equal(repeat.headers.get('idempotency-replayed'), 'true')
      assert.deepEqual(await repeat.json(), body)
    }
    assert.equal(await countMessages(world, inbox), count + 1)
  })

  test('returns the same answer even after the message and its inbox were deleted', async () => {
    const own = await world.inbox()
    const key = randomUUID()
    const sent = await send(world, own, {}, key)
    await settled(world, sent)
    assert.deepEqual(await send(world, own, {}, key), sent)
    await world.client.inboxes.delete(own.id)
    assert.deepEqual(await send(world, own, {}, key), sent)
    assert.equal(await refusal(send(world, own)), '404 not_found')
  })

  test('is refused for another body and for another inbox', async () => {
    const key = randomUUID()
    const other = await world.inbox()
    await send(world, inbox, {}, key)
    const reused = '422 idempotency_key_reused'
    assert.equal(await refusal(send(world, inbox, { body: 'Another body.' }, key)), reused)
    assert.equal(await refusal(send(world, inbox, { includeQuote: false }, key)), reused)
    assert.equal(await refusal(send(world, inbox, { cc: ['x@friend.example'] }, key)), reused)
    assert.equal(await refusal(send(world, other, {}, key)), reused)
    assert.equal(await countMessages(world, other), 0)
  })

  test('makes one message of fifty equal concurrent requests', async () => {
    const own = await world.inbox()
    const key = randomUUID()
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(key, PLAIN, own.id)))
    const bodies = await Promise.all(answers.map((answer) => answer.text()))
    assert.equal(new Set(bodies).size, 1)
    const replays = answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')
    assert.deepEqual(
      [new Set(answers.map(({ status }) => status)), replays.length],
      [new Set([200]), 49],
    )
    assert.equal(await countMessages(world, own), 1)
  })

  test('makes one message of different concurrent requests, of one inbox or two', async () => {
    const inboxes = [await world.inbox(), await world.inbox()]
    for (const [one, two] of [
      [inboxes[0], inboxes[0]],
      [inboxes[0], inboxes[1]],
    ]) {
      const key = randomUUID()
      const before = await Promise.all(inboxes.map((each) => countMessages(world, each)))
      const requests = Array.from({ length: 20 }, (_, index) => {
        const from = index % 2 === 0 ? one : two
        const body = from === two ? 'Another body.' : 'A body.'
        return send(world, from ?? inbox, { body: one === two ? `${index % 2}` : body }, key)
      })
      const outcomes = await countOutcomes(requests)
      assert.deepEqual(outcomes, { done: 10, '422 idempotency_key_reused': 10 })
      const after = await Promise.all(inboxes.map((each) => countMessages(world, each)))
      assert.equal(sum(after) - sum(before), 1)
    }
  })

  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)

  test('stays free when its request is refused, and works for the corrected one', async () => {
    await world.client.suppressions.create({ address: 'never@friend.example' })
    const refused: [fields: object, outcome: string][] = [
      [{ body: '' }, '400 bad_request'],
      [{ threadId: 'thr_nothing' }, '404 not_found'],
      [{ to: 'never@friend.example' }, '422 recipient_suppressed'],
    ]
    for (const [fields, outcome] of refused) {
      const key = randomUUID()
      const count = await countMessages(world, inbox)
      assert.equal(await refusal(send(world, inbox, fields, key)), outcome)
      assert.equal(await refusal(send(world, inbox, fields, key)), outcome)
      const sent = await send(world, inbox, {}, key)
      assert.deepEqual(await send(world, inbox, {}, key), sent)
      assert.equal(await countMessages(world, inbox), count + 1)
    }
  })

  test('of one account is independent of another account’s', async () => {
    const { client } = await world.newAccount()
    const theirs = await client.inboxes.create()
    const key = randomUUID()
    const mine = await send(world, inbox, {}, key)
    const other = await send({ client }, theirs, {}, key)
    assert.notEqual(mine.messageId, other.messageId)
    assert.equal(await refusal(send({ client }, inbox, {}, key)), '422 idempotency_key_reused')
    assert.equal(await refusal(send({ client }, inbox)), '404 not_found')
  })

  test('expires after a day, and then works for another message', async () => {
    const key = randomUUID()
    const first = await send(world, inbox, {}, key)
    world.clock.advance(24 * HOUR_MS - 60_000)
    assert.deepEqual(await send(world, inbox, {}, key), first)
    world.clock.advance(60_001)
    const second = await send(world, inbox, { body: 'Another body.' }, key)
    assert.notEqual(second.messageId, first.messageId)
    assert.deepEqual(await send(world, inbox, { body: 'Another body.' }, key), second)
    world.clock.advance(24 * HOUR_MS + 1)
    const thirds = Array.from({ length: 10 }, () => send(world, inbox, {}, key))
    const ids = (await Promise.all(thirds)).map(({ messageId }) => messageId)
    assert.equal(new Set(ids).size, 1)
  })

  test('counts as missing when it is empty or blank', async () => {
    for (const key of [null, '', '  ']) {
      assert.equal(await outcomeOf(post(key)), '400 missing_idempotency_key')
    }
  })

  test('of a reply returns the reply as first composed', async () => {
    const raw = (id: number, more: string[] = []) =>
      plainMail({ to: inbox.address, messageId: `<turn${id}@x>`, headers: more })
    await world.send({ to: inbox.address, raw: raw(1) })
    const [message] = (await world.client.messages.list(inbox.id, { limit: 1 }).page()).data
    const fields = { threadId: message?.threadId ?? '' }
    const key = randomUUID()
    const first = await send(world, inbox, fields, key)
    await world.send({ to: inbox.address, raw: raw(2, ['In-Reply-To: <turn1@x>']) })
    assert.deepEqual(await send(world, inbox, fields, key), first)
    const { references } = await world.client.messages.get(first.messageId)
    assert.deepEqual(references, ['<turn1@x>'])
  })
})
