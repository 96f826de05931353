import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Inbox, Mailroom } from '@mailroom/sdk'
import { countMessages } from '#test/scenarios/deliver.ts'
import { errorOf, outcomeOf, refusalOf } from '#test/scenarios/outcomes.ts'
import { PLAIN, send } from '#test/scenarios/sending-world.ts'
import { moveAwayFromMidnight, onEachEngine, opened, openTenant } from '#test/world.ts'

const SUPPRESSED = 'never@friend.example'
const STRANGER = 'stranger@friend.example'
const KNOWN = 'known@friend.example'
const USED_KEY = 'a key that was used'

type Wrongs = {
  authorization?: string
  key?: string | null
  inboxId?: string
  body?: string
  threadId?: string
  replyTo?: string
  to?: string
  cc?: string[]
}

/**
 * The faults in the order of the checks, each with its refusal. The inbox has used up its minute and its strangers,
 * so that a send without other faults meets its limits.
 */
const WRONGS: [name: string, wrong: Wrongs, refusal: string][] = [
  ['a bad key of the API', { authorization: 'Bearer nothing' }, '401 unauthorized'],
  ['no idempotency key', { key: null }, '400 missing_idempotency_key'],
  ['a used idempotency key', { key: USED_KEY }, '422 idempotency_key_reused'],
  ['a bad body', { body: '' }, '400 bad_request'],
  ['an unknown inbox', { inboxId: 'inb_01h455vb4pex5vsknk084sn02q' }, '404 not_found'],
  ['an unknown thread', { threadId: 'thr_01h455vb4pex5vsknk084sn02q' }, '404 not_found'],
  ['a foreign replyTo', { replyTo: 'desk@elsewhere.example' }, '403 feature_requires_paid_plan'],
  ['a suppressed copy', { cc: [SUPPRESSED, STRANGER] }, '422 recipient_suppressed'],
]

onEachEngine('the order of refusals of a send', (engine) => {
  let client: Mailroom
  let key: string
  let inbox: Inbox
  const env = {
    MAILROOM_LIMIT_API_PER_MINUTE: '150',
    MAILROOM_LIMIT_SENDS_PER_MINUTE: '2',
    MAILROOM_LIMIT_COLD_PER_DAY: '1',
  }
  const world = opened(() => openTenant(engine, env))
  before(async () => {
    moveAwayFromMidnight(world.clock)
    const account = await world.newAccount('free')
    client = account.client
    key = account.key
    inbox = await client.inboxes.create()
    await client.suppressions.create({ address: SUPPRESSED })
    await send({ client }, inbox, { to: KNOWN }, USED_KEY)
    await send({ client }, inbox, { to: KNOWN })
  })

  let keys = 0
  function post(wrongs: Wrongs): Promise<Response> {
    const { authorization = `Bearer ${key}`, inboxId = inbox.id, ...others } = wrongs
    const { key: idempotencyKey = `key ${++keys}`, ...fields } = others
    return world.fetch(`/v1/inboxes/${inboxId}/send`, {
      method: 'POST',
      headers: {
        authorization,
        'content-type': 'application/json',
        ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: JSON.stringify({ ...PLAIN, to: STRANGER, ...fields }),
    })
  }

  for (const [index, [name, wrong, refusal]] of WRONGS.entries()) {
    test(`${name} comes before each of the following faults, and before all of them`, async () => {
      assert.equal(await outcomeOf(post(wrong)), refusal)
      const later = WRONGS.slice(index + 1).map(([, other]) => other)
      for (const other of later)
        assert.equal(await outcomeOf(post({ ...other, ...wrong })), refusal)
      const all = Object.assign({}, ...later.reverse(), wrong)
      assert.equal(await outcomeOf(post(all)), refusal)
    })
  }

  test('the limit of the inbox comes before its limit on strangers, which is last', async () => {
    const count = await countMessages({ ...world, client }, inbox)
    assert.equal(await outcomeOf(post({})), '429 rate_limit_exceeded')
    world.clock.advance(60_000)
    assert.equal(await outcomeOf(post({})), '429 cold_outreach_limit')
    assert.equal(await outcomeOf(post({ cc: [SUPPRESSED] })), '422 recipient_suppressed')
    const foreign = { replyTo: 'desk@elsewhere.example' }
    assert.equal(await outcomeOf(post(foreign)), '403 feature_requires_paid_plan')
    for (let time = 0; time < 2; time++) assert.equal(await outcomeOf(post({ to: KNOWN })), '200')
    assert.equal(await outcomeOf(post({ to: KNOWN })), '429 rate_limit_exceeded')
    assert.equal(await outcomeOf(post({ key: USED_KEY, to: KNOWN })), '200')
    assert.equal(await countMessages({ ...world, client }, inbox), count + 2)
  })

  test('the limit on requests comes after the API key and before everything else', async () => {
    const other = await world.newAccount('free')
    const theirs = await other.client.inboxes.create()
    const asks = Array.from({ length: 150 }, () => refusalOf(send(other, { id: 'nothing' })))
    await Promise.all(asks)
    const authorization = `Bearer ${other.key}`
    const wrongs = { authorization, key: null, body: '', inboxId: theirs.id }
    const response = await post(wrongs)
    const { error, message } = await errorOf(response)
    assert.deepEqual([response.status, error], [429, 'rate_limit_exceeded'])
    assert.match(String(message), /requests a minute/)
    assert.match(response.headers.get('retry-after') ?? '', /^([1-5]?\d|60)$/)
    assert.equal(await outcomeOf(post({ ...wrongs, authorization: 'x' })), '401 unauthorized')
  })

  test('a refusal by plan or suppression names its cause in its body', async () => {
    world.clock.advance(60_000)
    const plan = await errorOf(await post({ replyTo: 'desk@elsewhere.example' }))
    assert.equal(plan.feature, 'external_reply_to')
    const suppressed = await errorOf(await post({ cc: ['NEVER@Friend.example'] }))
    assert.deepEqual([suppressed.type, suppressed.address], ['manual', SUPPRESSED])
  })

  test('on the free plan replies go to an inbox of the account, at any of its addresses', async () => {
    world.clock.advance(60_000)
    const other = await client.inboxes.create()
    const [name = ''] = other.address.split('@')
    const stranger = await world.inbox()
    const own = [other.address, `${name.toUpperCase()}+tag@Mailroom.localhost`]
    for (const replyTo of own) assert.equal(await outcomeOf(post({ to: KNOWN, replyTo })), '200')
    const foreign = post({ to: KNOWN, replyTo: stranger.address })
    assert.equal(await outcomeOf(foreign), '403 feature_requires_paid_plan')
    const developer = await world.newAccount('developer')
    const paid = await developer.client.inboxes.create()
    const fields = { to: KNOWN, replyTo: 'desk@elsewhere.example' }
    const sent = await send(developer, paid, fields)
    assert.equal((await developer.client.messages.get(sent.messageId)).replyTo, fields.replyTo)
  })
})
