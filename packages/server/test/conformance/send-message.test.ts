import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import { insertSend } from '#outbound/send/store/accept-send.ts'
import { insertSuppression } from '#outbound/suppressions/store/suppressions.ts'
import { purgeInboxStep } from '#removal/store/purge.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  openDatabase,
} from '#test/conformance/open-database.ts'
import { readAll, sending } from '#test/conformance/sending.ts'
import { onBothEngines, opened, prepared } from '#test/world.ts'

const NOW_MS = Date.UTC(2026, 10, 20, 12)

onBothEngines('sending', (engine) => {
  const database = opened(() => openDatabase(engine))
  /** The same database through other connections, on PostgreSQL as in another process. */
  const db = prepared(() => database.db)
  const others = prepared(() => database.openOther())
  const owner = prepared(() => addAccount(db))

  const counters = (inboxId: string) =>
    db.read
      .selectFrom('inbox_counters')
      .selectAll()
      .where('inbox_id', '=', inboxId)
      .executeTakeFirstOrThrow()
  const threadOf = (id: string) =>
    db.read.selectFrom('threads').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const messagesOf = (inboxId: string) =>
    db.read
      .selectFrom('messages')
      .select(['id', 'arrival', 'thread_id'])
      .where('inbox_id', '=', inboxId)
      .orderBy('arrival')
      .execute()

  test('a refusal names the first obstacle in the order of checks, and nothing is written', async () => {
    const inboxId = await addInbox(db, owner)
    await db.write(insertSend, sending(owner, inboxId, { key: 'order', nowMs: NOW_MS }))
    const stranger = 'stranger@cold.example'
    await db.write(insertSuppression, {
      id: makeId('sup'),
      account_id: owner.accountId,
      address: 'Dead@far.example',
      address_key: 'dead@far.example',
      type: 'manual',
      reason: null,
      created_at: NOW_MS,
    })
    // Creates the account's row for strangers of the day, as a refusal would.
    await db.write(insertSend, sending(owner, inboxId, { nowMs: NOW_MS }))
    const thread = { kind: 'reply', id: makeId('thr'), messageCount: 1 } as const
    const [known] = await messagesOf(inboxId)
    const changed = { kind: 'reply', id: known?.thread_id ?? '', messageCount: 7 } as const
    const limits = { perMinute: 1, coldPerDay: 0, coldAccountPerDay: 0 }
    const recipients = [stranger, 'dead@far.example']
    const obstacles: [string, Parameters<typeof sending>[2], string?][] = [
      ['key_reused', { key: 'order', request: 'another', thread, recipients, limits }],
      ['replay', { key: 'order', thread, recipients, limits }],
      ['not_found', { thread, recipients, limits }],
      ['thread_changed', { thread: changed, recipients, limits }],
      ['suppressed', { recipients, limits }],
      ['too_many', { recipients: [stranger], limits }],
      ['too_cold', { recipients: [stranger], limits: { ...limits, perMinute: 100 } }, 'inbox'],
      ['too_cold', { recipients: [stranger], limits: { coldAccountPerDay: 0 } }, 'account'],
    ]
    const before = await readAll(db)
    for (const [kind, fields, scope] of obstacles) {
      const outcome = await db.write(
        insertSend,
        sending(owner, inboxId, { nowMs: NOW_MS, ...fields }),
      )
      assert.equal(outcome.kind, kind)
      if (outcome.kind === 'too_cold') assert.equal(outcome.scope, scope)
      if (outcome.kind === 'suppressed') {
        assert.deepEqual([outcome.type, outcome.address], ['manual', 'Dead@far.example'])
      }
      assert.deepEqual(await readAll(db), before, kind)
    }
    const gone = await db.write(insertSend, sending(owner, makeId('inb'), { recipients }))
    assert.equal(gone.kind, 'not_found')
    assert.deepEqual(await readAll(db), before)
  })

  test('a reply to a thread that got a message meanwhile is composed again, unless told otherwise', async () => {
    const inboxId = await addInbox(db, owner)
    const first = arriving(owner, [inboxId], { key: 'root@x.example' })
    await db.write(storeReceived, first)
    const id = first.receipts[0]?.threadId ?? ''
    await db.write(storeReceived, arriving(owner, [inboxId], { parentKeys: ['root@x.example'] }))
    const reply = (messageCount: number | null) =>
      db.write(insertSend, sending(owner, inboxId, { thread: { kind: 'reply', id, messageCount } }))
    assert.equal((await reply(1)).kind, 'thread_changed')
    assert.equal((await reply(2)).kind, 'queued')
    assert.equal((await reply(null)).kind, 'queued')
    assert.equal((await threadOf(id)).message_count, 4)
  })

  test('concurrent sends and arrivals leave positions without gap or repeat and correct totals', async () => {
    const inboxId = await addInbox(db, owner)
    const root = arriving(owner, [inboxId], { key: 'both@x.example' })
    await db.write(storeReceived, root)
    const id = root.receipts[0]?.threadId ?? ''
    const thread = { kind: 'reply', id, messageCount: null } as const
    const parentKeys = ['both@x.example']
    const from = (index: number) => (index % 2 === 0 ? db : others)
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => [
        from(index).write(insertSend, sending(owner, inboxId, { thread })),
        from(index).write(insertSend, sending(owner, inboxId)),
        from(index).write(storeReceived, arriving(owner, [inboxId], { parentKeys })),
        from(index).write(storeReceived, arriving(owner, [inboxId])),
      ]).flat(),
    )
    const rows = await messagesOf(inboxId)
    const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
    assert.deepEqual(
      rows.map(({ arrival }) => arrival),
      upTo(81),
    )
    const inThread = rows.filter(({ thread_id }) => thread_id === id)
    assert.equal(inThread.length, 41)
    assert.equal((await threadOf(id)).message_count, 41)
    const { inbound_count, outbound_count, thread_count, unread_thread_count } =
      await counters(inboxId)
    const isUnread = (await threadOf(id)).is_read === 0
    assert.deepEqual(
      [inbound_count, outbound_count, thread_count, unread_thread_count],
      [41, 40, 41, isUnread ? 21 : 20],
    )
  })

  test('a key used at once in several inboxes makes one message in one of them', async () => {
    const inboxIds = await Promise.all(Array.from({ length: 10 }, () => addInbox(db, owner)))
    const before = await readAll(db)
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, index) => {
        const inboxId = inboxIds[index % inboxIds.length] ?? ''
        const send = sending(owner, inboxId, { key: 'inboxes', nowMs: NOW_MS })
        return (index % 3 === 0 ? db : others).write(insertSend, send)
      }),
    )
    assert.equal(outcomes.filter(({ kind }) => kind === 'queued').length, 1)
    assert.equal(outcomes.filter(({ kind }) => kind === 'replay').length, 99)
    const [first, ...rest] = outcomes.map((outcome) =>
      'answer' in outcome ? outcome.answer : null,
    )
    assert.ok(first)
    for (const answer of rest) assert.deepEqual(answer, first)
    const rows = await Promise.all(inboxIds.map(messagesOf))
    assert.equal(rows.flat().length, 1)
    const written = await readAll(db)
    for (const table of ['messages', 'threads', 'raw_messages', 'deliveries', 'inbox_sends']) {
      assert.equal(written[table]?.length, (before[table]?.length ?? 0) + 1, table)
    }
  })

  test('a send to an inbox that is deleted at the same moment leaves nothing behind', async () => {
    const inboxIds = await Promise.all(Array.from({ length: 10 }, () => addInbox(db, owner)))
    const kinds = await Promise.all(
      inboxIds.map(async (inboxId) => {
        const deletion = { ...owner, inboxId, nowMs: NOW_MS }
        const [outcome] = await Promise.all([
          db.write(insertSend, sending(owner, inboxId)),
          others.write(removeInbox, { ...deletion, actor: { kind: 'operator' } }),
        ])
        while (!(await db.write(purgeInboxStep, { nowMs: 0, inboxId })).isDone);
        assert.equal((await messagesOf(inboxId)).length, 0)
        return outcome.kind
      }),
    )
    for (const kind of kinds) assert.match(kind, /^(queued|not_found)$/)
    const left = await db.read
      .selectFrom('deliveries')
      .select('id')
      .where('inbox_id', 'in', inboxIds)
      .execute()
    assert.deepEqual(left, [])
  })
})
