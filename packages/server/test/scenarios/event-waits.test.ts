import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { SHOWN_BODY_BYTES_MAX } from '@mailroom/contract/shapes/message.ts'
import type { Inbox } from '@mailroom/sdk'
import { LOG_START } from '#events/event.ts'
import { listEvents } from '#events/event-rows.ts'
import { removeInbox } from '#inboxes/change-inbox-rows.ts'
import type { Message } from '#mailbox/message-rows.ts'
import { AppError } from '#platform/problem.ts'
import { readEnvelopes } from '#streams/envelope.ts'
import { CATCH_UPS_AT_ONCE, type EventListener } from '#streams/event-hub.ts'
import {
  WAIT_STEP_MESSAGES,
  WAITERS_MAX,
  type WaitInput,
  waitForMessage,
} from '#streams/wait-for-message.ts'
import { makeId } from '#test/conformance/open-database.ts'
import { watchListeners } from '#test/scenarios/event-listeners.ts'
import { accountIdOf, EVERYTHING, receive, untilReadable } from '#test/scenarios/event-world.ts'
import { send } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

/** Until an event can be read: on PostgreSQL older transactions, also those of other tests, have to end. */
const LIVE_MS = { sqlite: 2_000, postgres: 8_000 }

onEachEngine('waiting for a message', (engine) => {
  const world = opened(() => openWorld(engine))
  let inbox: Inbox
  let listeners: ReturnType<typeof watchListeners>
  before(async () => {
    listeners = watchListeners(world)
  })

  function wait(asked: Partial<WaitInput>): Promise<Message | null> {
    return waitForMessage(world.app.deps, {
      accountId: accountIdOf(world),
      inboxId: inbox.id,
      timeoutMs: 20_000,
      after: null,
      from: null,
      subject: null,
      threadId: null,
      direction: 'inbound',
      signal: new AbortController().signal,
      ...asked,
    })
  }

  /** A wait that has begun: what comes from here on counts. */
  async function begin(asked: Partial<WaitInput>): Promise<{ ended: Promise<Message | null> }> {
    const ended = wait(asked)
    await listeners.reach(1)
    return { ended }
  }

  /** Nothing that is there already matches. */
  const nothing = async (asked: Partial<WaitInput>) =>
    assert.equal(await wait({ ...asked, timeoutMs: 100 }), null)

  const isProblem = (code: string, path?: string) => (error: unknown) =>
    error instanceof AppError && error.code === code && error.options.details?.[0]?.path === path

  test('ends with what arrived by SMTP, whole, however long it is', async () => {
    inbox = await world.inbox()
    const { ended } = await begin({})
    const body = `${'word '.repeat(SHOWN_BODY_BYTES_MAX / 5 + 100)}end`
    await world.send({
      to: inbox.address,
      raw: plainMail({ to: inbox.address, body: body.replace(/(.{70} )/g, '$1\r\n') }),
    })
    const message = await ended
    assert.ok((message?.bodyText.length ?? 0) > SHOWN_BODY_BYTES_MAX)
    assert.ok(message?.bodyText.trimEnd().endsWith('end'))
  })

  test('finds the one behind many that do not match', async () => {
    inbox = await world.inbox()
    const first = await receive(world, inbox)
    for (let done = 0; done < WAIT_STEP_MESSAGES; done += 50) {
      await Promise.all(Array.from({ length: 50 }, () => receive(world, inbox)))
    }
    const { messageId } = await receive(world, inbox, { subject: 'the one' })
    assert.equal((await wait({ after: first.messageId, subject: 'the one' }))?.id, messageId)
    assert.equal((await wait({ after: first.eventId, subject: 'the one' }))?.id, messageId)
  })

  test('goes by sender, subject and thread, in any case of letters', async () => {
    inbox = await world.inbox()
    const { ended } = await begin({ from: 'ÄNN@', subject: 'Straßen' })
    await receive(world, inbox, { from: 'Änn <änn@x.example>', subject: 'other' })
    await receive(world, inbox, { from: 'bob@x.example', subject: 'STRAßEN' })
    const match = await receive(world, inbox, {
      from: 'Änn <änn@x.example>',
      subject: 'alte straßen',
    })
    assert.equal((await ended)?.id, match.messageId)
    await nothing({ after: match.messageId, threadId: match.threadId })
    const next = await receive(world, inbox)
    const found = await wait({ after: match.messageId, threadId: next.threadId })
    assert.equal(found?.id, next.messageId)
  })

  test('goes on from an event of another inbox, and not from a message of one', async () => {
    inbox = await world.inbox()
    const elsewhere = await receive(world, await world.inbox())
    const { messageId } = await receive(world, inbox)
    assert.equal((await wait({ after: elsewhere.eventId }))?.id, messageId)
    const stranger = await world.newAccount()
    const theirs = await stranger.client.inboxes.create({})
    const foreign = await receive(world, theirs, { accountId: stranger.id })
    for (const after of [elsewhere.messageId, foreign.messageId, makeId('msg'), 'evt', '\0']) {
      await assert.rejects(wait({ after }), isProblem('bad_request', 'after'))
    }
  })

  test('is told nothing of other inboxes', async () => {
    inbox = await world.inbox()
    const other = await world.inbox()
    const { ended } = await begin({})
    await receive(world, other)
    const { messageId } = await receive(world, inbox)
    assert.equal((await ended)?.id, messageId)
  })

  test('for outbound mail ends when the outcome of a message is known', async () => {
    inbox = await world.inbox()
    const { eventId } = await receive(world, inbox)
    const earlier = await sendSelf('sent before')
    const before = await wait({ direction: 'outbound', after: eventId })
    assert.equal(before?.id, earlier)
    assert.equal(before?.status, 'sent')
    await nothing({ direction: 'outbound' })
    const { ended } = await begin({ direction: 'outbound' })
    const now = await sendSelf('sent now')
    assert.equal((await ended)?.id, now)
    const received = await receive(world, inbox)
    const last = await sendSelf('sent last')
    const behind = { direction: 'outbound', after: received.messageId } as const
    assert.equal((await wait(behind))?.id, last)
    assert.equal((await wait({ direction: 'outbound', after: eventId, subject: 'now' }))?.id, now)
  })

  test('for outbound mail counts what becomes of the message that it goes on from', async () => {
    inbox = await world.inbox()
    const sent = await sendSelf('mine')
    const asked = { direction: 'outbound', after: sent } as const
    assert.equal((await wait(asked))?.id, sent)
    assert.equal((await wait(asked))?.status, 'sent', 'known or not')
    await nothing({ ...asked, subject: 'theirs' })
  })

  async function sendSelf(subject: string): Promise<string> {
    return (await send(world, inbox, { to: inbox.address, subject })).messageId
  }

  test('goes on from an event id that the log does not hold, at its time', async () => {
    inbox = await world.inbox()
    const { messageId } = await receive(world, inbox)
    const found = await wait({ after: 'evt_01h455vb4pex5vsknk084sn02q' })
    assert.equal(found?.id, messageId)
  })

  test('ends at its limit, or when the caller goes, also while what is there is looked through', async () => {
    inbox = await world.inbox()
    const { eventId, messageId } = await receive(world, inbox)
    const { events } = world.app.deps
    const held = Promise.withResolvers<void>()
    const turns = Array.from({ length: CATCH_UPS_AT_ONCE }, () =>
      events.catchUp('acc_other', () => held.promise),
    )
    const gone = new AbortController()
    const waits = [
      wait({ after: eventId, timeoutMs: 50 }),
      wait({ after: messageId, timeoutMs: 50 }),
      wait({ after: eventId, signal: gone.signal }),
    ]
    gone.abort()
    assert.deepEqual(await Promise.all(waits), [null, null, null])
    const { ended } = await begin({ after: eventId, timeoutMs: LIVE_MS[engine] })
    const live = await receive(world, inbox)
    assert.equal((await ended)?.id, live.messageId, 'what came meanwhile is given at the limit')
    held.resolve()
    await Promise.all(turns)
  })

  test('goes on when a long message that it was told of is gone before it is read', async () => {
    inbox = await world.inbox()
    const { db, events } = world.app.deps
    let listener: EventListener | undefined
    const hub = Object.assign(Object.create(events), {
      catchUp: <Value>(_: string, read: () => Promise<Value>) => read(),
      async listen(_: string, given: EventListener) {
        listener = given
        return { position: LOG_START, stop: () => {} }
      },
    })
    const signal = new AbortController().signal
    const any = { after: null, from: null, subject: null, threadId: null, timeoutMs: 20_000 }
    const asked = { accountId: accountIdOf(world), inboxId: inbox.id, signal, ...any }
    const ended = waitForMessage({ db, events: hub }, { ...asked, direction: 'inbound' })
    while (listener === undefined) await new Promise(setImmediate)
    const written = [await receive(world, inbox), await receive(world, inbox)]
    await untilReadable(world)
    const found = await listEvents(db, {
      accountId: accountIdOf(world),
      after: LOG_START,
      filter: { ...EVERYTHING, inboxIds: [inbox.id] },
      limit: 2,
    })
    const texts = await readEnvelopes(world.app.deps, found)
    const { message, event } = texts[0] ?? {}
    assert.ok(message && event)
    const missing = { ...message, id: makeId('msg') }
    const [, second] = texts
    assert.ok(second)
    // Both behind what was there at the beginning.
    listener.notify({ ...second, event, message: missing, isTruncated: true })
    listener.notify(second)
    const first = (await ended)?.id
    assert.ok(written.some(({ messageId }) => messageId === first))
  })

  test('is refused when its inbox is deleted meanwhile', async () => {
    inbox = await world.inbox()
    const startMs = performance.now()
    const { ended } = await begin({})
    await Promise.all([
      assert.rejects(ended, isProblem('not_found')),
      world.client.inboxes.delete(inbox.id),
    ])
    assert.ok(performance.now() - startMs < 15_000)
    const other = await world.inbox()
    inbox = other
    const late = await begin({ timeoutMs: 3_000 })
    // As another process does it, which cannot tell this one.
    await Promise.all([
      assert.rejects(late.ended, isProblem('not_found')),
      world.app.deps.db.write(removeInbox, {
        accountId: accountIdOf(world),
        inboxId: other.id,
        jobId: makeId('job'),
        nowMs: Date.now(),
      }),
    ])
  })

  test('is refused when too many wait, and not when they have gone', async (context) => {
    // The bound is of the process and the same on both.
    if (engine === 'postgres') return context.skip('ten thousand questions at once to PostgreSQL')
    inbox = await world.inbox()
    const gone = Array.from({ length: WAITERS_MAX }, () => new AbortController())
    const waits = gone.map(({ signal }) => wait({ signal }))
    await assert.rejects(wait({}), isProblem('service_unavailable'))
    for (const one of gone) one.abort()
    assert.deepEqual(new Set(await Promise.all(waits)), new Set([null]))
    await nothing({})
  })
})
