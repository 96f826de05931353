import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { ClaimedThread, Inbox, Mailroom } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { figureOf } from '#test/scenarios/figures.ts'
import { refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import { mailFrom, mboxOf } from '#test/scenarios/transfer-mail.ts'
import { onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

const TERMS = { owner: 'worker 1', leaseSeconds: 60 }

onEachEngine('claims', (engine) => {
  const world = opened(() => openTenant(engine))
  const client = prepared(() => world.client)
  let sent = 0

  async function receive(inbox: Inbox, inReplyTo?: string): Promise<string> {
    const messageId = `<c${++sent}@x.example>`
    const headers = inReplyTo === undefined ? [] : [`In-Reply-To: ${inReplyTo}`]
    const raw = plainMail({ to: inbox.address, subject: `Mail ${sent}`, messageId, headers })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    return messageId
  }
  async function inboxWith(threads: number): Promise<{ inbox: Inbox; ids: string[] }> {
    const inbox = await world.inbox()
    for (let each = 0; each < threads; each++) await receive(inbox)
    const { data } = await client.threads.list(inbox.id).page()
    return { inbox, ids: data.map(({ id }) => id).reverse() }
  }
  const take = async (inbox: Inbox, fields: object = {}) =>
    (await client.inboxes.claimThreads(inbox.id, { ...TERMS, ...fields })).data
  const idsOf = (claims: readonly ClaimedThread[]) => claims.map(({ threadId }) => threadId)
  /** Requests that wait in the service. */
  const waiting = () => figureOf(world, 'mailroom_event_waits')
  const told = async (inbox: Inbox) => {
    const { data } = await client.events.list({ inbox_id: inbox.id }).page()
    return data.flatMap((one) => {
      if (one.event === 'thread.claimed') return [`${one.event} ${one.claim.fence}`]
      if (one.event !== 'thread.released') return []
      return [`${one.event} ${one.claim.fence} ${one.claim.reason}`]
    })
  }

  test('a wait gets a thread that is restored from the trash, and one that is imported', async () => {
    const { inbox, ids } = await inboxWith(1)
    const [id = ''] = ids
    await client.threads.delete(id)
    const startMs = performance.now()
    const restored = take(inbox, { waitSeconds: 60 })
    await until(async () => (await waiting()) === 1)
    await client.threads.restore(id)
    assert.deepEqual(idsOf(await restored), [id])
    const added = take(inbox, { waitSeconds: 60 })
    await until(async () => (await waiting()) === 1)
    await client.imports.create(inbox.id, mboxOf(mailFrom('ann@a.example', 'claimed')))
    assert.equal((await added)[0]?.thread.subject, 'claimed')
    assert.ok(performance.now() - startMs < 55_000)
  })

  test('a thread is claimed by one worker, who is shown with it', async () => {
    const { inbox, ids } = await inboxWith(1)
    const [id = ''] = ids
    const claim = await client.threads.claim(id, TERMS)
    assert.match(claim.leaseToken, /^mrl_[0-9A-Za-z]{40}$/)
    assert.deepEqual(
      [claim.threadId, claim.inboxId, claim.owner, claim.fence],
      [id, inbox.id, 'worker 1', 1],
    )
    const { owner, fence, expiresAt } = claim
    assert.deepEqual((await client.threads.get(id)).claim, { owner, fence, expiresAt })
    assert.ok(Math.abs(Date.parse(expiresAt) - world.clock.now() - 60_000) < 5_000)
    const error = await refusalOf(client.threads.claim(id, TERMS))
    assert.deepEqual([error.status, error.code], [409, 'thread_claimed'])
    assert.equal(error.body.expiresAt, expiresAt)
    assert.deepEqual(await take(inbox), [])
    const kept = await runSql(world, `select claim_token_hash from threads where id = '${id}'`)
    assert.ok(!JSON.stringify(kept).includes(claim.leaseToken))
    assert.equal(Buffer.from(kept[0]?.claim_token_hash as Uint8Array).length, 32)
  })

  test('a claim has the newest received message of its thread', async () => {
    const inbox = await world.inbox()
    const first = await receive(inbox)
    await receive(inbox, first)
    const [newest] = (await client.messages.list(inbox.id).page()).data
    const id = newest?.threadId ?? ''
    await client.inboxes.send(inbox.id, { threadId: id, to: 'a@x.example', body: 'Hi' })
    await receive(inbox)
    await client.threads.update(id, { isRead: false })
    const claims = await take(inbox, { max: 2 })
    const withoutUrls = (message: unknown) =>
      JSON.parse(JSON.stringify(message, (name, value) => (name === 'url' ? undefined : value)))
    assert.equal(claims.length, 2)
    for (const { threadId, message, leaseToken } of claims) {
      assert.equal(message?.threadId, threadId)
      const whole = await client.messages.get(message.id)
      assert.deepEqual(withoutUrls(message), withoutUrls(whole))
      await client.threads.releaseClaim(threadId, { isRead: true }, { leaseToken })
    }
    assert.equal(claims.find(({ threadId }) => threadId === id)?.message?.id, newest?.id)
    assert.equal((await client.threads.claim(id, TERMS)).message?.id, newest?.id)
    const own = await client.inboxes.send(inbox.id, { to: 'a@x.example', subject: 'S', body: 'B' })
    assert.equal((await client.threads.claim(own.threadId, TERMS)).message, null)
    const long = plainMail({
      to: inbox.address,
      subject: 'Long',
      body: 'A line of text.\r\n'.repeat(20_000),
    })
    await world.send({ to: inbox.address, raw: long })
    const [cut] = await take(inbox)
    assert.equal(cut?.message?.isTruncated, true)
  })

  test('only the token of the live lease changes the thread or sends in it', async () => {
    const { inbox, ids } = await inboxWith(1)
    const [id = ''] = ids
    const { leaseToken } = await client.threads.claim(id, TERMS)
    const mine = client.withLease(leaseToken)
    const wrong = client.withLease('mrl_wrong')
    const { data } = await client.messages.list(inbox.id).page()
    const messageId = data[0]?.id ?? ''
    const draft = await client.drafts.create(inbox.id, {
      threadId: id,
      to: 'a@x.example',
      body: 'D',
    })
    const reply = { to: 'a@x.example', threadId: id, body: 'Hi' }
    const acts: [string, (by: Mailroom) => Promise<unknown>][] = [
      ['patch', (by) => by.threads.update(id, { addLabels: ['x'] })],
      ['label', (by) => by.messages.update(messageId, { addLabels: ['x'] })],
      ['check', (by) => by.inboxes.checkSend(inbox.id, reply)],
      ['send', (by) => by.inboxes.send(inbox.id, reply)],
      [
        'reply all',
        (by) => by.inboxes.send(inbox.id, { threadId: id, replyAll: true, body: 'Hi' }),
      ],
      ['forward', (by) => by.messages.forward(messageId, { to: 'b@x.example' })],
      ['draft', (by) => by.drafts.send(draft.id)],
    ]
    for (const [name, act] of acts) {
      for (const by of [client, wrong]) {
        assert.equal(await refusal(act(by)), '409 lease_lost', name)
      }
    }
    const items = [reply, { ...reply, leaseToken }, { ...reply, leaseToken: 'mrl_no' }]
    const batch = await mine.inboxes.sendBatch(inbox.id, items)
    assert.deepEqual(
      batch.data.map(({ status }) => status),
      [409, 200, 409],
    )
    for (const [name, act] of acts) await assert.doesNotReject(act(mine), name)
    // Nothing else is kept back.
    await client.inboxes.send(inbox.id, { to: 'c@x.example', subject: 'New', body: 'Hi' })
    const { total } = await client.messages.list(inbox.id, { direction: 'outbound' }).page()
    assert.equal(total, 6)
  })

  test('only the token of the live lease removes the thread or a message, and brings it back', async () => {
    const { inbox, ids } = await inboxWith(1)
    const [id = ''] = ids
    const { leaseToken } = await client.threads.claim(id, TERMS)
    const mine = client.withLease(leaseToken)
    const { data } = await client.messages.list(inbox.id).page()
    const messageId = data[0]?.id ?? ''
    for (const by of [client, client.withLease('mrl_wrong')]) {
      assert.equal(await refusal(by.threads.delete(id)), '409 lease_lost')
      assert.equal(await refusal(by.threads.delete(id, { permanent: true })), '409 lease_lost')
      assert.equal(await refusal(by.threads.restore(id)), '409 lease_lost')
      assert.equal(await refusal(by.messages.delete(messageId)), '409 lease_lost')
    }
    await mine.threads.delete(id)
    await mine.threads.restore(id)
    await mine.threads.delete(id)
    await mine.threads.releaseClaim(id, { isRead: false })
    assert.equal(await refusal(client.threads.claim(id, TERMS)), '409 thread_trashed')
    assert.deepEqual(await take(inbox), [])
    await client.threads.restore(id)
    assert.deepEqual(idsOf(await take(inbox)), [id])
  })

  test('a send that was accepted is repeated after the lease is gone, and a stale worker sends nothing', async () => {
    const { inbox, ids } = await inboxWith(1)
    const [id = ''] = ids
    const first = await client.threads.claim(id, { owner: 'one', leaseSeconds: 10 })
    const stale = client.withLease(first.leaseToken)
    const reply = { to: 'a@x.example', threadId: id, body: 'Hi' }
    const sent = await stale.inboxes.send(inbox.id, reply, { idempotencyKey: 'k1' })
    world.clock.advance(10_001)
    assert.equal((await client.threads.get(id)).claim, null)
    assert.equal(await refusal(stale.inboxes.send(inbox.id, reply)), '409 lease_lost')
    assert.equal(await refusal(stale.threads.update(id, { isRead: false })), '409 lease_lost')
    assert.equal(await refusal(stale.threads.renewClaim(id)), '409 lease_lost')
    assert.equal(await refusal(stale.threads.releaseClaim(id)), '409 lease_lost')
    const second = await client.threads.claim(id, { owner: 'two', leaseSeconds: 60 })
    assert.equal(second.fence, 2)
    assert.equal(await refusal(stale.inboxes.send(inbox.id, reply)), '409 lease_lost')
    const again = await stale.inboxes.send(inbox.id, reply, { idempotencyKey: 'k1' })
    assert.deepEqual(again, sent)
    await until(async () => (await told(inbox)).length === 3)
    assert.deepEqual(await told(inbox), [
      'thread.claimed 1',
      'thread.released 1 expired',
      'thread.claimed 2',
    ])
    assert.equal((await client.messages.list(inbox.id, { direction: 'outbound' }).page()).total, 1)
  })

  test('a lease is renewed and released, and the fence never goes back', async () => {
    const { inbox, ids } = await inboxWith(1)
    const [id = ''] = ids
    const first = await client.threads.claim(id, { owner: 'one', leaseSeconds: 30 })
    const mine = client.withLease(first.leaseToken)
    world.clock.advance(20_000)
    const renewed = await mine.threads.renewClaim(id)
    assert.equal(Date.parse(renewed.expiresAt) - Date.parse(first.expiresAt) >= 20_000, true)
    assert.ok(!('leaseToken' in renewed))
    world.clock.advance(20_000)
    await mine.threads.renewClaim(id, { leaseSeconds: 600 })
    world.clock.advance(500_000)
    assert.equal((await client.threads.get(id)).claim?.fence, 1)
    for (const by of [client, client.withLease('mrl_wrong')]) {
      assert.equal(await refusal(by.threads.releaseClaim(id)), '409 lease_lost')
    }
    const released = await mine.threads.releaseClaim(id, { isRead: true })
    assert.deepEqual([released.claim, released.isRead], [null, true])
    assert.equal(await refusal(mine.threads.releaseClaim(id)), '409 lease_lost')
    assert.equal(await refusal(mine.threads.renewClaim(id)), '409 lease_lost')
    const second = await client.threads.claim(id, TERMS)
    assert.equal(second.fence, 2)
    await client.threads.releaseClaim(id, {}, { leaseToken: second.leaseToken })
    await until(async () => (await told(inbox)).length === 4)
    assert.deepEqual(await told(inbox), [
      'thread.claimed 1',
      'thread.released 1 released',
      'thread.claimed 2',
      'thread.released 2 released',
    ])
    const { data } = await client.inboxes.list().page()
    assert.equal(data.find((one) => one.id === inbox.id)?.unreadThreads, 0)
  })

  test('setting the wall clock neither ends a lease nor lengthens it', async () => {
    const { ids } = await inboxWith(1)
    const [id = ''] = ids
    const { leaseToken } = await client.threads.claim(id, { owner: 'one', leaseSeconds: 60 })
    world.clock.step(-3_600_000)
    assert.equal(await refusal(client.threads.claim(id, TERMS)), '409 thread_claimed')
    world.clock.step(7_200_000)
    assert.equal(await refusal(client.threads.claim(id, TERMS)), '409 thread_claimed')
    await client.withLease(leaseToken).threads.update(id, { addLabels: ['x'] })
    world.clock.step(-3_600_000)
    world.clock.advance(60_001)
    assert.equal((await client.threads.claim(id, TERMS)).fence, 2)
  })

  test('a lease that a wrong clock wrote does not last for ever', async () => {
    const { inbox, ids } = await inboxWith(1)
    const [id = ''] = ids
    const claim = async () => (await client.threads.claim(id, TERMS)).fence
    assert.equal(await claim(), 1)
    const lengthen = `update threads set claim_until = claim_until + 86400000 where id = '${id}'`
    await runSql(world, lengthen)
    assert.equal(await claim(), 2)
    await runSql(world, lengthen)
    assert.equal((await take(inbox))[0]?.fence, 3)
  })

  test('the oldest unread threads are claimed that nobody has and that are not put off', async () => {
    const { inbox, ids } = await inboxWith(6)
    const [read, snoozed, held, ...rest] = ids
    await client.threads.update(read ?? '', { isRead: true })
    const snoozedUntil = new Date(world.clock.now() + 3_600_000).toISOString()
    await client.threads.update(snoozed ?? '', { snoozedUntil })
    await client.threads.claim(held ?? '', TERMS)
    const claims = await take(inbox, { max: 2 })
    assert.deepEqual(idsOf(claims), rest.slice(0, 2))
    const [first] = claims
    assert.deepEqual(first?.thread, await client.threads.get(first?.threadId ?? ''))
    assert.equal(new Set(claims.map(({ leaseToken }) => leaseToken)).size, 2)
    assert.deepEqual(idsOf(await take(inbox, { max: 50 })), rest.slice(2))
    assert.deepEqual(await take(inbox, { max: 50 }), [])
  })

  test('a claim takes only threads of a category and with all labels', async () => {
    const { inbox, ids } = await inboxWith(3)
    const [, second = '', third = ''] = ids
    await client.threads.update(second, { addLabels: ['vip'] })
    await client.threads.update(third, { addLabels: ['vip', 'new'] })
    assert.deepEqual(await take(inbox, { category: 'spam' }), [])
    assert.deepEqual(idsOf(await take(inbox, { labels: ['vip', 'new'], max: 5 })), [third])
    assert.deepEqual(idsOf(await take(inbox, { labels: ['vip'], max: 5 })), [second])
    const personal = await take(inbox, { category: 'personal', max: 5 })
    assert.deepEqual(idsOf(personal), ids.slice(0, 1))
  })

  test('a claim without a wait ends with its only attempt, however late timers are', async (context) => {
    const inbox = await world.inbox()
    const late = globalThis.setTimeout
    const runLate = (run: () => void, delayMs?: number) => late(run, delayMs || 200)
    context.mock.method(globalThis, 'setTimeout', runLate as typeof setTimeout)
    const answer = await Promise.race([take(inbox), pause(5_000, 'none')])
    assert.deepEqual(answer, [])
  })

  test('a wait ends with the first thread that can be claimed, whatever makes it so', async () => {
    const { inbox, ids } = await inboxWith(1)
    const [id = ''] = ids
    const waits = (fields: object = {}) => take(inbox, { waitSeconds: 30, ...fields })
    const waiting = async (run: () => Promise<unknown>, fields: object = {}) => {
      const wait = waits(fields)
      const early = await Promise.race([wait, pause(150, 'waits')])
      assert.equal(early, 'waits')
      await run()
      const [claim] = await wait
      assert.ok(claim)
      return claim
    }
    const release = ({ threadId, leaseToken }: ClaimedThread, isRead: boolean) =>
      client.threads.releaseClaim(threadId, { isRead }, { leaseToken })

    const [first] = await waits()
    assert.equal(first?.threadId, id)
    // Released unread.
    const second = await waiting(() => release(first, false))
    assert.deepEqual([second.threadId, second.fence], [id, 2])
    // New mail.
    const third = await waiting(() => receive(inbox))
    assert.notEqual(third.threadId, id)
    await release(second, true)
    await release(third, true)
    // Marked as unread.
    const fourth = await waiting(() => client.threads.update(id, { isRead: false }))
    assert.equal(fourth.threadId, id)
    // A label that the filter asks for.
    await release(fourth, false)
    const fifth = await waiting(() => client.threads.update(id, { addLabels: ['now'] }), {
      labels: ['now'],
    })
    // The end of a snooze by a client.
    const snoozedUntil = new Date(world.clock.now() + 3_600_000).toISOString()
    await client.withLease(fifth.leaseToken).threads.update(id, { snoozedUntil, isRead: false })
    await release(fifth, false)
    const sixth = await waiting(() => client.threads.update(id, { snoozedUntil: null }))
    assert.equal(sixth.threadId, id)
  })

  test('a wait ends when a snooze ends and when a lease runs out', async () => {
    const { inbox, ids } = await inboxWith(1)
    const [id = ''] = ids
    const soon = new Date(world.clock.now() + 1_200).toISOString()
    await client.threads.update(id, { snoozedUntil: soon })
    const start = performance.now()
    const [claim] = await take(inbox, { waitSeconds: 30, leaseSeconds: 10 })
    assert.equal(claim?.threadId, id)
    assert.ok(performance.now() - start < 15_000)
    await runSql(world, `update threads set claim_until = claim_until - 9000 where id = '${id}'`)
    const [next] = await take(inbox, { waitSeconds: 40 })
    assert.deepEqual([next?.threadId, next?.fence], [id, 2])
  })

  test('those who came first are served first, and each thread once', async () => {
    const { inbox } = await inboxWith(0)
    const waits: Promise<ClaimedThread[]>[] = []
    for (let index = 0; index < 12; index++) {
      waits.push(take(inbox, { waitSeconds: 30, owner: `w${index}` }))
      await until(async () => (await waiting()) === index + 1)
    }
    for (let each = 0; each < 12; each++) await receive(inbox)
    const { data } = await client.threads.list(inbox.id).page()
    const claimed = (await Promise.all(waits)).map(idsOf)
    assert.deepEqual(
      claimed,
      data.toReversed().map(({ id }) => [id]),
    )
  })

  test('a client that has left takes no thread with it', async () => {
    const { inbox } = await inboxWith(0)
    const gone = new AbortController()
    const left = client.inboxes.claimThreads(
      inbox.id,
      { ...TERMS, owner: 'gone', waitSeconds: 30 },
      { signal: gone.signal, maxRetries: 0 },
    )
    left.catch(() => {})
    await pause(200)
    gone.abort()
    await pause(200)
    await receive(inbox)
    const [claim] = await take(inbox, { waitSeconds: 10 })
    assert.equal(claim?.fence, 1)
  })

  test('a wait ends empty after its time, and with 404 when the inbox is deleted', async () => {
    const { inbox } = await inboxWith(0)
    const start = performance.now()
    assert.deepEqual(await take(inbox, { waitSeconds: 1 }), [])
    assert.ok(performance.now() - start >= 990)
    const wait = take(inbox, { waitSeconds: 30 })
    const refused = refusal(wait)
    await pause(200)
    await client.inboxes.delete(inbox.id)
    assert.equal(await refused, '404 not_found')
  })

  test('wrong fields are named', async () => {
    const { inbox, ids } = await inboxWith(1)
    const [id = ''] = ids
    const base = { owner: 'x', leaseSeconds: 60 }
    for (const [body, path] of [
      [{ leaseSeconds: 60 }, 'owner'],
      [{ owner: 'x' }, 'leaseSeconds'],
      [{ ...base, owner: '' }, 'owner'],
      [{ ...base, owner: 'x'.repeat(201) }, 'owner'],
      [{ ...base, owner: 'a\u0000' }, 'owner'],
      [{ ...base, leaseSeconds: 9 }, 'leaseSeconds'],
      [{ ...base, leaseSeconds: 3_601 }, 'leaseSeconds'],
      [{ ...base, leaseSeconds: 10.5 }, 'leaseSeconds'],
      [{ ...base, leaseSeconds: '60' }, 'leaseSeconds'],
      [{ ...base, more: 1 }, 'more'],
    ] as const) {
      const error = await refusalOf(client.threads.claim(id, body as never))
      assert.deepEqual([error.code, error.details?.[0]?.path], ['bad_request', path])
      const same = await refusalOf(client.inboxes.claimThreads(inbox.id, body as never))
      assert.deepEqual([same.code, same.details?.[0]?.path], ['bad_request', path])
    }
    for (const [fields, path] of [
      [{ max: 0 }, 'max'],
      [{ max: 51 }, 'max'],
      [{ waitSeconds: -1 }, 'waitSeconds'],
      [{ waitSeconds: 61 }, 'waitSeconds'],
      [{ category: 'odd' }, 'category'],
      [{ labels: ['A'] }, 'labels[0]'],
      [{ labels: Array.from({ length: 11 }, (_, at) => `l${at}`) }, 'labels'],
    ] as const) {
      const error = await refusalOf(
        client.inboxes.claimThreads(inbox.id, { ...base, ...fields } as never),
      )
      assert.deepEqual([error.code, error.details?.[0]?.path], ['bad_request', path])
    }
    for (const act of ['renew', 'release']) {
      const init = { method: 'POST', body: '{"leaseSeconds":5,"isRead":1}' }
      const headers = { 'content-type': 'application/json' }
      const answer = await world.fetch(`/v1/threads/${id}/claim/${act}`, { ...init, headers })
      assert.equal(answer.status, 400)
    }
    assert.equal((await client.threads.get(id)).claim, null)
  })

  test('another account cannot claim, renew or release', async () => {
    const { inbox, ids } = await inboxWith(1)
    const [id = ''] = ids
    const { leaseToken } = await client.threads.claim(id, TERMS)
    const other = (await world.newAccount()).client.withLease(leaseToken)
    const acts = [
      () => other.threads.claim(id, TERMS),
      () => other.threads.renewClaim(id),
      () => other.threads.releaseClaim(id),
      () => other.inboxes.claimThreads(inbox.id, TERMS),
    ]
    for (const act of acts) assert.equal(await refusal(act()), '404 not_found')
    assert.equal((await client.threads.get(id)).claim?.fence, 1)
  })
})
