import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Inbox, Mailroom } from '@mailroom/sdk'
import { deliver } from '#test/scenarios/deliver.ts'
import { countOutcomes, refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import { send } from '#test/scenarios/sending-world.ts'
import { onEachEngine, openWorld, plainMail, type World } from '#test/world.ts'

const DAY_MS = 86_400_000
const TOO_COLD = '429 cold_outreach_limit'

onEachEngine('strangers of an inbox', (engine) => {
  let world: World
  let names = 0
  before(async () => {
    const env = { MAILROOM_LIMIT_COLD_PER_DAY: '', MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY: '' }
    world = await openWorld(engine, { env })
    // Away from midnight, so that a day does not end within a test.
    world.clock.advance(DAY_MS - (world.clock.now() % DAY_MS) + DAY_MS / 4)
  })
  after(() => world.close())

  const stranger = () => `stranger${++names}@friend.example`
  const strangers = (count: number) => {
    const [to = '', ...cc] = Array.from({ length: count }, stranger)
    return { to, cc }
  }
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
    // A minute is left to a busy machine.
    world.clock.advance((seconds - 60) * 1_000)
    assert.equal(await refusal(send(world, inbox, { to: stranger() })), TOO_COLD)
    world.clock.advance(60_000)
    await send(world, inbox, strangers(20))
    assert.equal(await refusal(send(world, inbox, { to: known.to })), TOO_COLD)
    world.clock.advance(DAY_MS / 4)
  })

  test('are told apart from those that no day has room for', async () => {
    const inbox = await world.inbox()
    const hopeless = await refusalOf(send(world, inbox, strangers(21)))
    assert.equal(hopeless.code, 'cold_outreach_limit')
    assert.match(String(hopeless.fix), /^Send to at most 20 new addresses in one message/)
    const most = strangers(20)
    await send(world, inbox, most)
    const later = await refusalOf(send(world, inbox, { to: stranger() }))
    assert.match(String(later.fix), /^Repeat the request after/)
    // What is known today is new again tomorrow.
    const cc = [...most.cc, stranger()]
    const grown = await refusalOf(send(world, inbox, { to: most.to, cc }))
    assert.match(String(grown.fix), /^Send to at most 20 new addresses in one message/)
  })

  test('are counted each once, in any letters, and all or none of a message', async () => {
    const inbox = await world.inbox()
    await send(world, inbox, strangers(18))
    assert.equal(await refusal(send(world, inbox, strangers(3))), TOO_COLD)
    const to = stranger()
    await send(world, inbox, { to, cc: [to.toUpperCase(), `"${to.split('@')[0]}"@friend.example`] })
    assert.equal(await refusal(send(world, inbox, strangers(2))), TOO_COLD)
    await send(world, inbox, strangers(1))
    assert.equal(await refusal(send(world, inbox, strangers(1))), TOO_COLD)
  })

  test('are twenty of fifty at once', async () => {
    const inbox = await world.inbox()
    const requests = Array.from({ length: 50 }, () => send(world, inbox, { to: stranger() }))
    assert.deepEqual(await countOutcomes(requests), { done: 20, [TOO_COLD]: 30 })
  })

  test('are none that wrote to it, nor inboxes of its account', async () => {
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

  test('have no cap of their own once the inbox is thirty days old', async () => {
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

  // What a plan allows is no affair of the database.
  const caps = engine === 'sqlite' ? CAPS : CAPS.slice(0, 1)
  for (const { plan, young, grown, inboxes: count } of caps) {
    test(`are ${young} a day over all inboxes of a young account of plan ${plan}, ${grown} of a grown one`, async () => {
      const { client } = await world.newAccount(plan)
      const inboxes = await Promise.all(
        Array.from({ length: count }, () => client.inboxes.create()),
      )
      await fill({ client }, inboxes, { cap: young, each: 20 })
      world.clock.advance(30 * DAY_MS)
      await fill({ client }, inboxes, { cap: grown, each: 50 })
    })
  }

  /** Writes to `cap` strangers from the inboxes in turn, and meets the refusal after them. */
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
