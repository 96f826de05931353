// How much of an inbox may wait.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { refusalOf } from '#test/scenarios/outcomes.ts'
import { openSendingWorld, PLAIN, send, settled } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened } from '#test/world.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WAITING_MAX = 10_000
const QUOTA_BYTES = 100_000

onEachEngine('what waits in an inbox', (engine) => {
  const world = opened(() =>
    openSendingWorld(engine, {
      env: { MAILROOM_LIMIT_STORED_BYTES_PER_ACCOUNT: String(QUOTA_BYTES) },
    }),
  )
  const ahead = (ms: number) => new Date(world.clock.now() + ms).toISOString()

  /** Rows as of messages that wait for a time or, without one, for approval. */
  async function addWaiting(
    inbox: Inbox,
    count: number,
    releaseAtMs: number | null,
  ): Promise<void> {
    await runSql(
      world,
      `insert into waiting_sends
         (message_id, account_id, inbox_id, release_at, review_id, envelope, created_at)
       with recursive numbers (n) as (
         select 1 union all select n + 1 from numbers where n < ${count}
       )
       select 'msg_' || n || '${inbox.id}', account_id, id, ${releaseAtMs}, null, '{}', 0
       from inboxes, numbers where id = '${inbox.id}'`,
    )
  }

  test('is at most 10,000 messages, also when many come at once, and sending goes on', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const nextMs = world.clock.now() + 60 * DAY_MS
    await addWaiting(inbox, WAITING_MAX - 3, nextMs)
    const sendAt = ahead(61 * DAY_MS)
    const first = await send({ client }, inbox, { sendAt }, 'the first')
    const outcomes = await Promise.allSettled(
      Array.from({ length: 6 }, () => send({ client }, inbox, { sendAt })),
    )
    const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    assert.equal(refused.length, 4)
    for (const { status, code, body, message } of refused) {
      assert.deepEqual([status, code], [429, 'rate_limit_exceeded'])
      assert.match(message, /10000 messages of the inbox are scheduled/)
      const { scope, limit, resetsAt } = body
      assert.deepEqual(
        [scope, limit, resetsAt],
        ['inbox', WAITING_MAX, new Date(nextMs).toISOString()],
      )
    }
    // A large one is refused before it is composed.
    const files = [{ filename: 'a', contentType: 'text/plain', data: Buffer.alloc(20_000) }]
    await assert.rejects(send({ client }, inbox, { sendAt, attachments: files }), {
      code: 'rate_limit_exceeded',
    })
    const draft = await client.drafts.create(inbox.id, { ...PLAIN, sendAt })
    await assert.rejects(client.drafts.send(draft.id), { code: 'rate_limit_exceeded' })
    assert.equal((await client.drafts.get(draft.id)).id, draft.id)
    assert.deepEqual(await send({ client }, inbox, { sendAt }, 'the first'), first)
    assert.equal((await settled({ client }, await send({ client }, inbox))).status, 'sent')
    await client.messages.cancel(first.messageId)
    await send({ client }, inbox, { sendAt })
    assert.equal((await refusalOf(send({ client }, inbox, { sendAt }))).status, 429)
    const other = await client.inboxes.create()
    await send({ client }, other, { sendAt })
  })

  test('takes nothing more while the storage of the account is full, and sending goes on', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const sendAt = ahead(HOUR_MS)
    const body = 'A line of text.\n'.repeat(QUOTA_BYTES / 16 - 1)
    const filling = { sendAt, body, subject: 'It fills the storage' }
    const first = await send({ client }, inbox, filling, 'the large one')
    const error = await refusalOf(send({ client }, inbox, { sendAt }))
    assert.deepEqual([error.status, error.code], [429, 'rate_limit_exceeded'])
    assert.deepEqual([error.body?.scope, error.body?.limit], ['account', QUOTA_BYTES])
    assert.match(error.message, /stores 100000 bytes or more/)
    assert.deepEqual(await send({ client }, inbox, filling, 'the large one'), first)
    assert.equal((await settled({ client }, await send({ client }, inbox))).status, 'sent')
  })
})
