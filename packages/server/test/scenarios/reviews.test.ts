import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { Mailroom } from '@mailroom/sdk'
import pg from 'pg'
import { purgeExpired } from '#removal/removal.ts'
import { expireReviews } from '#reviews/decide-review.ts'
import { reviewUrl } from '#reviews/review-link.ts'
import { runSql } from '#test/peers/sql.ts'
import { browse, signIn } from '#test/scenarios/console-world.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { countOutcomes, outcomeOf, refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import { type Held, holdSend, reviewOf } from '#test/scenarios/review-world.ts'
import {
  arrived,
  fieldOf,
  openSendingTenant,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { type Account, onEachEngine, opened, openSecond, openWorld } from '#test/world.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

onEachEngine('held mail', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  /** An account with an approver and an inbox. */
  async function guarded() {
    const account = await world.newAccount()
    const approver = await account.client.approvers.create({ name: 'Ann' })
    const inbox = await account.client.inboxes.create()
    return { ...account, approver, asApprover: world.clientWith(approver.token), inbox }
  }

  const hold = (by: Account & Awaited<ReturnType<typeof guarded>>, fields = {}, options = {}) =>
    holdSend(world, by.inbox, fields, { client: by.client, ...options })

  const kindsOf = async (client: Account['client']) => {
    await untilReadable(world)
    const { data } = await client.events.list({ limit: 100 }).page()
    return data
  }

  test('by a policy is told, answered with its hold as often as it is sent, and sent once approved', async () => {
    const by = await guarded()
    await by.asApprover.policy.replace({ outbound: { guards: { newRecipients: 'hold' } } })
    const fields = { to: 'stranger@friend.example', subject: 'May I?' }
    const sent = await send(by, by.inbox, fields, 'key-1')
    const { hold, messageId } = sent
    assert.ok(hold !== undefined && sent.status === 'pending')
    assert.deepEqual(await send(by, by.inbox, fields, 'key-1'), sent)
    const held = { reviewId: hold.id, messageId, threadId: sent.threadId, digest: hold.digest }
    const review = await reviewOf(by.client, held)
    assert.deepEqual([review.digest, review.expiresAt], [hold.digest, hold.expiresAt])
    assert.deepEqual(review.reasons, hold.reasons)
    assert.equal(Date.parse(review.expiresAt) - Date.parse(review.createdAt), 7 * DAY_MS)
    const told = (await kindsOf(by.client)).find(({ event }) => event === 'message.held')
    assert.deepEqual([told?.message?.id, told?.hold?.id], [messageId, hold.id])
    const loosen = by.client.policy.replace({ outbound: { guards: {} } })
    assert.equal(await refusal(loosen), '403 approver_required')
    await by.asApprover.reviews.approve(hold.id, { digest: hold.digest })
    assert.equal((await settled(by, sent)).status, 'sent')
    // An approval is for one message.
    const next = await send(by, by.inbox, fields)
    assert.deepEqual(next.hold?.reasons, hold.reasons)
  })

  test('says that a page is not whole where a style tells the page from the mail', async () => {
    const by = await guarded()
    const bodyHtml = `<style>.a:not([data-k]){display:none}</style><p>See you Monday.</p>
      <p class="a" data-k="1">CUSTOMER LIST</p>`
    const held = await hold(by, { bodyHtml })
    const { display } = await by.asApprover.reviews.get(held.reviewId)
    assert.deepEqual([display.isWhole, display.isHtmlWhole, display.hidden], [false, false, null])
  })

  test('counts the characters that nobody sees in every field, and those of the HTML on no page', async () => {
    const by = await guarded()
    const tag = '\u{e0041}'
    const fields = {
      subject: `Hi${tag}`,
      body: `Text\u3164 with a family: 👩‍👩‍👧‍👦`,
      bodyHtml: `<p title="&#x200b;">HTML&#xe0041;</p><i data-x="CARD 4711"></i><!--four-->`,
      headers: { 'X-Case': `7${tag}` },
      attachments: [{ filename: 'a\uffa0.txt', contentType: 'text/plain', data: Buffer.from('x') }],
    }
    const held = await hold(by, fields)
    const { display } = await by.asApprover.reviews.get(held.reviewId)
    assert.deepEqual([display.isWhole, display.invisible, display.unshown], [true, 6, 13])
  })

  test('never goes to an address that looks like another one', async () => {
    const by = await guarded()
    const plain = { to: 'a@x.example', subject: 'S', body: 'B' }
    const refused: [string, string, string][] = [
      ['to', 'a\u{e0068}@x.example', 'U+E0068'],
      ['to', 'a\u3164@x.example', 'U+3164'],
      ['to', 'a@x\u200d.example', 'U+200D'],
      ['to', 'Ann\u{e0041} <a@x.example>', 'U+E0041'],
      ['to', '"Ann\u2800" <a@x.example>', 'U+2800'],
      ['cc', 'a\u034f@x.example', 'U+034F'],
      ['bcc', 'Ann <a\ufe0f@x.example>', 'U+FE0F'],
      ['replyTo', 'a\uffa0@x.example', 'U+FFA0'],
    ]
    for (const [field, address, character] of refused) {
      const value = field === 'to' || field === 'replyTo' ? address : [address]
      const body = { ...plain, [field]: value }
      const error = await by.client.inboxes.checkSend(by.inbox.id, body).catch((thrown) => thrown)
      assert.equal(error.status, 400, address)
      assert.match(
        JSON.stringify(error.body ?? error),
        new RegExp(`${character.replace('+', '\\+')}, which`),
      )
    }
    for (const to of ['👩‍👩‍👧 ❤️ <a@x.example>', 'می‌خواهم <a@x.example>', 'ü@bücher.example']) {
      const { decision } = await by.client.inboxes.checkSend(by.inbox.id, { ...plain, to })
      assert.notEqual(decision, undefined)
    }
  })

  test('is shown to the agent and to the approver exactly as it will be sent, with its thread', async () => {
    const by = await guarded()
    const first = await send(by, by.inbox, { subject: 'Before' })
    const fields = {
      threadId: first.threadId,
      cc: ['carol@friend.example'],
      bcc: ['dora@friend.example'],
      headers: { 'X-Case': '7' },
      bodyHtml: '<p>Hello</p><p style="font-size:1px">Tiny</p><img src="https://a.example/b.png">',
    }
    const held = await hold(by, fields)
    for (const client of [by.client, by.asApprover]) {
      const { content, thread, display, versions, comments, ...review } = await client.reviews.get(
        held.reviewId,
      )
      assert.deepEqual([versions, comments], [[], []])
      assert.deepEqual([review.status, review.digest], ['pending', held.digest])
      assert.deepEqual(review.bcc, ['dora@friend.example'])
      assert.deepEqual(content.headers, { 'X-Case': '7' })
      assert.match(content.bodyText, /^A body\./)
      assert.match(content.bodyHtml, /Hello/)
      assert.deepEqual(display, {
        isWhole: true,
        isHtmlWhole: true,
        blockedImages: 1,
        blockedStyles: 0,
        hidden: '4 characters in a font of 2 pixels or less',
        invisible: 0,
        unshown: 0,
      })
      assert.deepEqual(
        thread.data.map(({ id }) => id),
        [first.messageId, held.messageId],
      )
      assert.deepEqual(await reviewOf(client, held), review)
      const listed = await client.reviews.list({ status: 'pending' }).page()
      assert.deepEqual([listed.data, listed.total], [[review], 1])
    }
    assert.equal((await by.client.reviews.list({ status: 'approved' }).page()).total, 0)
    assert.equal((await by.client.reviews.list({ inboxId: by.inbox.id }).page()).total, 1)
  })

  test('has the uploads and files of messages that it attaches, by name and content', async () => {
    const by = await guarded()
    await by.asApprover.policy.replace({ outbound: { guards: { newRecipients: 'hold' } } })
    const content = Buffer.from('a,b\n1,2\n')
    const upload = await by.client.uploads.create(content, { filename: 'report.csv' })
    const sent = await send(by, by.inbox, {
      to: 'stranger@friend.example',
      attachments: [{ uploadId: upload.id }, { uploadId: upload.id, filename: 'again.txt' }],
    })
    assert.ok(sent.hold)
    const held = { ...sent, reviewId: sent.hold.id, digest: sent.hold.digest }
    // Compares the digest with that of the content that the approver sees.
    assert.equal((await reviewOf(by.asApprover, held)).digest, held.digest)
    const { attachments } = (await by.asApprover.reviews.get(held.reviewId)).content
    assert.deepEqual(
      attachments.map(({ filename, contentType, sha256 }) => [filename, contentType, sha256]),
      [
        ['report.csv', 'text/csv', upload.sha256],
        ['again.txt', 'text/csv', upload.sha256],
      ],
    )
    assert.equal(upload.sha256, hash('sha256', content))
    await by.client.uploads.delete(upload.id)
    const link = { accountId: by.id, reviewId: held.reviewId, approverId: by.approver.id }
    const page = await (
      await fetch(reviewUrl(world.app.deps, { ...link, digest: held.digest }))
    ).text()
    const file = /href="([^"]+)" rel="noreferrer">report\.csv</.exec(page)?.[1] ?? ''
    const shown = await fetch(new URL(file.replaceAll('&amp;', '&'), world.baseUrl))
    assert.deepEqual(Buffer.from(await shown.arrayBuffer()), content)
    await by.asApprover.reviews.approve(held.reviewId, { digest: held.digest })
    assert.equal((await settled(by, sent)).status, 'sent')
  })

  test('is never decided by a key, be it its own, another’s or in a session', async () => {
    const by = await guarded()
    const { reviewId, digest } = await hold(by)
    const other = await guarded()
    for (const client of [by.client, other.client]) {
      const approve = client.reviews.approve(reviewId, { digest })
      assert.equal(await refusal(approve), '403 approver_required')
      const items = [{ id: reviewId, digest }]
      assert.equal(await refusal(client.reviews.approveMany({ items })), '403 approver_required')
      assert.equal(await refusal(client.reviews.reject(reviewId)), '403 approver_required')
    }
    const session = await signIn(world, by.key)
    const init = { method: 'POST', body: JSON.stringify({ digest }) }
    const inSession = browse(world, session, `/v1/reviews/${reviewId}/approve`, init)
    assert.equal(await outcomeOf(inSession), '403 approver_required')
    const foreign = other.asApprover.reviews.approve(reviewId, { digest })
    assert.equal(await refusal(foreign), '404 not_found')
    assert.equal((await by.client.reviews.get(reviewId)).status, 'pending')
  })

  test('is sent once approved, signed then, with the Message-ID of the answer', async () => {
    const by = await guarded()
    const held = await hold(by, { to: 'approved@friend.example' })
    const session = await signIn(world, by.approver.token)
    const init = { method: 'POST', body: JSON.stringify({ digest: held.digest }) }
    const path = `/v1/reviews/${held.reviewId}/approve`
    assert.equal(await outcomeOf(browse(world, session, path, init)), '200')
    const review = await reviewOf(by.client, held)
    assert.deepEqual([review.status, review.decidedBy], ['approved', by.approver.id])
    const message = await settled(by, held)
    assert.equal(message.status, 'sent')
    const { raw } = await arrived(world, { providerMessageId: message.rfcMessageId ?? '' })
    assert.ok(fieldOf(raw, 'dkim-signature') !== null)
    const again = by.asApprover.reviews.approve(held.reviewId, { digest: held.digest })
    const refused = await refusalOf(again)
    assert.deepEqual([refused.status, refused.code], [409, 'review_decided'])
    assert.equal(await refusal(by.asApprover.reviews.reject(held.reviewId)), '409 review_decided')
  })

  test('is approved only by the digest of what waits', async () => {
    const by = await guarded()
    const held = await hold(by)
    for (const digest of ['x', held.digest.toUpperCase(), `${held.digest} `]) {
      const approve = by.asApprover.reviews.approve(held.reviewId, { digest })
      const refused = await refusalOf(approve)
      assert.deepEqual([refused.status, refused.code], [409, 'review_changed'])
      assert.equal(refused.body.digest, held.digest)
    }
    assert.equal((await reviewOf(by.client, held)).status, 'pending')
  })

  test('that is rejected is never sent, and the agent is told why', async () => {
    const by = await guarded()
    const held = await hold(by, { to: 'rejected@friend.example' })
    const rejected = await by.asApprover.reviews.reject(held.reviewId, { reason: 'Not to Bob.' })
    assert.deepEqual(
      [rejected.status, rejected.decidedReason, rejected.decidedBy],
      ['rejected', 'Not to Bob.', by.approver.id],
    )
    const message = await by.client.messages.get(held.messageId)
    assert.deepEqual([message.status, message.failureReason], ['failed', 'rejected'])
    const told = (await kindsOf(by.client)).find(({ event }) => event === 'message.rejected')
    assert.deepEqual(told?.review, {
      id: held.reviewId,
      status: 'rejected',
      reason: 'Not to Bob.',
    })
    const late = by.asApprover.reviews.approve(held.reviewId, { digest: held.digest })
    assert.equal(await refusal(late), '409 review_decided')
    assert.equal((await by.client.messages.deliveries(held.messageId).page()).total, 0)
  })

  test('that nobody decides expires after seven days, and time sends nothing', async () => {
    const by = await guarded()
    const held = await hold(by)
    world.clock.advance(7 * DAY_MS - MINUTE_MS)
    await expireReviews(world.app.deps, new AbortController().signal)
    assert.equal((await reviewOf(by.client, held)).status, 'pending')
    world.clock.advance(2 * MINUTE_MS)
    await until(async () => (await reviewOf(by.client, held)).status !== 'pending')
    const review = await reviewOf(by.client, held)
    assert.deepEqual([review.status, review.decidedBy], ['expired', null])
    const message = await by.client.messages.get(held.messageId)
    assert.deepEqual([message.status, message.failureReason], ['failed', 'review_expired'])
    const told = (await kindsOf(by.client)).find(({ event }) => event === 'message.rejected')
    assert.equal(told?.review?.status, 'expired')
    assert.equal((await by.client.messages.deliveries(held.messageId).page()).total, 0)
  })

  test('stays pending when a suppression or a limit refuses it, and can be approved afterwards', async () => {
    const by = await guarded()
    const held = await hold(by, { to: 'blocked@friend.example' })
    await by.client.suppressions.create({ address: 'blocked@friend.example' })
    const approve = () => by.asApprover.reviews.approve(held.reviewId, { digest: held.digest })
    assert.equal(await refusal(approve()), '422 recipient_suppressed')
    assert.equal((await reviewOf(by.client, held)).status, 'pending')
    await by.client.suppressions.delete('blocked@friend.example')
    assert.equal((await approve()).status, 'approved')
    assert.equal((await settled(by, held)).status, 'sent')
  })

  test('can be approved many at once, each judged alone', async () => {
    const by = await guarded()
    const [good, wrong, decided] = [await hold(by), await hold(by), await hold(by)]
    await by.asApprover.reviews.reject(decided.reviewId)
    const items = [
      { id: wrong.reviewId, digest: good.digest },
      { id: decided.reviewId, digest: decided.digest },
      { id: 'hld_none', digest: 'x' },
      { id: good.reviewId, digest: good.digest },
    ]
    const { data } = await by.asApprover.reviews.approveMany({ items })
    assert.deepEqual(
      data.map(({ id, status, error, review }) => [id, status, error?.error ?? review?.status]),
      [
        [wrong.reviewId, 409, 'review_changed'],
        [decided.reviewId, 409, 'review_decided'],
        ['hld_none', 404, 'not_found'],
        [good.reviewId, 200, 'approved'],
      ],
    )
    const many = Array.from({ length: 51 }, () => ({ id: 'hld_x', digest: 'x' }))
    const tooMany = by.asApprover.reviews.approveMany({ items: many })
    assert.equal(await refusal(tooMany), '400 bad_request')
  })

  test('that its sender cancels is decided, and its review says so', async () => {
    const by = await guarded()
    const held = await hold(by)
    await by.client.messages.cancel(held.messageId)
    const review = await reviewOf(by.client, held)
    assert.deepEqual([review.status, review.decidedReason], ['rejected', 'cancelled'])
    const late = by.asApprover.reviews.approve(held.reviewId, { digest: held.digest })
    assert.equal(await refusal(late), '409 review_decided')
  })

  test('with a time waits for it after its approval', async () => {
    const by = await guarded()
    const sendAt = new Date(world.clock.now() + 2 * 60 * MINUTE_MS).toISOString()
    const held = await hold(by, { to: 'later@friend.example' }, { sendAt })
    await by.asApprover.reviews.approve(held.reviewId, { digest: held.digest })
    assert.equal((await by.client.messages.get(held.messageId)).status, 'pending')
    assert.equal((await by.client.messages.deliveries(held.messageId).page()).total, 0)
    world.clock.advance(2 * 60 * MINUTE_MS + 1_000)
    assert.equal((await settled(by, held)).status, 'sent')
  })

  test('goes with its inbox, and approvers can read its review for ninety days', async () => {
    const by = await guarded()
    const held = await hold(by, { subject: 'The evidence', bodyHtml: '<p>Some HTML.</p>' })
    const { content } = await by.asApprover.reviews.get(held.reviewId)
    await by.client.inboxes.delete(by.inbox.id)
    const stored = `select id from reviews where id = '${held.reviewId}' and kept_until is not null`
    await until(async () => (await runSql(world, stored)).length === 1)
    const approve = by.asApprover.reviews.approve(held.reviewId, { digest: held.digest })
    assert.equal(await refusal(approve), '409 review_decided')
    const kept = await by.asApprover.reviews.get(held.reviewId)
    assert.deepEqual(kept.content, content)
    assert.deepEqual(
      [kept.status, kept.decidedReason, kept.isMessageDeleted, kept.thread.data],
      ['rejected', 'message_deleted', true, []],
    )
    const listed = await by.asApprover.reviews.list().page()
    assert.deepEqual([listed.total, listed.data[0]?.subject], [1, 'The evidence'])
    // The inbox is gone for the keys of the account, and its reviews are too.
    assert.equal((await by.client.reviews.list().page()).total, 0)
    assert.equal(await refusal(by.client.reviews.get(held.reviewId)), '404 not_found')
    await runSql(world, `update reviews set kept_until = 1 where id = '${held.reviewId}'`)
    await purgeExpired(world.app.deps, new AbortController().signal)
    assert.equal(await refusal(by.asApprover.reviews.get(held.reviewId)), '404 not_found')
  })

  test('that is equal to others is one entry with their number, and they are rejected together', async () => {
    const by = await guarded()
    await by.asApprover.policy.replace({ outbound: { guards: { newRecipients: 'hold' } } })
    const fields = { to: 'stranger@friend.example', subject: 'May I?' }
    const sends = []
    for (let made = 0; made < 3; made += 1) sends.push(await send(by, by.inbox, fields))
    const other = await send(by, by.inbox, { ...fields, body: 'Another text.' })
    const pending = () => by.asApprover.reviews.list({ status: 'pending' }).page()
    const { data, total } = await pending()
    assert.deepEqual(
      [total, data.map(({ id, equalCount }) => [id, equalCount])],
      [
        2,
        [
          [other.hold?.id, 1],
          [sends[2]?.hold?.id, 3],
        ],
      ],
    )
    const [, row] = data
    const expected = sends.slice(0, 2).toReversed()
    assert.deepEqual(
      row?.equal,
      expected.map(({ hold: one, messageId }) => ({
        id: one?.id,
        digest: one?.digest,
        messageId,
      })),
    )
    // A decision is for one, unless it says otherwise.
    await by.asApprover.reviews.approve(row.id, { digest: row.digest })
    assert.equal((await by.asApprover.reviews.get(row.equal[0]?.id ?? '')).equalCount, 2)
    await by.asApprover.reviews.reject(row.equal[0]?.id ?? '', { includeEqual: true })
    assert.deepEqual(
      (await pending()).data.map(({ id }) => id),
      [other.hold?.id],
    )
    assert.equal((await by.asApprover.reviews.list({ status: 'rejected' }).page()).total, 2)
  })
})

const DECISIONS = sizeOf('TEST_MAILROOM_DECISIONS', { quick: 40, usual: 100, long: 1_000 })

onEachEngine('decisions about one held message at once', (engine) => {
  const world = opened(() => openSendingTenant(engine))
  const closing: (() => Promise<void>)[] = []
  after(() => Promise.all(closing.map((close) => close())))

  async function withTwoApprovers() {
    const client = await world.newAccount()
    const ann = await client.client.approvers.create({ name: 'Ann' })
    const eve = await world.clientWith(ann.token).approvers.create({ name: 'Eve' })
    return { client, ann, eve, inbox: await client.client.inboxes.create() }
  }

  /** Has the database run the statement in the transaction that approves the review. */
  async function onApproval(reviewId: string, statement: string): Promise<void> {
    const name = `on_${reviewId}`
    const isApproved = `when (new.id = '${reviewId}' and new.status = 'approved')`
    if (engine === 'sqlite') {
      const text = `create trigger ${name} after update on reviews ${isApproved} begin ${statement}; end`
      await runSql(world, text)
      return
    }
    await runSql(
      world,
      `create function ${name}() returns trigger language plpgsql as $$ begin ${statement}; return new; end $$`,
    )
    await runSql(
      world,
      `create trigger ${name} after update on reviews for each row ${isApproved} execute function ${name}()`,
    )
  }

  /** Holds a row until it is released, as a slow transaction of another program does. */
  async function lockRow(table: string, condition: string) {
    const holder = new pg.Client({ connectionString: world.settings.databaseUrl ?? '' })
    await holder.connect()
    await holder.query('begin')
    await holder.query(`select 1 from ${table} where ${condition} for update`)
    closing.push(() => holder.end())
    return {
      /** Transactions that wait for a lock. */
      async countWaiting(): Promise<number> {
        const waiting = `select count(*) as count from pg_stat_activity
          where wait_event_type = 'Lock' and datname = current_database()`
        return Number((await runSql(world, waiting))[0]?.count)
      },
      release: () => holder.query('rollback'),
    }
  }

  test('end in one, over two processes', async () => {
    const addresses = [world.baseUrl]
    if (engine === 'postgres') {
      const second = await openSecond(world)
      closing.push(() => second.close(1_000))
      addresses.push(second.http?.address ?? '')
    }
    const { token } = await world.client.approvers.create({ name: 'Ann' })
    const inbox = await world.inbox()
    const helds: Held[] = []
    for (let round = 0; round < 3; round += 1) helds.push(await holdSend(world, inbox))
    for (const held of helds) {
      const decide = (index: number) => {
        const [verb, body] = index % 2 === 0 ? ['approve', { digest: held.digest }] : ['reject', {}]
        return fetch(`${addresses[index % addresses.length]}/v1/reviews/${held.reviewId}/${verb}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      }
      const order = Array.from({ length: DECISIONS }, (_, index) => (index * 7 + 3) % DECISIONS)
      const outcomes = await Promise.all(order.map((index) => outcomeOf(decide(index))))
      const others = outcomes.filter((outcome) => outcome !== '200')
      assert.equal(others.length, DECISIONS - 1)
      // A busy store puts a decision off.
      const lost = ['409 review_decided', '503 service_unavailable']
      assert.ok(
        others.every((outcome) => lost.includes(outcome)),
        String(others),
      )
      const review = await world.client.reviews.get(held.reviewId)
      const isApproved = review.status === 'approved'
      assert.equal((await settled(world, held)).status, isApproved ? 'sent' : 'failed')
      const { total } = await world.client.messages.deliveries(held.messageId).page()
      assert.equal(total, isApproved ? 1 : 0)
    }
  })

  test('of a deleted approver count no more', async () => {
    const account = await world.newAccount()
    const [first, second] = [
      await account.client.approvers.create({ name: 'first' }),
      await account.client.approvers.create({ name: 'x' }).catch(() => null),
    ]
    assert.equal(second, null)
    const gone = await world.clientWith(first.token).approvers.create({ name: 'second' })
    const inbox = await account.client.inboxes.create()
    const { reviewId, digest } = await holdSend(world, inbox, {}, account)
    await world.clientWith(first.token).approvers.delete(gone.id)
    const counts = await countOutcomes([
      world.clientWith(gone.token).reviews.approve(reviewId, { digest }),
      world.clientWith(gone.token).reviews.reject(reviewId),
    ])
    assert.deepEqual(counts, { '401 unauthorized': 2 })
  })

  test('end within a bulk approval when its approver is deleted', async () => {
    const { client, ann, eve, inbox } = await withTwoApprovers()
    const helds: Held[] = []
    for (let count = 0; count < 4; count += 1) helds.push(await holdSend(world, inbox, {}, client))
    const [first, second] = helds
    assert.ok(first !== undefined && second !== undefined)
    // The deletion falls between the second item and the third.
    await onApproval(second.reviewId, `update approvers set deleted_at = 1 where id = '${eve.id}'`)
    const items = helds.map(({ reviewId: id, digest }) => ({ id, digest }))
    const { data } = await world.clientWith(eve.token).reviews.approveMany({ items })
    assert.deepEqual(
      data.map(({ status, error }) => [status, error?.error ?? null]),
      [
        [200, null],
        [200, null],
        [401, 'unauthorized'],
        [401, 'unauthorized'],
      ],
    )
    const pending = await world.clientWith(ann.token).reviews.list({ status: 'pending' }).page()
    assert.deepEqual(
      pending.data.map(({ id }) => id),
      helds
        .slice(2)
        .map(({ reviewId }) => reviewId)
        .reverse(),
    )
  })

  if (engine === 'postgres') {
    test('do not count when the approver is deleted before the decision is stored', async () => {
      const { client, ann, eve, inbox } = await withTwoApprovers()
      const { id: accountId } = client
      const held = await holdSend(world, inbox, {}, client)
      const { reviewId, digest } = held
      const link = reviewUrl(world.app.deps, { accountId, reviewId, approverId: eve.id, digest })
      const session = await signIn(world, eve.token)
      const init = { method: 'POST', body: JSON.stringify({ digest }) }
      const lock = await lockRow('waiting_sends', `message_id = '${held.messageId}'`)
      const decisions = [
        fetch(`${link}/approve`, { method: 'POST' }),
        fetch(`${link}/reject`, { method: 'POST' }),
        browse(world, session, `/v1/reviews/${reviewId}/approve`, init),
        browse(world, session, `/v1/reviews/${reviewId}/reject`, { method: 'POST', body: '{}' }),
      ]
      await until(async () => (await lock.countWaiting()) >= decisions.length)
      await world.clientWith(ann.token).approvers.delete(eve.id)
      await lock.release()
      const outcomes = await Promise.all(decisions.map(outcomeOf))
      const [dead, signedOut] = ['404 not_found', '401 unauthorized']
      assert.deepEqual(outcomes, [dead, dead, signedOut, signedOut])
      assert.equal((await reviewOf(client.client, held)).status, 'pending')
    })

    test('are accepted while the writes of the account’s key are refused', async () => {
      const { client, ann, inbox } = await withTwoApprovers()
      const held = await holdSend(world, inbox, {}, client)
      const { messageId } = await holdSend(world, inbox, {}, client)
      const lock = await lockRow('messages', `id = '${messageId}'`)
      const flood: Promise<Record<string, number>>[] = []
      const isFlooded = async () => {
        flood.push(countOutcomes([client.client.messages.cancel(messageId)]))
        const latest = await Promise.race([flood.at(-1), sleep(20)])
        return latest?.['503 service_unavailable'] === 1
      }
      await until(isFlooded)
      const approve = world
        .clientWith(ann.token)
        .reviews.approve(held.reviewId, { digest: held.digest })
      assert.equal((await approve).status, 'approved')
      const rules = world.clientWith(ann.token).policy.createRule({
        direction: 'outbound',
        type: 'block',
        value: 'stop@friend.example',
      })
      assert.equal((await rules).value, 'stop@friend.example')
      assert.equal(await Promise.race([flood[0], 'waiting']), 'waiting', 'nobody waited for it')
      await lock.release()
      await Promise.all(flood)
    })
  }
})

const HELD_MAX = 6

onEachEngine('the limit of held mail', (engine) => {
  const world = opened(() =>
    openWorld(engine, {
      env: {
        MAILROOM_LIMIT_HELD_PER_INBOX: String(HELD_MAX),
        MAILROOM_LIMIT_SENDS_PER_MINUTE: '20',
      },
    }),
  )

  async function guarded() {
    const { client, key } = await world.newAccount()
    const { token } = await client.approvers.create({ name: 'Ann' })
    const asApprover = world.clientWith(token)
    await asApprover.policy.replace({ outbound: { guards: { newRecipients: 'hold' } } })
    return { client, key, asApprover, inbox: await client.inboxes.create() }
  }
  const ask = { to: 'stranger@friend.example', subject: 'May I?', body: 'Please.' }

  test('is exact when many are sent at once, over processes, and says so', async () => {
    const { client, key, asApprover, inbox } = await guarded()
    await using second = engine === 'postgres' ? await openSecond(world) : null
    const there = new Mailroom({ apiKey: key, baseUrl: second?.http?.address ?? world.baseUrl })
    const counts = await countOutcomes(
      Array.from({ length: 3 * HELD_MAX }, (_, index) =>
        (index % 2 === 0 ? client : there).inboxes.send(inbox.id, ask),
      ),
    )
    assert.deepEqual(counts, { done: HELD_MAX, '429 rate_limit_exceeded': 2 * HELD_MAX })
    const refused = await refusalOf(client.inboxes.send(inbox.id, ask))
    const { scope, limit, resetsAt } = refused.body
    assert.deepEqual([scope, limit], ['held', HELD_MAX])
    const [oldest] = (await asApprover.reviews.list({ status: 'pending' }).page()).data
    assert.ok(Date.parse(String(resetsAt)) <= Date.parse(oldest?.expiresAt ?? ''))
    const { heldMessages, sendsPerDay } = await client.inboxes.limits(inbox.id)
    assert.deepEqual([heldMessages.used, heldMessages.remaining], [HELD_MAX, 0])
    // A refused send uses up nothing, and a held one counts once.
    assert.equal(sendsPerDay.used, HELD_MAX)
    // A decision makes room, and its message is not counted again.
    await asApprover.reviews.approve(oldest?.id ?? '', { digest: oldest?.digest ?? '' })
    assert.equal((await client.inboxes.limits(inbox.id)).sendsPerDay.used, HELD_MAX)
    assert.ok((await client.inboxes.send(inbox.id, ask)).hold !== undefined)
    const last = await refusalOf(client.inboxes.send(inbox.id, ask))
    assert.equal(last.body.scope, 'held')
  })

  test('lets due messages that policy holds by now wait until there is room', async () => {
    const { client, asApprover, inbox } = await guarded()
    await asApprover.policy.replace({ outbound: {} })
    const sendAt = new Date(world.clock.now() + 60 * MINUTE_MS).toISOString()
    for (let made = 0; made < HELD_MAX + 2; made += 1) {
      await client.inboxes.send(inbox.id, { ...ask, subject: `Later ${made}`, sendAt })
    }
    await asApprover.policy.replace({ outbound: { guards: { newRecipients: 'hold' } } })
    const pending = async () => (await asApprover.reviews.list({ status: 'pending' }).page()).data
    world.clock.advance(61 * MINUTE_MS)
    await until(async () => (await pending()).length === HELD_MAX)
    assert.equal((await client.inboxes.scheduled(inbox.id).page()).total, HELD_MAX + 2)
    const [first] = await pending()
    await asApprover.reviews.reject(first?.id ?? '')
    await until(async () => {
      world.clock.advance(MINUTE_MS)
      return (await pending()).length === HELD_MAX
    })
    assert.equal((await client.inboxes.scheduled(inbox.id).page()).total, HELD_MAX + 1)
  })

  test('counts a held send when it is filed, against the number of a minute too', async () => {
    const { client, asApprover, inbox } = await guarded()
    world.clock.advance(2 * MINUTE_MS)
    for (let sent = 0; sent < 20; sent += 1) {
      const { hold } = await client.inboxes.send(inbox.id, ask)
      await asApprover.reviews.reject(hold?.id ?? '')
    }
    const refused = await refusalOf(client.inboxes.send(inbox.id, ask))
    assert.deepEqual([refused.body.scope, refused.body.limit], ['inbox', 20])
  })
})
