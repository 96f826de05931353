import assert from 'node:assert/strict'
import { before, type TestContext, test } from 'node:test'
import { SHOWN_BODY_BYTES_MAX } from '@mailroom/contract/messages.ts'
import type { Inbox } from '@mailroom/sdk'
import { LOG_START } from '#events/model.ts'
import { listEvents } from '#events/store/events.ts'
import { removeInbox } from '#inboxes/store/change-inboxes.ts'
import type { Message } from '#mailbox/messages/store/messages.ts'
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
import { EVERYTHING, receive, untilReadable } from '#test/scenarios/event-world.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { send } from '#test/scenarios/sending-world.ts'
import { changePart, onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

/** No other timer of the service has this length. */
const HELD_MS = 123_456

onEachEngine('waiting for a message', (engine) => {
  const world = opened(() => openTenant(engine))
  let inbox: Inbox
  let listeners: ReturnType<typeof watchListeners>
  before(async () => {
    listeners = watchListeners(world)
  })

  function wait(asked: Partial<WaitInput>): Promise<Message | null> {
    return waitForMessage(world.app.deps, {
      accountId: world.accountId,
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

  /** A wait that has begun: later mail counts. */
  async function begin(asked: Partial<WaitInput>): Promise<{ ended: Promise<Message | null> }> {
    const ended = wait(asked)
    await listeners.reach(1)
    return { ended }
  }

  /** A wait that has begun, whose limit is reached when the test says so. */
  async function beginHeld(
    context: TestContext,
    asked: Partial<WaitInput>,
  ): Promise<{ ended: Promise<Message | null>; reachLimit(): void }> {
    const start = globalThis.setTimeout
    const limits: (() => void)[] = []
    const hold = (run: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) => {
      if (ms !== HELD_MS) return start(run, ms, ...given)
      limits.push(() => run(...given))
      return start(() => {}, 0)
    }
    const { mock } = context.mock.method(globalThis, 'setTimeout', hold)
    const { ended } = await begin({ ...asked, timeoutMs: HELD_MS })
    mock.restore()
    const [reachLimit] = limits
    assert.ok(reachLimit !== undefined && limits.length === 1)
    return { ended, reachLimit }
  }

  /** Resolves when listeners that begin from now on are notified of the next event. */
  function nextNotice(context: TestContext): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const restore = changePart(world.app.deps.events, (own) => ({
      listen: (accountId, listener) =>
        own.listen(accountId, {
          ...listener,
          notify(text) {
            listener.notify(text)
            resolve()
          },
        }),
    }))
    context.after(restore)
    return promise
  }

  /** No existing message matches. */
  const nothing = async (asked: Partial<WaitInput>) =>
    assert.equal(await wait({ ...asked, timeoutMs: 100 }), null)

  const isProblem = (code: string, path?: string) => (error: unknown) =>
    error instanceof AppError && error.code === code && error.options.details?.[0]?.path === path

  test('ends with the complete message that arrived by SMTP, however long', async () => {
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

  test('finds a match after many that do not match', async () => {
    inbox = await world.inbox()
    const first = await receive(world, inbox)
    for (let done = 0; done < WAIT_STEP_MESSAGES; done += 50) {
      await Promise.all(Array.from({ length: 50 }, () => receive(world, inbox)))
    }
    const { messageId } = await receive(world, inbox, { subject: 'the one' })
    assert.equal((await wait({ after: first.messageId, subject: 'the one' }))?.id, messageId)
    assert.equal((await wait({ after: first.eventId, subject: 'the one' }))?.id, messageId)
  })

  test('filters by sender, subject and thread, ignoring case', async () => {
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

  test('continues from an event of another inbox, and not from a message of one', async () => {
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
    await assert.rejects(wait({ after: 'evt' }), /: The query parameter "after" is neither /)
  })

  test('ignores messages of other inboxes', async () => {
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

  test('for outbound mail includes later outcomes of the message that it starts from', async () => {
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

  test('continues from the time of an event id that the log does not hold', async () => {
    inbox = await world.inbox()
    const { messageId } = await receive(world, inbox)
    const found = await wait({ after: 'evt_01h455vb4pex5vsknk084sn02q' })
    assert.equal(found?.id, messageId)
  })

  test('ends at its limit, or when the caller leaves, even while it reads the log', async (context) => {
    inbox = await world.inbox()
    const first = await receive(world, inbox)
    const { events } = world.app.deps
    const held = Promise.withResolvers<void>()
    const turns = Array.from({ length: CATCH_UPS_AT_ONCE }, () =>
      events.catchUp('acc_other', () => held.promise),
    )
    const noticed = nextNotice(context)
    const { ended, reachLimit } = await beginHeld(context, { after: first.eventId })
    // Its first query is over: it does not find the next message, and the second one waits.
    await until(async () => events.waiting > 0)
    const { eventId, messageId } = await receive(world, inbox)
    await noticed
    reachLimit()
    assert.equal((await ended)?.id, messageId, 'what came meanwhile is given at the limit')
    const gone = new AbortController()
    const waits = [
      wait({ after: eventId, timeoutMs: 50 }),
      wait({ after: messageId, timeoutMs: 50 }),
      wait({ after: eventId, signal: gone.signal }),
    ]
    gone.abort()
    assert.deepEqual(await Promise.all(waits), [null, null, null])
    held.resolve()
    await Promise.all(turns)
  })

  test('continues when a long message that it found is deleted before it is read', async () => {
    inbox = await world.inbox()
    const { db, events } = world.app.deps
    let listener: EventListener | undefined
    const hub = Object.assign(Object.create(events), {
      catchUp: <Value>(_: string, read: () => Promise<Value>) => read(),
      async listen(_: string, given: EventListener) {
        listener = given
        return { offset: LOG_START, stop: () => {} }
      },
    })
    const signal = new AbortController().signal
    const any = { after: null, from: null, subject: null, threadId: null, timeoutMs: 20_000 }
    const asked = { accountId: world.accountId, inboxId: inbox.id, signal, ...any }
    const ended = waitForMessage({ db, events: hub }, { ...asked, direction: 'inbound' })
    while (listener === undefined) await new Promise(setImmediate)
    const written = [await receive(world, inbox), await receive(world, inbox)]
    await untilReadable(world)
    const found = await listEvents(db, {
      accountId: world.accountId,
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
    // Both after the messages that existed at the beginning.
    listener.notify({ ...second, event, message: missing, isTruncated: true })
    listener.notify(second)
    const first = (await ended)?.id
    assert.ok(written.some(({ messageId }) => messageId === first))
  })

  test('is refused when its inbox is deleted during the wait', async (context) => {
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
    const late = await beginHeld(context, {})
    const refused = assert.rejects(late.ended, isProblem('not_found'))
    // As if another process deletes it, which sends no signal here.
    await world.app.deps.db.write(removeInbox, {
      actor: { kind: 'operator' },
      accountId: world.accountId,
      inboxId: other.id,
      nowMs: Date.now(),
    })
    late.reachLimit()
    await refused
  })

  test('is refused when too many wait, and accepted after they leave', async (context) => {
    // The limit is of the process and the same on both databases.
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
