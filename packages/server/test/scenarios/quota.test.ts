import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { codesOf } from '#test/scenarios/deliver.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, openWorld, plainMail, type World } from '#test/world.ts'

const LIMIT_BYTES = 20_000

onEachEngine('the quota of an account', (engine) => {
  let world: World
  before(async () => {
    const env = { MAILROOM_LIMIT_STORED_BYTES_PER_ACCOUNT: String(LIMIT_BYTES) }
    world = await openWorld(engine, { env })
  })
  after(() => world.close())

  const post = async (to: string, body = 'x'.repeat(5_000)) =>
    codesOf(await world.send({ to, raw: plainMail({ to, body }) }))
  const told = async (count: number) => {
    await until(async () => {
      const { data } = await world.client.events
        .list({ event_types: 'account.quota_exceeded' })
        .page()
      return data.length === count
    })
    return (
      await world.client.events.list({ event_types: 'account.quota_exceeded' }).page()
    ).data.at(-1)
  }

  test('has mail refused once it is used up, tells so once, and leaves others alone', async () => {
    const inbox = await world.inbox('first')
    const other = await world.inbox('second')
    const answers: string[] = []
    for (let n = 0; n < 6; n++) answers.push(await post(inbox.address))
    const taken = answers.filter((answer) => answer === '250 2.0.0').length
    assert.ok(taken === 4 || taken === 3, answers.join())
    assert.ok(answers.slice(taken).every((answer) => answer === '552 5.2.2'))
    assert.equal(await post(other.address), '552 5.2.2', 'all inboxes of the account')
    const { storedBytes, storedBytesLimit } = await world.client.stats.get()
    assert.equal(storedBytesLimit, LIMIT_BYTES)
    assert.ok(storedBytes >= LIMIT_BYTES && storedBytes < LIMIT_BYTES + 8_000, `${storedBytes}`)
    const event = await told(1)
    assert.deepEqual(event?.storage, { stored_bytes: storedBytes, limit_bytes: LIMIT_BYTES })
    assert.equal(event?.inbox_id, null)

    const stranger = await world.newAccount()
    const theirs = await stranger.client.inboxes.create({})
    assert.equal(await post(theirs.address), '250 2.0.0')
    assert.equal(await post('postmaster@mailroom.localhost'), '250 2.0.0')
    const sent = await world.client.inboxes.send(inbox.id, {
      to: 'bob@friend.example',
      subject: 'A subject',
      body: 'A body.',
    })
    assert.ok(sent.messageId, 'its own mail is not refused')
    const attempt = async (client: World['client'], from: string) => {
      const { messageId } = await client.inboxes.send(from, {
        to: other.address,
        subject: 'A subject',
        body: 'A body.',
      })
      await until(async () => (await client.messages.get(messageId)).status !== 'pending')
      return client.messages.get(messageId)
    }
    const refused = await attempt(stranger.client, theirs.id)
    assert.equal(refused.status, 'failed', 'nor is there a way in from within the service')
    assert.match(refused.failureReason ?? '', /552 5\.2\.2 Mailbox full/)
    assert.deepEqual((await stranger.client.suppressions.list().page()).data, [])
    assert.equal((await attempt(world.client, inbox.id)).status, 'sent')

    await world.client.inboxes.delete(inbox.id)
    assert.equal(await post(other.address), '250 2.0.0')
    for (let n = 0; n < 5; n++) await post(other.address)
    assert.equal(await post(other.address), '552 5.2.2')
    await told(2)
  })

  test('counts what is in quarantine', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create({})
    await client.senderRules.create({ type: 'block', value: 'sender.example' })
    let answer = ''
    for (let n = 0; n < 6 && answer !== '552 5.2.2'; n++) answer = await post(inbox.address)
    assert.equal(answer, '552 5.2.2')
    const { data } = await client.quarantine.list().page()
    for (const { id } of data) await client.quarantine.delete(id)
    assert.equal((await client.stats.get()).storedBytes, 0)
    assert.equal(await post(inbox.address), '250 2.0.0')
  })
})
