import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { arrived, openSendingWorld, PLAIN, readMail } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened } from '#test/world.ts'

const LIMIT = 4

type Outcome = { status: number; isReplay: boolean; body: Record<string, unknown> }

onEachEngine('a batch of sends', (engine) => {
  const world = opened(() =>
    openSendingWorld(engine, { env: { MAILROOM_LIMIT_SENDS_PER_MINUTE: String(LIMIT) } }),
  )

  const post = (
    path: string,
    body: string,
    headers: Record<string, string> = {},
    key = world.key,
  ) =>
    fetch(`${world.baseUrl}${path}`, {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    })

  async function sendBatch({ id }: Inbox, items: readonly unknown[]): Promise<Outcome[]> {
    const response = await post(`/v1/inboxes/${id}/send/batch`, JSON.stringify({ items }))
    assert.equal(response.status, 200)
    const { data } = (await response.json()) as { data: Outcome[] }
    return data
  }

  const sendAlone = ({ id }: Inbox, body: unknown, key: string) =>
    post(`/v1/inboxes/${id}/send`, JSON.stringify(body), { 'idempotency-key': key })

  test('answers each item in order as a send of its own would be answered', async () => {
    const inbox = await world.inbox()
    await world.client.suppressions.create({ address: 'gone@friend.example' })
    const data = Buffer.from('a file').toString('base64')
    const file = { filename: 'a.txt', contentType: 'text/plain', data }
    const bodies: object[] = [
      { ...PLAIN, to: [PLAIN.to, 'ann@friend.example'], attachments: [file] },
      { ...PLAIN, to: 'nobody' },
      { ...PLAIN, to: [PLAIN.to, 'nobody'] },
      { ...PLAIN, subject: undefined },
      { ...PLAIN, unknown: 1 },
      { ...PLAIN, to: 'gone@friend.example' },
      { ...PLAIN, threadId: 'thr_none' },
      { ...PLAIN, headers: { Subject: 'x' } },
      { ...PLAIN, attachments: [{ ...file, data: '=' }] },
      { ...PLAIN, sendAt: 'never' },
      { ...PLAIN, cc: null },
    ]
    const outcomes = await sendBatch(
      inbox,
      bodies.map((body, at) => ({ idempotencyKey: `batch ${inbox.id} ${at}`, ...body })),
    )
    const other = await world.inbox()
    const statuses: number[] = []
    for (const [at, body] of bodies.entries()) {
      const { status, body: told, isReplay } = outcomes[at] ?? assert.fail()
      const alone = await sendAlone(other, body, `alone ${other.id} ${at}`)
      const expected = (await alone.json()) as Record<string, unknown>
      assert.equal(status, alone.status, JSON.stringify(body))
      assert.equal(isReplay, false)
      statuses.push(status)
      if (status === 200) assert.deepEqual(Object.keys(told), Object.keys(expected))
      else assert.deepEqual({ ...told, requestId: '' }, { ...expected, requestId: '' })
    }
    assert.deepEqual(statuses, [200, 400, 400, 400, 400, 422, 404, 400, 400, 400, 200])
    const { raw } = await arrived(world, {
      providerMessageId: String(outcomes[0]?.body.providerMessageId),
    })
    assert.equal((await readMail(raw)).attachments[0]?.filename, 'a.txt')
    const { total } = await world.client.messages.list(inbox.id).page()
    assert.equal(total, 2)
  })

  test('has a key for each item, the same as that of a send', async () => {
    const inbox = await world.inbox()
    const key = `key ${inbox.id}`
    const item = { idempotencyKey: key, ...PLAIN }
    const outcomes = await sendBatch(inbox, [
      item,
      item,
      { ...item, body: 'Another body.' },
      PLAIN,
      { ...item, idempotencyKey: '' },
      { ...item, idempotencyKey: 'é' },
      { ...item, idempotencyKey: 'x'.repeat(256) },
      { ...item, idempotencyKey: 5 },
      null,
      [],
      'x',
    ])
    const told = outcomes.map(({ status, isReplay, body }) => [status, isReplay, body.error])
    const bad = [400, false, 'bad_request']
    const missing = [400, false, 'missing_idempotency_key']
    assert.deepEqual(told, [
      [200, false, undefined],
      [200, true, undefined],
      [422, false, 'idempotency_key_reused'],
      missing,
      missing,
      bad,
      bad,
      bad,
      bad,
      bad,
      bad,
    ])
    assert.deepEqual(outcomes[1]?.body, outcomes[0]?.body)
    assert.match(String(outcomes[3]?.body.message), /field "idempotencyKey"/)
    assert.deepEqual(outcomes[5]?.body.details, [
      { path: 'idempotencyKey', message: 'must contain only printable ASCII characters' },
    ])
    const alone = await sendAlone(inbox, PLAIN, key)
    assert.equal(alone.headers.get('idempotency-replayed'), 'true')
    assert.deepEqual(await alone.json(), outcomes[0]?.body)
    const { total } = await world.client.messages.list(inbox.id).page()
    assert.equal(total, 1)
  })

  test('takes as many files and recipients as its items may have alone', async () => {
    const inbox = await world.inbox()
    const file = { filename: 'a.txt', contentType: 'text/plain', data: 'YQ==' }
    const [first] = await sendBatch(inbox, [
      { ...PLAIN, idempotencyKey: 'with all files', attachments: Array(100).fill(file) },
      ...Array(99).fill({ ...PLAIN, to: 'nobody', attachments: Array(100).fill(file) }),
    ])
    assert.equal(first?.status, 200)
  })

  test('counts in order against the limits of the inbox', async () => {
    const inbox = await world.inbox()
    const items = Array.from({ length: LIMIT + 2 }, (_, at) => ({ ...PLAIN, body: `Number ${at}` }))
    const { data } = await world.client.inboxes.sendBatch(inbox.id, items)
    const statuses = data.map(({ status }) => status)
    assert.deepEqual(statuses, [...Array.from({ length: LIMIT }, () => 200), 429, 429])
    assert.equal(Reflect.get(data.at(-1)?.body ?? {}, 'limit'), LIMIT)
  })

  test('is refused whole for what is no batch, and for another account’s inbox', async () => {
    const inbox = await world.inbox()
    const path = `/v1/inboxes/${inbox.id}/send/batch`
    const item = { idempotencyKey: 'k', ...PLAIN }
    const many = (count: number) => Array.from({ length: count }, () => null)
    for (const body of [
      '{}',
      '{"items":{}}',
      '{"items":null}',
      '[]',
      '{"items":[}',
      '{"items":[],"more":1}',
      JSON.stringify({ items: many(101) }),
    ]) {
      const response = await post(path, body)
      assert.equal(response.status, 400, body)
      assert.equal(((await response.json()) as { error: string }).error, 'bad_request')
    }
    assert.equal((await sendBatch(inbox, many(100))).length, 100)
    assert.deepEqual(await sendBatch(inbox, []), [])
    const { client } = await world.newAccount()
    await assert.rejects(client.inboxes.sendBatch(inbox.id, [item]), { code: 'not_found' })
    assert.equal((await world.client.messages.list(inbox.id).page()).total, 0)
  })
})
