import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { Inbox, Mailroom } from '@mailroom/sdk'
import { countMessages, deliver } from '#test/scenarios/deliver.ts'
import { countOutcomes, refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import { send } from '#test/scenarios/sending-world.ts'
import {
  moveAwayFromMidnight,
  onEachEngine,
  opened,
  openTenant,
  openWorld,
  plainMail,
  type World,
} from '#test/world.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const PER_DAY = {
  sqlite: sizeOf('TEST_MAILROOM_SENDS_PER_DAY', { quick: 40, usual: 200 }),
  postgres: 40,
}

onEachEngine('the limits of an inbox', (engine) => {
  let world: World
  before(async () => {
    // One test of the documented number is enough.
    const perDay = String(PER_DAY[engine])
    world = await openWorld(engine, {
      env: { MAILROOM_LIMIT_SENDS_PER_MINUTE: '', MAILROOM_LIMIT_SENDS_PER_DAY: perDay },
    })
  })
  after(() => world.close())

  /** The wait that the refusal asks for, in seconds; null when the message was accepted. */
  async function wait(inbox: Inbox): Promise<number | null> {
    const sending = send(world, inbox)
    try {
      await sending
      return null
    } catch {
      const refused = await refusalOf(sending)
      assert.deepEqual([refused.status, refused.code], [429, 'rate_limit_exceeded'])
      assert.ok(refused.retryAfterSeconds !== null)
      return refused.retryAfterSeconds
    }
  }

  test('are ten messages in any minute, and the refusal says when to retry', async () => {
    const inbox = await world.inbox()
    const earliestMs = world.clock.now()
    assert.equal(await wait(inbox), null)
    const latestMs = world.clock.now()
    for (let sent = 1; sent < 10; sent++) {
      world.clock.advance(4_000)
      assert.equal(await wait(inbox), null)
    }
    const askedMs = world.clock.now()
    const seconds = (await wait(inbox)) ?? 0
    const least = (earliestMs + MINUTE_MS - world.clock.now()) / 1_000
    const most = Math.ceil((latestMs + MINUTE_MS - askedMs) / 1_000)
    assert.ok(seconds >= least && seconds <= most, `${seconds} of ${least} to ${most}`)
    // Twenty seconds are the margin for a busy machine.
    world.clock.advance((seconds - 20) * 1_000)
    const early = await wait(inbox)
    assert.ok(early !== null && early >= 1 && early <= 20, `${early}`)
    world.clock.advance(early * 1_000)
    assert.equal(await wait(inbox), null)
    assert.ok(((await wait(inbox)) ?? 0) <= 20)
    assert.equal(await countMessages(world, inbox), 11)
  })

  test('hold for any minute: a send succeeds after the wait of its refusal, and not before', async () => {
    const inbox = await world.inbox()
    const takenMs: number[] = []
    for (let step = 0; step < 30; step++) {
      world.clock.advance(((step * 7_919) % 13) * 1_000)
      const seconds = await wait(inbox)
      if (seconds !== null) {
        assert.ok(seconds >= 1 && seconds <= 60)
        if (step % 3 !== 0) continue
        world.clock.advance(seconds * 1_000)
        assert.equal(await wait(inbox), null)
      }
    }
    const { data } = await world.client.messages.list(inbox.id, { limit: 100 }).page()
    takenMs.push(...data.map(({ createdAt }) => Date.parse(createdAt)).reverse())
    assert.ok(takenMs.length > 20)
    for (const [index, timeMs] of takenMs.entries()) {
      const tenth = takenMs[index - 10]
      assert.ok(
        tenth === undefined || timeMs - tenth >= MINUTE_MS,
        `${index}: ${timeMs - (tenth ?? 0)}`,
      )
    }
  })

  test('allow exactly ten of fifty concurrent sends, and do not affect another inbox', async () => {
    const inbox = await world.inbox()
    const other = await world.inbox()
    const requests = Array.from({ length: 50 }, () => send(world, inbox))
    assert.deepEqual(await countOutcomes(requests), { done: 10, '429 rate_limit_exceeded': 40 })
    assert.equal(await countMessages(world, inbox), 10)
    assert.equal(await wait(other), null)
  })

  test('do not refuse a repeat of the send that took the last place, even at the same time', async () => {
    const inbox = await world.inbox()
    for (let sent = 0; sent < 9; sent++) assert.equal(await wait(inbox), null)
    const key = `the tenth of ${inbox.id}`
    const repeats = Array.from({ length: 20 }, () => send(world, inbox, {}, key))
    const ids = (await Promise.all(repeats)).map(({ messageId }) => messageId)
    assert.equal(new Set(ids).size, 1)
    assert.ok((await wait(inbox)) !== null)
    assert.equal((await send(world, inbox, {}, key)).messageId, ids[0])
  })

  test('are shown as they refuse: what remains can be sent, and the next send is refused', async () => {
    const inbox = await world.inbox()
    const read = () => world.client.inboxes.limits(inbox.id)
    const unused = { used: 0, resetsAt: null }
    const fresh = await read()
    assert.deepEqual(fresh.sendsPerMinute, { limit: 10, remaining: 10, ...unused })
    const perDay = { limit: PER_DAY[engine], remaining: PER_DAY[engine], ...unused }
    assert.deepEqual(fresh.sendsPerDay, perDay)
    for (let step = 0; step < 25; step++) {
      const { sendsPerMinute: shown } = await read()
      assert.equal((shown.used ?? 0) + (shown.remaining ?? 0), 10)
      const isRefused = (await wait(inbox)) !== null
      assert.equal(isRefused, shown.remaining === 0, `step ${step}`)
      world.clock.advance(((step * 7_919) % 9) * 1_000)
    }
    while ((await read()).sendsPerMinute.remaining !== 0) await send(world, inbox)
    const [{ sendsPerMinute }, { body }] = [await read(), await refusalOf(send(world, inbox))]
    const { scope, limit, resetsAt } = body
    assert.deepEqual([scope, limit, resetsAt], ['inbox', 10, sendsPerMinute.resetsAt])
    world.clock.advance(Date.parse(String(resetsAt)) - world.clock.now())
    assert.ok(((await read()).sendsPerMinute.remaining ?? 0) > 0)
    await send(world, inbox)
  })

  test('are not reduced by refused or repeated sends', async () => {
    const inbox = await world.inbox()
    await world.client.suppressions.create({ address: 'never@friend.example' })
    const refused = [
      { body: '' },
      { to: 'nobody' },
      { threadId: 'thr_nothing' },
      { to: 'never@friend.example' },
    ]
    for (let round = 0; round < 2; round++) {
      await Promise.all(refused.map((fields) => refusal(send(world, inbox, fields))))
    }
    for (let repeat = 0; repeat < 3; repeat++) await send(world, inbox, {}, `one ${inbox.id}`)
    for (let sent = 1; sent < 10; sent++) assert.equal(await wait(inbox), null)
    for (let more = 0; more < 5; more++) assert.ok(((await wait(inbox)) ?? 0) > 20)
    world.clock.advance(MINUTE_MS)
    for (let sent = 0; sent < 10; sent++) assert.equal(await wait(inbox), null)
    assert.ok((await wait(inbox)) !== null)
  })

  test(`are ${PER_DAY[engine]} messages in any day, however slowly they are sent`, async () => {
    const inbox = await world.inbox()
    const startMs = world.clock.now()
    const minutes = PER_DAY[engine] / 10
    let firstEndMs = 0
    for (let minute = 0; minute < minutes; minute++) {
      const requests = Array.from({ length: 10 }, () => send(world, inbox))
      assert.deepEqual(await countOutcomes(requests), { done: 10 })
      if (minute === 0) firstEndMs = world.clock.now()
      world.clock.advance(MINUTE_MS)
    }
    const requests = Array.from({ length: 12 }, () => send(world, inbox))
    assert.deepEqual(await countOutcomes(requests), { '429 rate_limit_exceeded': 12 })
    const seconds = (await wait(inbox)) ?? 0
    const expected = (startMs + DAY_MS - world.clock.now()) / 1_000
    assert.ok(seconds >= expected - 1 && seconds <= expected + 60, `${seconds} and ${expected}`)
    // However long the requests took, a day has not ended, and then it has for the messages of the first minute only.
    world.clock.advance(startMs + DAY_MS - MINUTE_MS - world.clock.now())
    assert.ok((await wait(inbox)) !== null)
    world.clock.advance(firstEndMs + DAY_MS + 1_000 - world.clock.now())
    const next = Array.from({ length: 12 }, () => send(world, inbox))
    assert.deepEqual(await countOutcomes(next), { done: 10, '429 rate_limit_exceeded': 2 })
    assert.equal(await countMessages(world, inbox), PER_DAY[engine] + 10)
  })

  test('hold after the wall clock is set back, without a lasting lock', async () => {
    const inbox = await world.inbox()
    for (let sent = 0; sent < 10; sent++) assert.equal(await wait(inbox), null)
    world.clock.step(-3 * DAY_MS)
    const { done = 0 } = await countOutcomes(Array.from({ length: 15 }, () => send(world, inbox)))
    assert.ok(done <= 10)
    world.clock.step(3 * DAY_MS)
    world.clock.advance(2 * MINUTE_MS)
    assert.equal(await wait(inbox), null)
  })
})

const TOO_COLD = '429 cold_outreach_limit'

let names = 0
const stranger = () => `stranger${++names}@friend.example`
const strangers = (count: number) => {
  const [to = '', ...cc] = Array.from({ length: count }, stranger)
  return { to, cc }
}

onEachEngine('limits on strangers', (engine) => {
  const env = { MAILROOM_LIMIT_COLD_PER_DAY: '', MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY: '30' }
  const world = opened(() => openTenant(engine, env))
  before(() => moveAwayFromMidnight(world.clock))

  test('are shown for the inbox and its account, and a refusal names the one that is used up', async () => {
    const [inbox, other] = [await world.inbox(), await world.inbox()]
    const read = async (of: Inbox) => {
      const limits = await world.client.inboxes.limits(of.id)
      return [limits.coldRecipientsPerDay, limits.accountColdRecipientsPerDay]
    }
    assert.deepEqual(await read(inbox), [
      { limit: 20, used: 0, remaining: 20, resetsAt: null },
      { limit: 30, used: 0, remaining: 30, resetsAt: null },
    ])
    await send(world, inbox, strangers(15))
    const midnightMs = Math.ceil(world.clock.now() / DAY_MS) * DAY_MS
    const resetsAt = new Date(midnightMs).toISOString()
    assert.deepEqual(await read(inbox), [
      { limit: 20, used: 15, remaining: 5, resetsAt },
      { limit: 30, used: 15, remaining: 15, resetsAt },
    ])
    const own = await refusalOf(send(world, inbox, strangers(6)))
    assert.deepEqual([own.body.scope, own.body.limit, own.body.resetsAt], ['inbox', 20, resetsAt])
    await send(world, inbox, strangers(5))
    await send(world, other, strangers(9))
    assert.deepEqual(await read(other), [
      { limit: 20, used: 9, remaining: 11, resetsAt },
      { limit: 30, used: 29, remaining: 1, resetsAt },
    ])
    const whole = await refusalOf(send(world, other, strangers(2)))
    const { body } = whole
    assert.deepEqual([body.scope, body.limit, body.resetsAt], ['account', 30, resetsAt])
    await send(world, other, strangers(1))
    world.clock.advance(DAY_MS)
    assert.equal((await read(inbox))[0]?.remaining, 20)
    world.clock.advance(40 * DAY_MS)
    assert.deepEqual((await read(inbox))[0], {
      limit: null,
      used: 0,
      remaining: null,
      resetsAt: null,
    })
  })
})

onEachEngine('strangers of an inbox', (engine) => {
  const env = { MAILROOM_LIMIT_COLD_PER_DAY: '', MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY: '' }
  const world = opened(() => openTenant(engine, env))
  before(() => moveAwayFromMidnight(world.clock))

  const nextDay = () => world.clock.advance(DAY_MS)

  test('are twenty a day, and the refusal says when the next day begins', async () => {
    const inbox = await world.inbox()
    const known = strangers(20)
    await send(world, inbox, known)
    const refused = await refusalOf(send(world, inbox, { to: stranger() }))
    assert.deepEqual([refused.status, refused.code], [429, 'cold_outreach_limit'])
    const untilMidnight = (DAY_MS - (world.clock.now() % DAY_MS)) / 1_000
    const seconds = refused.retryAfterSeconds ?? 0
    assert.ok(seconds >= untilMidnight && seconds <= untilMidnight + 60)
    await send(world, inbox, known)
    await send(world, inbox, { to: known.to.toUpperCase() })
    // A minute is the margin for a busy machine.
    world.clock.advance((seconds - 60) * 1_000)
    assert.equal(await refusal(send(world, inbox, { to: stranger() })), TOO_COLD)
    world.clock.advance(60_000)
    await send(world, inbox, strangers(20))
    assert.equal(await refusal(send(world, inbox, { to: known.to })), TOO_COLD)
    world.clock.advance(DAY_MS / 4)
  })

  test('give another refusal for a message that no day has room for', async () => {
    const inbox = await world.inbox()
    const hopeless = await refusalOf(send(world, inbox, strangers(21)))
    assert.equal(hopeless.code, 'cold_outreach_limit')
    assert.match(String(hopeless.fix), /^Send to at most 20 new addresses in one message/)
    const most = strangers(20)
    await send(world, inbox, most)
    const later = await refusalOf(send(world, inbox, { to: stranger() }))
    assert.match(String(later.fix), /^Repeat the request after/)
    // The strangers of today count again tomorrow.
    const cc = [...most.cc, stranger()]
    const grown = await refusalOf(send(world, inbox, { to: most.to, cc }))
    assert.match(String(grown.fix), /^Send to at most 20 new addresses in one message/)
  })

  test('count once each, ignoring case, and for a message all or none', async () => {
    const inbox = await world.inbox()
    await send(world, inbox, strangers(18))
    assert.equal(await refusal(send(world, inbox, strangers(3))), TOO_COLD)
    const to = stranger()
    await send(world, inbox, { to, cc: [to.toUpperCase(), `"${to.split('@')[0]}"@friend.example`] })
    assert.equal(await refusal(send(world, inbox, strangers(2))), TOO_COLD)
    await send(world, inbox, strangers(1))
    assert.equal(await refusal(send(world, inbox, strangers(1))), TOO_COLD)
  })

  test('are limited to twenty of fifty concurrent sends', async () => {
    const inbox = await world.inbox()
    const requests = Array.from({ length: 50 }, () => send(world, inbox, { to: stranger() }))
    assert.deepEqual(await countOutcomes(requests), { done: 20, [TOO_COLD]: 30 })
  })

  test('do not include people who wrote to it, nor inboxes of its account', async () => {
    const inbox = await world.inbox()
    const own = await world.inbox()
    const writer = stranger()
    const raw = plainMail({ from: writer, to: inbox.address })
    await deliver(world, inbox, raw, writer)
    await send(world, inbox, strangers(20))
    const tagged = own.address.replace('@', '+tag@')
    const spellings = [own.address.toUpperCase(), tagged, inbox.address]
    await send(world, inbox, { to: writer, cc: [own.address, ...spellings] })
    const { client } = await world.newAccount()
    const theirs = await client.inboxes.create()
    assert.equal(await refusal(send(world, inbox, { to: theirs.address })), TOO_COLD)
    const other = await world.inbox()
    await send(world, other, strangers(20))
    assert.equal(await refusal(send(world, other, { to: writer })), TOO_COLD)
  })

  test('have no limit of their own after thirty days of the inbox', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    world.clock.advance(29 * DAY_MS)
    await send({ client }, inbox, strangers(20))
    assert.equal(await refusal(send({ client }, inbox, strangers(1))), TOO_COLD)
    nextDay()
    await send({ client }, inbox, strangers(50))
    const young = await client.inboxes.create()
    assert.equal(await refusal(send({ client }, young, strangers(21))), TOO_COLD)
  })

  const CAPS = [
    { plan: 'free', young: 30, grown: 100, inboxes: 2 },
    { plan: 'developer', young: 150, grown: 500, inboxes: 8 },
    { plan: 'launch', young: 500, grown: 2_000, inboxes: 26 },
  ] as const

  // The limits of a plan do not depend on the database.
  const caps = engine === 'sqlite' ? CAPS : CAPS.slice(0, 1)
  for (const { plan, young, grown, inboxes: count } of caps) {
    test(`are ${young} a day over all inboxes of a young account of plan ${plan}, ${grown} of an old one`, async () => {
      const { client } = await world.newAccount(plan)
      const inboxes = await Promise.all(
        Array.from({ length: count }, () => client.inboxes.create()),
      )
      await fill({ client }, inboxes, { cap: young, each: 20 })
      world.clock.advance(30 * DAY_MS)
      await fill({ client }, inboxes, { cap: grown, each: 50 })
    })
  }

  /** Writes to `cap` strangers from the inboxes in rotation, and expects the refusal after them. */
  async function fill(
    account: { client: Mailroom },
    inboxes: Inbox[],
    { cap, each }: { cap: number; each: number },
  ): Promise<void> {
    let left = cap
    let turn = 0
    while (left > 0) {
      const inbox = inboxes[turn++ % inboxes.length]
      assert.ok(inbox !== undefined)
      const size = Math.min(each, left)
      await send(account, inbox, strangers(size))
      left -= size
    }
    const last = inboxes.at(-1)
    assert.ok(last !== undefined)
    const refused = await refusalOf(send(account, last, strangers(1)))
    assert.deepEqual([refused.code, refused.status], ['cold_outreach_limit', 429])
    assert.match(refused.message, new RegExp(`The account may send to ${cap} addresses`))
    nextDay()
    await send(account, last, strangers(1))
  }
})
