import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox, Mailroom } from '@mailroom/sdk'
import { openSender } from '#test/peers/sender.ts'
import { refusal, repeat, until } from '#test/scenarios/outcomes.ts'
import { clientOf, emptyPlace } from '#test/scenarios/service-process.ts'
import { multiplyMessage } from '#test/scenarios/stored-content.ts'
import { onEachEngine, opened, openTenant, plainMail, prepared, WIDE_LIMITS } from '#test/world.ts'

const KEY = 'key-of-searches-0123456789-0123456789'

onEachEngine('searching mail', (engine) => {
  const world = opened(() => openTenant(engine))
  const client = prepared(() => world.client)

  const send = async (inbox: Inbox, fields: Parameters<typeof plainMail>[0], from?: string) => {
    const raw = plainMail({ to: inbox.address, ...fields })
    const reply = await world.send({ to: inbox.address, raw, ...(from && { from }) })
    assert.equal(reply.code, 250)
  }
  const totalOf = async (by: Mailroom, inbox: Inbox, q: string, options = {}) =>
    (await by.inboxes.search(inbox.id, { q, ...options }).page()).total

  test('twenty concurrent searches find all acknowledged mail, while more arrives', async () => {
    const inbox = await world.inbox()
    const searching = repeat(20, async (n) => {
      await send(inbox, { subject: `Number zq${n}zq`, body: 'A word that all have: zqcommon.' })
      const page = await client.inboxes.search(inbox.id, { q: `zq${n}zq` }).page()
      assert.deepEqual([page.total, page.data[0]?.subject], [1, `Number zq${n}zq`])
    })
    await Promise.all(await searching)
    assert.equal(await totalOf(client, inbox, 'zqcommon'), 20)
  })

  test('a search over all inboxes is newest first', async () => {
    const pod = await client.pods.create({ clientId: 'search-pod' })
    const [one, two] = [await world.inbox(), await client.inboxes.create({ podId: pod.id })]
    const { client: theirs } = await world.newAccount()
    const foreign = await theirs.inboxes.create()
    for (const [index, inbox] of [one, two, two, foreign, one].entries()) {
      await send(inbox, { subject: `Part ${index}`, body: 'zqeverywhere' })
    }
    const search = async (by: Mailroom, options = {}) => {
      const page = await by.messages.search({ q: 'zqeverywhere', ...options }).page()
      assert.equal(Reflect.get(page, 'isComplete'), true)
      return { total: page.total, hits: page.data.map((hit) => [hit.subject, hit.inboxId]) }
    }
    const all = [
      ['Part 4', one.id],
      ['Part 2', two.id],
      ['Part 1', two.id],
      ['Part 0', one.id],
    ]
    assert.deepEqual(await search(client), { total: 4, hits: all })
    const paged = [0, 1, 2, 3, 4].map(async (offset) => search(client, { offset, limit: 1 }))
    assert.deepEqual(
      (await Promise.all(paged)).flatMap(({ hits }) => hits),
      all,
    )
    for (const podId of [pod.id, 'search-pod']) {
      assert.deepEqual(await search(client, { podId }), { total: 2, hits: all.slice(1, 3) })
    }
    const inOne = await search(client, { inboxId: one.id })
    assert.deepEqual(inOne, { total: 2, hits: [all[0], all[3]] })
    assert.deepEqual(await search(theirs), { total: 1, hits: [['Part 3', foreign.id]] })
    for (const nowhere of [
      { inboxId: foreign.id },
      { inboxId: 'inb_none' },
      { podId: 'none' },
      { inboxId: one.id, podId: pod.id },
    ]) {
      assert.deepEqual(await search(client, nowhere), { total: 0, hits: [] })
    }
    const ranked = await search(client, { sort: 'rank' })
    assert.deepEqual(ranked.hits.toSorted(), all.toSorted())
    assert.equal(
      await refusal(client.messages.search({ q: '-zqeverywhere' }).page()),
      '400 bad_request',
    )
  })

  test('nothing of another inbox or account is found', async () => {
    const { client: theirs } = await world.newAccount()
    const [mine, other, foreign] = [
      await world.inbox(),
      await world.inbox(),
      await theirs.inboxes.create(),
    ]
    for (const inbox of [mine, other, foreign]) {
      await send(inbox, { from: 'zqann@zqfirm.example', body: `zqsecret of ${inbox.id}` })
    }
    for (const q of [
      'zqsecret',
      'zq*',
      'from:zqann@zqfirm.example',
      'from:zq*',
      '"zqsecret of"',
      'the -zqnothing OR zqsecret',
    ]) {
      const { data } = await client.inboxes.search(mine.id, { q }).page()
      assert.ok(
        data.every(({ inboxId }) => inboxId === mine.id),
        q,
      )
      assert.ok(data.length <= 1, q)
    }
    assert.equal(await totalOf(client, mine, 'zqsecret'), 1)
    assert.equal(await totalOf(theirs, foreign, 'zqsecret'), 1)
    assert.equal(await totalOf(client, mine, `zqsecret ${foreign.id}`), 0)
    assert.equal(
      await refusal(client.inboxes.search(foreign.id, { q: 'zqsecret' }).page()),
      '404 not_found',
    )
    assert.equal(
      await refusal(client.inboxes.search('inb_none', { q: 'zqsecret' }).page()),
      '404 not_found',
    )
    await client.inboxes.delete(mine.id)
    assert.equal(
      await refusal(client.inboxes.search(mine.id, { q: 'zqsecret' }).page()),
      '404 not_found',
    )
    assert.equal(await totalOf(client, other, 'zqsecret'), 1)
  })

  test('quarantined mail is found once it is released', async () => {
    const { client: theirs } = await world.newAccount()
    const inbox = await theirs.inboxes.create()
    await theirs.senderRules.create({ type: 'block', value: 'spam.example' })
    await send(inbox, { from: 'eve@spam.example', body: 'zqspam' }, 'eve@spam.example')
    assert.equal(await totalOf(theirs, inbox, 'zqspam'), 0)
    const [held] = (await theirs.quarantine.list().page()).data
    await theirs.quarantine.release(held?.id ?? '')
    assert.equal(await totalOf(theirs, inbox, 'zqspam'), 1)
  })

  test('sent mail is found as well, or on its own', async () => {
    const inbox = await world.inbox()
    await send(inbox, { subject: 'zqtopic' })
    const to = 'carla@elsewhere.example'
    await client.inboxes.send(inbox.id, { to, subject: 'About zqtopic', body: 'zqanswer' })
    assert.equal(await totalOf(client, inbox, 'zqtopic'), 2)
    assert.equal(await totalOf(client, inbox, 'zqtopic', { direction: 'inbound' }), 1)
    assert.equal(await totalOf(client, inbox, 'zqtopic to:carla', { direction: 'outbound' }), 1)
    assert.equal(await totalOf(client, inbox, 'zqanswer', { direction: 'inbound' }), 0)
  })

  test('the beginning of a long text is found, and a snippet stays short', async () => {
    const inbox = await world.inbox()
    const filler = `${'x'.repeat(70)}\r\n`.repeat(1_400)
    await send(inbox, {
      body: `zqhead \u202e\u200b${filler}zqtail`,
      headers: ['Content-Type: text/plain; charset=utf-8'],
    })
    const { data } = await client.inboxes.search(inbox.id, { q: 'zqhead' }).page()
    assert.ok(Array.from(data[0]?.snippet ?? '').length <= 200)
    assert.match(data[0]?.snippet ?? '', /^zqhead x+(?: x+)*…$/)
    assert.equal(await totalOf(client, inbox, 'zqtail'), 0)
  })

  test('pages of any size are consistent', async () => {
    const inbox = await world.inbox()
    await send(inbox, { body: 'zqmany' })
    await multiplyMessage(world, inbox.id, 1_230)
    for (const sort of ['newest', 'rank'] as const) {
      const first = await client.inboxes.search(inbox.id, { q: 'zqmany', sort, limit: 100 }).page()
      assert.deepEqual(
        [first.data.length, first.total, first.totalIsExact, first.isComplete],
        [100, 1_000, false, true],
      )
      const ids = new Set<string>()
      let seen = 0
      for await (const { messageId } of client.inboxes.search(inbox.id, { q: 'zqmany', sort })) {
        ids.add(messageId)
        seen += 1
      }
      assert.deepEqual([seen, ids.size], [1_230, 1_230])
    }
    const last = client.inboxes.search(inbox.id, { q: 'zqmany', offset: 1_229 })
    assert.equal((await last.page()).data.length, 1)
    const far = client.inboxes.search(inbox.id, { q: 'zqmany', offset: 2_000_000_000 })
    assert.deepEqual((await far.page()).data, [])
  })

  test('a search that cannot wait gets 503 with a time to retry, and one whose client left waits no more', async () => {
    const inbox = await world.inbox()
    await send(inbox, { body: 'zqbusy' })
    const { searchSlots } = world.app.deps
    const path = `/v1/inboxes/${inbox.id}/search?q=zqbusy`
    const acquire = (keys: string[]) => keys.map((key) => searchSlots.acquire({ key }))
    const held = await Promise.all(acquire(['a', 'a', 'a', 'b']))
    // Those that came first would also give up first.
    let hasGivenUp = false
    const waitBefore = (keys: string[]) => {
      const waiting = acquire(keys)
      void waiting[0]?.then((slot) => {
        hasGivenUp ||= typeof slot === 'string'
      })
      return waiting
    }
    const waiting = waitBefore(['a'])
    const leaving = new AbortController()
    const left = assert.rejects(world.fetch(path, { signal: leaving.signal }))
    await until(async () => searchSlots.waiting === 2)
    leaving.abort()
    await left
    await until(async () => searchSlots.waiting === 1)
    assert.equal(hasGivenUp, false)
    waiting.push(...waitBefore([...Array(99).fill('a'), ...Array(100).fill('b')]))
    const refused = await world.fetch(path)
    assert.equal(hasGivenUp, false)
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '2'])
    for (const slot of held) if (typeof slot !== 'string') slot()
    for (const asked of waiting) {
      const slot = await asked
      if (typeof slot !== 'string') slot()
    }
    assert.equal(await totalOf(client, inbox, 'zqbusy'), 1)
  })

  test('a service killed during indexing finds everything after its start', async (t) => {
    const place = await emptyPlace(engine)
    t.after(() => place.remove())
    const env = { MAILROOM_BOOTSTRAP_API_KEY: KEY, ...WIDE_LIMITS }
    const first = place.start(env)
    const { http, smtpPort } = await first.ready
    const inbox = await clientOf(http, KEY).inboxes.create()
    const sender = await openSender(smtpPort)
    for (let n = 0; n < 150; n++) {
      const raw = plainMail({ to: inbox.address, body: `zqword zq${n}zq` })
      assert.equal((await sender.send({ to: inbox.address, raw })).code, 250)
    }
    await first.kill()
    const second = clientOf((await place.start(env).ready).http, KEY)
    assert.equal(await totalOf(second, inbox, 'zqword'), 150)
    for (const n of [0, 49, 50, 149]) assert.equal(await totalOf(second, inbox, `zq${n}zq`), 1)
  })
})
