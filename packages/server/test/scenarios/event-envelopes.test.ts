import assert from 'node:assert/strict'
import { test } from 'node:test'
import { events } from '@mailroom/contract/events.ts'
import { SHOWN_BODY_BYTES_MAX } from '@mailroom/contract/messages.ts'
import type { EventFilter } from '#events/model.ts'
import { findEvent } from '#events/store/events.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import { AppError } from '#platform/problem.ts'
import { purgeInboxStep } from '#removal/store/purge.ts'
import { type EventText, readEnvelopes } from '#streams/envelope.ts'
import { openEventPage } from '#streams/read-events.ts'
import { makeId } from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import {
  EVERYTHING,
  openReader,
  receive,
  receiveMany,
  untilReadable,
} from '#test/scenarios/event-world.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { send, settled } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

const TOLD = { deliveredAtMs: Date.UTC(2026, 10, 20, 9, 30), attempt: 3 }

onEachEngine('an event', (engine) => {
  const world = opened(() => openWorld(engine))

  async function read(
    filter: Partial<EventFilter>,
    fields: { after?: string; limit?: number } = {},
  ): Promise<{ events: EventText[]; total: number }> {
    await untilReadable(world)
    const { texts, total } = await openEventPage(world.app.deps, {
      accountId: world.accountId,
      filter: { ...EVERYTHING, ...filter },
      after: fields.after ?? null,
      order: 'asc',
      limit: fields.limit ?? 100,
      signal: new AbortController().signal,
    })
    const events: EventText[] = []
    for await (const text of texts) events.push(text)
    return { events, total }
  }

  /** The only event of the inbox. */
  async function onlyEvent(filter: Partial<EventFilter>): Promise<EventText> {
    const { events } = await read(filter)
    const [text] = events
    assert.ok(text !== undefined && events.length === 1)
    return text
  }

  test('of arriving mail holds the message, with a working link to each file', async () => {
    const inbox = await world.inbox()
    const boundary = 'BOUNDARY'
    const raw = plainMail({
      to: inbox.address,
      subject: 'With a file',
      messageId: '<one@sender.example>',
      headers: ['MIME-Version: 1.0', `Content-Type: multipart/mixed; boundary=${boundary}`],
      body: [
        `--${boundary}`,
        'Content-Type: text/plain',
        '',
        'Hello.',
        `--${boundary}`,
        'Content-Type: text/csv; name="a b.csv"',
        'Content-Disposition: attachment; filename="a b.csv"',
        '',
        '1,2',
        `--${boundary}--`,
      ].join('\r\n'),
    })
    await world.send({ to: inbox.address, raw })
    const text = await onlyEvent({ inboxIds: [inbox.id] })
    const event = text.body(TOLD)
    const { message } = event
    assert.ok(message !== undefined)
    assert.equal(event.event, 'message.received')
    assert.equal(event.attempt, 3)
    assert.equal(event.delivered_at, '2026-11-20T09:30:00.000Z')
    assert.equal(event.inbox_id, inbox.id)
    assert.equal(event.pod_id, inbox.podId)
    const [listed] = (await world.client.messages.list(inbox.id).page()).data
    assert.equal(event.thread_id, listed?.threadId)
    assert.equal(message.id, listed?.id)
    assert.equal(message.received_at, listed?.createdAt)
    assert.equal(message.sent_at, undefined)
    assert.equal(message.rfc_message_id, '<one@sender.example>')
    assert.equal(message.from, 'Ann Sender <ann@sender.example>')
    assert.equal(message.to, inbox.address)
    assert.equal(message.body_text.trim(), 'Hello.')
    assert.equal(message.truncated, false)
    const [file] = message.attachments
    assert.deepEqual([file?.filename, file?.sizeBytes], ['a b.csv', 3])
    assert.deepEqual([file?.contentId, file?.isInline], [null, false])
    assert.equal(await (await fetch(file?.url ?? '')).text(), '1,2')
    assert.equal((await world.fetch(new URL(message.url).pathname)).status, 200)
  })

  test('is the same as JSON and as a value, in the form of the contract', async () => {
    const inbox = await world.inbox()
    await receive(world, inbox, { subject: 'Quotes " and \u2028 and \ud800', text: '</script>' })
    await send(world, inbox, { to: inbox.address })
    for (const text of (await read({ inboxIds: [inbox.id] })).events) {
      const value = text.body(TOLD)
      assert.deepEqual(JSON.parse(text.render(TOLD)), value)
      assert.deepEqual(Object.keys(JSON.parse(text.render(TOLD))), Object.keys(value))
      const { MessageReceivedEvent, MessageSentEvent } = events
      const { properties } =
        value.event === 'message.received' ? MessageReceivedEvent : MessageSentEvent
      assert.deepEqual(Object.keys(value).sort(), Object.keys(properties).sort())
      const again = { deliveredAtMs: TOLD.deliveredAtMs + 1, attempt: 4 }
      assert.deepEqual(JSON.parse(text.render(again)), text.body(again))
    }
  })

  test('of sent mail states when it was sent, and why a server refused it', async () => {
    const inbox = await world.inbox()
    const sent = await settled(world, await send(world, inbox, { to: 'bob@friend.example' }))
    const event = (await onlyEvent({ inboxIds: [inbox.id] })).body(TOLD)
    assert.equal(event.event, 'message.sent')
    assert.equal(event.message?.id, sent.id)
    assert.equal(event.message?.direction, 'outbound')
    assert.equal(event.message?.sent_at, sent.createdAt)
    assert.equal(event.message?.received_at, undefined)
    assert.equal(event.message?.authentication, null)
  })

  test('of a complaint names the recipient', async () => {
    const inbox = await world.inbox()
    await settled(world, await send(world, inbox, { to: 'complain@any.example' }))
    const event = (await onlyEvent({ inboxIds: [inbox.id], kinds: ['message.complained'] })).body(
      TOLD,
    )
    assert.equal(event.recipient, 'complain@any.example')
  })

  test('cuts a long body at a character and says so, and the message holds the whole', async () => {
    const inbox = await world.inbox()
    const text = `a${'€'.repeat(SHOWN_BODY_BYTES_MAX / 3 + 10)}`
    await world.send({
      to: inbox.address,
      raw: plainMail({
        to: inbox.address,
        headers: ['MIME-Version: 1.0', 'Content-Type: text/plain; charset=utf-8'],
        body: text.replace(/(.{200})/g, '$1\r\n'),
      }),
    })
    const { event: logged } = await onlyEvent({ inboxIds: [inbox.id] })
    const [event] = await readEnvelopes(world.app.deps, [logged])
    const message = event?.body(TOLD).message
    assert.equal(message?.truncated, true)
    assert.equal(event?.isTruncated, true)
    const told = message?.body_text ?? ''
    const bytes = Buffer.byteLength(told)
    assert.ok(bytes <= SHOWN_BODY_BYTES_MAX && bytes > SHOWN_BODY_BYTES_MAX - 3, String(bytes))
    const whole = await world.client.messages.get(message?.id ?? '')
    assert.ok(whole.bodyText.startsWith(told) && whole.bodyText.length > told.length)
  })

  test('is listed after a cursor, with the number of events that follow it', async () => {
    const inbox = await world.inbox()
    const ids = await receiveMany(world, inbox, 5)
    const only = { inboxIds: [inbox.id] }
    const first = await read(only, { limit: 2 })
    assert.deepEqual(idsOf(first.events), ids.slice(0, 2))
    assert.equal(first.total, 5)
    const rest = await read(only, { after: ids[1] ?? '' })
    assert.deepEqual(idsOf(rest.events), ids.slice(2))
    assert.equal(rest.total, 3)
    const none = await read({ inboxIds: [makeId('inb')] })
    assert.deepEqual(none, { events: [], total: 0 })
    const { messageId } = await receive(world, inbox)
    for (const after of [messageId, 'rubbish', '\0']) {
      await assert.rejects(
        read({}, { after }),
        (error) => error instanceof AppError && error.options.details?.[0]?.path === 'after',
      )
    }
  })

  test('of a deleted message is left out, and the others are listed', async () => {
    const [gone, kept] = [await world.inbox(), await world.inbox()]
    const written = [await receive(world, gone), await receive(world, kept)]
    const { deps } = world.app
    const { events } = await read({ inboxIds: [gone.id, kept.id] })
    assert.equal(events.length, 2)
    await world.client.inboxes.delete(gone.id)
    const texts = await readEnvelopes(
      deps,
      events.map(({ event }) => event),
    )
    assert.deepEqual(idsOf(texts), [written[1]?.eventId])
  })
})

function idsOf(texts: readonly EventText[]): string[] {
  return texts.map(({ event }) => event.id)
}

onEachEngine('events of an inbox that is deleted', (engine) => {
  const world = opened(() => openWorld(engine))

  type Listed = { data: { event_id: string }[]; total: number }
  async function list(query: string): Promise<Listed> {
    const response = await world.fetch(`/v1/events?${query}`)
    assert.equal(response.status, 200, query)
    return (await response.json()) as Listed
  }
  const idsIn = ({ data }: Listed) => data.map(({ event_id: id }) => id)

  test('are no longer delivered, and readers continue after them', async () => {
    const [gone, kept] = [await world.inbox(), await world.inbox()]
    const start = await receive(world, kept)
    const erased = await receiveMany(world, gone, 3)
    const [last = ''] = erased.slice(-1)
    const rest = await receiveMany(world, kept, 2)
    await untilReadable(world)
    const { db } = world.app.deps
    await world.client.inboxes.delete(gone.id)
    await until(
      async () => (await runSql(world, "select key from jobs where kind = 'purge'")).length === 0,
    )
    for (const after of [...erased, start.eventId]) {
      assert.deepEqual(idsIn(await list(`after=${after}`)), rest)
      const isKept = (await findEvent(db, world.accountId, after)) !== null
      assert.equal(isKept, after === start.eventId)
    }
    const told: string[] = []
    for await (const event of world.client.events.list({ after: last })) told.push(event.event_id)
    assert.deepEqual(told, rest)
    const reader = openReader(world)
    assert.equal(await reader.subscribe({}, last), 'subscribed')
    await reader.until(2)
    assert.deepEqual(reader.told, rest)
    reader.stream.close()
    const { message } = (await (
      await world.fetch(`/v1/inboxes/${kept.id}/wait?after=${last}&timeout=1`)
    ).json()) as { message: { id: string } | null }
    assert.ok(message !== null)
    const rows = await runSql(world, `select * from events where kind = 'erased'`)
    const left = rows.map(({ id, pod_id, inbox_id, thread_id, message_id, details }) => [
      id,
      [pod_id, inbox_id, thread_id, message_id, details].every((value) => value === null),
    ])
    assert.deepEqual(left.sort(), erased.map((id) => [id, true]).sort())
  })

  test('leave no gap in a page during the deletion', async () => {
    const [gone, kept] = [await world.inbox(), await world.inbox()]
    const start = await receive(world, kept)
    const first = await receiveMany(world, gone, 30)
    const rest = await receiveMany(world, kept, 15)
    await untilReadable(world)
    // As if its mail were deleted and its events were not.
    await runSql(world, `delete from messages where inbox_id = '${gone.id}'`)
    for (const filter of ['', `&event_types=message.received`]) {
      const page = await list(`after=${start.eventId}&limit=10${filter}`)
      assert.deepEqual(idsIn(page), rest.slice(0, 10))
      assert.equal(page.total, first.length + rest.length)
      const end = await list(`after=${rest[9]}&limit=10${filter}`)
      assert.deepEqual([idsIn(end), end.total], [rest.slice(10), 5])
      const none = await list(`after=${rest.at(-1)}&limit=10${filter}`)
      assert.deepEqual(none, { data: [], total: 0 })
    }
  })

  test('are erased before their mail is deleted', async () => {
    const inbox = await world.inbox()
    await receiveMany(world, inbox, 3)
    const { db } = world.app.deps
    await db.write(removeInbox, {
      actor: { kind: 'operator' },
      accountId: world.accountId,
      inboxId: inbox.id,
      nowMs: Date.now(),
    })
    const count = async (table: string) =>
      (await runSql(world, `select id from ${table} where inbox_id = '${inbox.id}'`)).length
    assert.deepEqual(await db.write(purgeInboxStep, { nowMs: 0, inboxId: inbox.id }), {
      isDone: false,
      blobIds: [],
    })
    assert.deepEqual([await count('events'), await count('messages')], [0, 3])
    while (!(await db.write(purgeInboxStep, { nowMs: 0, inboxId: inbox.id })).isDone);
    assert.equal(await count('messages'), 0)
  })
})
