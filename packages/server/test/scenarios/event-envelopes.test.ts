import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Event } from '@mailroom/contract/shapes/event.ts'
import { SHOWN_BODY_BYTES_MAX } from '@mailroom/contract/shapes/message.ts'
import type { EventFilter } from '#events/event.ts'
import { AppError } from '#platform/problem.ts'
import { type EventText, readEnvelopes } from '#streams/envelope.ts'
import { openEventPage } from '#streams/read-events.ts'
import { makeId } from '#test/conformance/open-database.ts'
import {
  accountIdOf,
  EVERYTHING,
  receive,
  receiveMany,
  untilReadable,
} from '#test/scenarios/event-world.ts'
import { send, settled } from '#test/scenarios/sending-world.ts'
import { onBothEngines, opened, openWorld, plainMail } from '#test/world.ts'

const TOLD = { deliveredAtMs: Date.UTC(2026, 10, 20, 9, 30), attempt: 3 }

onBothEngines('an event', (engine) => {
  const world = opened(() => openWorld(engine))

  async function read(
    filter: Partial<EventFilter>,
    fields: { after?: string; limit?: number } = {},
  ): Promise<{ events: EventText[]; total: number }> {
    await untilReadable(world)
    const { texts, total } = await openEventPage(world.app.deps, {
      accountId: accountIdOf(world),
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

  /** The only one of the inbox. */
  async function onlyEvent(filter: Partial<EventFilter>): Promise<EventText> {
    const { events } = await read(filter)
    const [text] = events
    assert.ok(text !== undefined && events.length === 1)
    return text
  }

  test('of arriving mail tells the message, with a link to each file that works', async () => {
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
    assert.equal(await (await fetch(file?.url ?? '')).text(), '1,2')
    assert.equal((await world.fetch(new URL(message.url).pathname)).status, 200)
  })

  test('reads the same as JSON and as a value, in the form that the contract gives', async () => {
    const inbox = await world.inbox()
    await receive(world, inbox, { subject: 'Quotes " and \u2028 and \ud800', text: '</script>' })
    await send(world, inbox, { to: inbox.address })
    for (const text of (await read({ inboxIds: [inbox.id] })).events) {
      const value = text.body(TOLD)
      assert.deepEqual(JSON.parse(text.render(TOLD)), value)
      assert.deepEqual(Object.keys(JSON.parse(text.render(TOLD))), Object.keys(value))
      const known = new Set(Object.keys(Event.properties))
      assert.deepEqual(
        Object.keys(value).filter((name) => !known.has(name)),
        [],
      )
      const again = { deliveredAtMs: TOLD.deliveredAtMs + 1, attempt: 4 }
      assert.deepEqual(JSON.parse(text.render(again)), text.body(again))
    }
  })

  test('of sent mail tells when it was sent, and why a server refused it', async () => {
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

  test('cuts a long body at a character, says so, and the message has the whole', async () => {
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

  test('is listed from a cursor on, with how many follow it', async () => {
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

  test('of a message that is gone is left out, and the others are told', async () => {
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
