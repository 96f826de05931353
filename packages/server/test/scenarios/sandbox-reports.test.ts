import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { bounceMail } from '#test/scenarios/report-mail.ts'
import { deliveryOf, send, settled } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openWorld } from '#test/world.ts'

onEachEngine('reports in the sandbox', (engine) => {
  const world = opened(() => openWorld(engine))

  const inject = (raw: string, query = '', key = world.key) =>
    world.fetch(`/v1/sandbox/inbound${query}`, {
      method: 'POST',
      headers: { 'content-type': 'message/rfc822', authorization: `Bearer ${key}` },
      body: raw,
    })
  const captured = async (to: string, cc: string[] = []) => {
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { to, cc })
    await settled(world, sent)
    const { data } = await world.client.sandbox.list().page()
    const mails = data.filter(({ messageId }) => messageId === sent.messageId)
    return { sent, mails, reversePath: mails[0]?.reversePath ?? '' }
  }

  test('a kept message is kept once for each domain, with its own reverse-path', async () => {
    const cc = ['cid@friend.example', 'dan@other.example']
    const { mails } = await captured('bob@friend.example', cc)
    const recipients = mails.map(({ to }) => to).toSorted()
    assert.deepEqual(recipients, [
      ['bob@friend.example', 'cid@friend.example'],
      ['dan@other.example'],
    ])
    const paths = new Set(mails.map(({ reversePath }) => reversePath))
    assert.equal(paths.size, 2)
    for (const path of paths) assert.match(path, /^b\+[0-9a-z.]{37}@mailroom\.localhost$/)
  })

  for (const [how, withQuery] of [
    ['its header names the reverse-path', false],
    ['its envelope does', true],
  ] as const) {
    test(`a bounce is tried by hand, where ${how}`, async () => {
      const to = `hand-${withQuery}@friend.example`
      const { sent, reversePath } = await captured(to)
      const raw = bounceMail({ to: withQuery ? 'x@y.example' : reversePath, recipient: to })
      const query = withQuery ? `?from=d@y.example&to=${encodeURIComponent(reversePath)}` : ''
      const answer = await inject(raw, query)
      assert.equal(answer.status, 201)
      assert.deepEqual(await answer.json(), { data: [], total: 0 })
      assert.equal((await deliveryOf(world, sent)).status, 'bounced')
    })
  }

  test('a bounce comes in over SMTP, too', async () => {
    const { sent, reversePath } = await captured('smtp@friend.example')
    const raw = bounceMail({ to: reversePath, recipient: 'smtp@friend.example' })
    assert.equal((await world.send({ from: '', to: reversePath, raw })).code, 250)
    assert.equal((await deliveryOf(world, sent)).status, 'bounced')
  })

  test('another account’s return path is none of one’s own', async () => {
    const { sent, reversePath } = await captured('mine@friend.example')
    const stranger = await world.newAccount()
    const raw = bounceMail({ to: reversePath, recipient: 'mine@friend.example' })
    const query = `?to=${encodeURIComponent(reversePath)}`
    const foreign = await outcomeOf(inject(raw, query, stranger.key))
    assert.equal(foreign, '400 bad_request')
    const forged = reversePath.replace(/.@/, (end) => (end === '0@' ? '1@' : '0@'))
    const guessed = await outcomeOf(inject(raw, `?to=${encodeURIComponent(forged)}`))
    assert.equal(guessed, '400 bad_request')
    assert.equal((await deliveryOf(world, sent)).status, 'accepted')
  })
})
