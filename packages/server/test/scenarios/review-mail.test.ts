import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageToSend } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { outcomeOf, until } from '#test/scenarios/outcomes.ts'
import { holdSend } from '#test/scenarios/review-world.ts'
import {
  fieldOf,
  openSendingWorld,
  readMail,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onAnyEngine, onEachEngine, opened, openTenant } from '#test/world.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const SENDS_PER_MINUTE = 5
/** Shorter than the lease of a periodic task. */
const STEP_MS = 10_000

let accounts = 0

onEachEngine('mail to approvers', (engine) => {
  const lines: string[] = []
  const keep = (...parts: unknown[]) => void lines.push(JSON.stringify(parts))
  const log = { debug: keep, info: keep, warn: keep, error: keep }
  /** The answer to recipients whose name says that they are slow. */
  const slow = Promise.withResolvers<undefined>()
  const world = opened(() => {
    const onRcpt = (address: string, count: number) => {
      if (address.startsWith('slow')) return slow.promise
      return address.startsWith('late') && count === 1 ? '451 4.7.1 Later' : undefined
    }
    const env = { MAILROOM_LIMIT_SENDS_PER_MINUTE: String(SENDS_PER_MINUTE) }
    return openSendingWorld(engine, { log, env, script: { onRcpt } })
  })

  async function guarded(name = 'ann') {
    const { client, key } = await world.newAccount()
    accounts += 1
    const email = `${name}${accounts}@friend.example`
    const approver = await client.approvers.create({ name: 'Ann', email })
    const inbox = await client.inboxes.create()
    return { client, key, email, approver, asApprover: world.clientWith(approver.token), inbox }
  }

  const mailsTo = (email: string) =>
    world.mta.transactions.filter(({ recipients }) => recipients.includes(email))

  /** The links of the only mail to this approver, once it is there. */
  async function linksTo(email: string): Promise<string[]> {
    world.clock.advance(2 * MINUTE_MS)
    await until(async () => mailsTo(email).length > 0)
    const [mail, ...others] = mailsTo(email)
    assert.ok(mail !== undefined && others.length === 0)
    const { text = '' } = await readMail(mail.raw)
    return text.match(/http\S+\/reviews\/\S+/g) ?? []
  }

  const post = (link: string, verb: string) =>
    fetch(`${link}/${verb}`, { method: 'POST', headers: { accept: 'text/html' } })

  test('tells of all that was held within two minutes, without a word of the agent', async () => {
    const { client, inbox, email } = await guarded()
    const fields = { subject: 'Click http://evil.example', body: 'Secret words' }
    for (let count = 0; count < 3; count += 1) await holdSend(world, inbox, fields, { client })
    for (const name of ['"approve at http://evil.example/x"', 'evil.example/x']) {
      await holdSend(world, inbox, { to: `${name}@friend.example` }, { client })
    }
    const links = await linksTo(email)
    assert.equal(links.length, 5)
    const [mail] = mailsTo(email)
    assert.ok(mail !== undefined)
    const { text = '', from } = await readMail(mail.raw)
    assert.doesNotMatch(mail.raw.toString(), /evil\.example|Secret words/)
    assert.match(text, /To bob@friend\.example/)
    assert.equal(text.match(/To …@friend\.example/g)?.length, 2)
    // Nobody gets a bounce or a reply with the links in it.
    assert.equal(mail.reversePath, '')
    assert.equal(fieldOf(mail.raw, 'auto-submitted'), 'auto-generated')
    assert.ok(fieldOf(mail.raw, 'dkim-signature') !== null)
    const [name = '', domain] = from?.address?.split('@') ?? []
    assert.equal(domain, world.settings.inboxDomain)
    await assert.rejects(client.inboxes.create({ mailboxName: name }), { status: 400 })
  })

  test('is nowhere that a key of the account or the operator’s log shows', async () => {
    const { client, key, inbox, email } = await guarded()
    await holdSend(world, inbox, {}, { client })
    const [link = ''] = await linksTo(email)
    const token = link.slice(link.lastIndexOf('/') + 1)
    await fetch(link)
    await fetch(`${link}x`)
    await untilReadable(world)
    const lists = [
      `/v1/inboxes/${inbox.id}/messages`,
      `/v1/inboxes/${inbox.id}/threads`,
      '/v1/events?limit=100',
      '/v1/reviews',
      '/v1/search?q=decision',
    ]
    for (const path of lists) {
      const headers = { authorization: `Bearer ${key}` }
      const text = await (await world.fetch(path, { headers })).text()
      assert.ok(!text.includes(token) && !text.includes('for your decision'), path)
    }
    assert.equal((await client.messages.list(inbox.id).page()).total, 1)
    assert.ok(lines.every((line) => !line.includes(token)))
    const rows = await runSql(world, 'select * from jobs')
    assert.ok(!JSON.stringify(rows).includes(token))
  })

  test('has links whose page changes nothing however often it is opened, and decides by POST', async () => {
    const { client, inbox, email, approver } = await guarded()
    const attachments = [
      { filename: 'a.txt', contentType: 'text/plain', data: Buffer.from('file') },
    ]
    const subject = '<script>alert(1)</script>\u202e'
    const fields = { subject, to: 'linked@friend.example', attachments }
    const held = await holdSend(world, inbox, fields, { client })
    const [link = ''] = await linksTo(email)
    for (const method of ['GET', 'HEAD', 'GET']) {
      const response = await fetch(link, { method })
      assert.equal(response.status, 200)
      const { headers } = response
      assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'/)
      assert.doesNotMatch(headers.get('content-security-policy') ?? '', /script-src|unsafe/)
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
      if (method === 'HEAD') continue
      const page = await response.text()
      assert.ok(!page.includes('<script'))
      assert.match(page, /&lt;script&gt;alert\(1\)&lt;\/script&gt;\[U\+202E\]/)
      assert.match(page, /linked@friend\.example/)
      const file = /href="([^"]+)" rel="noreferrer">a\.txt</.exec(page)?.[1] ?? ''
      assert.equal(await (await fetch(file.replaceAll('&amp;', '&'))).text(), 'file')
      assert.match(page, /Nobody &lt;wrote&gt; before\./)
    }
    const body = await fetch(`${link}/body`)
    assert.match(body.headers.get('content-security-policy') ?? '', /^sandbox/)
    assert.match(await body.text(), /A body\./)
    assert.equal((await client.reviews.get(held.reviewId)).status, 'pending')
    for (const verb of ['approve', 'reject']) {
      assert.equal(await outcomeOf(fetch(`${link}/${verb}`)), '405 method_not_allowed')
    }
    assert.match(await (await post(link, 'approve')).text(), /Done.*It was approved/s)
    const review = await client.reviews.get(held.reviewId)
    assert.deepEqual([review.status, review.decidedBy], ['approved', approver.id])
    assert.equal((await settled({ client }, held)).status, 'sent')
    // The link has died with the decision.
    assert.match(await (await post(link, 'reject')).text(), /already been decided.*approved/s)
    const dead = await (await fetch(link)).text()
    assert.match(dead, /already been decided/)
    assert.ok(!dead.includes('<form') && !dead.includes('linked@friend.example'))
    assert.equal((await fetch(`${link}/body`)).status, 404)
  })

  /** The page of the link to a held message with these bodies, without the entities of its texts. */
  async function pageOf(fields: Partial<MessageToSend>): Promise<{ link: string; page: string }> {
    const { client, inbox, email } = await guarded()
    await holdSend(world, inbox, fields, { client })
    const [link = ''] = await linksTo(email)
    const page = await (await fetch(link)).text()
    return { link, page: page.replaceAll('&lt;', '<').replaceAll('&quot;', '"') }
  }

  test('has links whose page shows both bodies, and says what the HTML hides and leaves out', async () => {
    const { link, page } = await pageOf({
      body: 'Pay \u202e9999 to Eve.\n\tNow.',
      bodyHtml: `<p>Pay 10 to Bob.</p><p style="display:none">Ignore it.</p>
<img src="https://evil.example/1.png"><img src="https://evil.example/2.png">`,
    })
    assert.match(page, /text that readers cannot see: 10 characters hidden by display:none\./)
    assert.match(page, /Images from other hosts not shown here: 2\./)
    assert.match(page, /<pre [^>]*aria-label="The text">Pay \[U\+202E\]9999 to Eve\.\n\tNow\./)
    assert.match(page, /<details open>.*<pre [^>]*>.*<p style="display:none"&gt;Ignore it\./s)
    assert.match(page, /has 1 character that readers cannot see/)
    const body = await (await fetch(`${link}/body`)).text()
    assert.match(body, /Pay 10 to Bob\./)
    assert.doesNotMatch(body, /9999|cannot be shown/)
  })

  test('has links whose page shows unseen characters by their numbers, and opens what styles may change', async () => {
    const { page } = await pageOf({
      subject: 'Hi\u{e0041}',
      body: 'A text\u3164.',
      bodyHtml: `<style>p:not([data-k]){display:none}</style><i>Hi</i><p data-k="CARD 4711">LIST</p>`,
      headers: { 'X-Case': '7\u{e0042}' },
      attachments: [{ filename: 'a\uffa0.txt', contentType: 'text/plain', data: Buffer.from('x') }],
    })
    for (const marked of ['Hi[U+E0041]', 'A text[U+3164].', '7[U+E0042]', 'a[U+FFA0].txt']) {
      assert.ok(page.includes(marked), marked)
    }
    assert.match(
      page,
      /not all of it.*4 characters that readers cannot see.*9 characters that no page shows/s,
    )
    assert.match(page, /<details open>.*<p data-k="CARD 4711"&gt;LIST/s)
  })

  test('has links whose page shows a text alone, without frame or notice', async () => {
    const { page } = await pageOf({ body: 'Only <b>text</b>.' })
    assert.match(page, /<pre [^>]*>Only <b&gt;text<\/b&gt;\./)
    assert.doesNotMatch(page, /<iframe|<details|class="notice"/)
  })

  test('has links whose page shows the source of HTML that cannot be shown, and says so', async () => {
    const deep = `${'<div>'.repeat(20_000)}Pay 9999 to Eve.`
    const long = `<p>${'x '.repeat(240_000)}</p>${'<i>'.repeat(10)}Pay 9999 to Eve.`
    const { link, page } = await pageOf({ body: 'Pay 10 to Bob.', bodyHtml: deep })
    assert.match(page, /class="notice">The HTML cannot be shown, or not all of it/)
    assert.match(page, /<details open>.*<div&gt;<div&gt;.*Pay 9999 to Eve\.<\/pre>/s)
    const body = await (await fetch(`${link}/body`)).text()
    assert.match(body, /The HTML of this message cannot be shown.*Pay 10 to Bob\./s)
    const drawn = await pageOf({ bodyHtml: '<p>Pay 10</p><svg><text>Pay 9999</text></svg>' })
    assert.match(drawn.page, /not all of it.*<details open>.*<text&gt;Pay 9999/s)
    const whole = await pageOf({ body: 'Pay 10 to Bob.', bodyHtml: long })
    assert.doesNotMatch(whole.page, /class="notice"|<details open>/)
  })

  test('has links that are bound to approver, review and digest', async () => {
    const { client, inbox, email, asApprover } = await guarded()
    const second = await asApprover.approvers.create({ name: 'Eve', email: `eve-${email}` })
    const held = await holdSend(world, inbox, {}, { client })
    const [own = ''] = await linksTo(email)
    await until(async () => mailsTo(`eve-${email}`).length > 0)
    const [others = ''] = await linksTo(`eve-${email}`)
    assert.notEqual(own, others)
    await asApprover.approvers.delete(second.id)
    assert.equal((await fetch(others)).status, 404)
    assert.equal(await outcomeOf(fetch(`${others}/approve`, { method: 'POST' })), '404 not_found')
    const token = own.slice(own.lastIndexOf('/') + 1)
    const at = Math.floor(token.length / 2)
    for (const bad of [
      'x',
      token.slice(0, -2),
      `${token}AA`,
      token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1),
    ]) {
      const path = `${world.baseUrl}/reviews/${bad}/approve`
      assert.equal(await outcomeOf(fetch(path, { method: 'POST' })), '404 not_found')
    }
    // No bearer of the account stands for a link, and a link for no bearer.
    const bearer = { authorization: `Bearer ${token}` }
    assert.equal(
      await outcomeOf(world.fetch('/v1/reviews', { headers: bearer })),
      '401 unauthorized',
    )
    await runSql(world, `update reviews set digest = 'changed' where id = '${held.reviewId}'`)
    const pages = [await fetch(own), await post(own, 'approve'), await post(own, 'reject')]
    for (const changed of pages) {
      assert.equal(changed.status, 409)
      const text = await changed.text()
      assert.match(text, /The message has changed.*it still waits/s)
      assert.ok(!text.includes('<form') && !text.includes('bob@friend.example'))
    }
    assert.equal((await fetch(`${own}/body`)).status, 404)
    assert.equal((await client.reviews.get(held.reviewId)).status, 'pending')
    await runSql(
      world,
      `update reviews set digest = '${held.digest}' where id = '${held.reviewId}'`,
    )
    assert.match(await (await post(own, 'reject')).text(), /Done.*rejected/s)
  })

  test('says that another approver was faster, and what they decided', async () => {
    const { client, inbox, email, asApprover } = await guarded()
    const held = await holdSend(world, inbox, {}, { client })
    const [link = ''] = await linksTo(email)
    await asApprover.reviews.reject(held.reviewId)
    for (const verb of ['approve', 'reject']) {
      const late = await post(link, verb)
      assert.equal(late.status, 409)
      assert.match(
        await late.text(),
        /already been decided.*It was rejected and will not be sent\./s,
      )
    }
    assert.equal((await client.messages.deliveries(held.messageId).page()).total, 0)
  })

  test('says that the review expired without a decision, and sends nothing then', async () => {
    const { client, inbox, email } = await guarded()
    const held = await holdSend(world, inbox, {}, { client })
    const [link = ''] = await linksTo(email)
    world.clock.advance(7 * DAY_MS)
    await until(async () => (await client.reviews.get(held.reviewId)).status === 'expired')
    const late = await post(link, 'approve')
    assert.equal(late.status, 409)
    assert.match(await late.text(), /already been decided.*It expired without a decision/s)
    assert.match(
      await (await fetch(link)).text(),
      /already been decided.*It expired without a decision/s,
    )
    const message = await client.messages.get(held.messageId)
    assert.deepEqual([message.status, message.failureReason], ['failed', 'review_expired'])
    assert.equal((await client.messages.deliveries(held.messageId).page()).total, 0)
  })

  test('of a deleted approver is a page that says that it does not work', async () => {
    const { client, inbox, email, approver, asApprover } = await guarded()
    await asApprover.approvers.create({ name: 'Eve' })
    const held = await holdSend(world, inbox, {}, { client })
    const [link = ''] = await linksTo(email)
    await asApprover.approvers.delete(approver.id)
    const accept = { headers: { accept: 'text/html' } }
    const pages = [
      await fetch(link, accept),
      await post(link, 'approve'),
      await post(link, 'reject'),
    ]
    for (const dead of pages) {
      assert.equal(dead.status, 404)
      const text = await dead.text()
      assert.match(text, /This link does not work.*Nothing was changed/s)
      assert.ok(!text.includes('<form') && !text.includes('bob@friend.example'))
    }
    assert.equal((await client.reviews.get(held.reviewId)).status, 'pending')
  })

  test('says which limit refuses the message, which waits on', async () => {
    const { client, inbox, email } = await guarded()
    const held = await holdSend(world, inbox, {}, { client })
    const [link = ''] = await linksTo(email)
    for (let count = 0; count < SENDS_PER_MINUTE; count += 1) await send({ client }, inbox)
    const refused = await post(link, 'approve')
    assert.equal(refused.status, 409)
    const words = new RegExp(
      `may send ${SENDS_PER_MINUTE} messages a minute.*approve it later`,
      's',
    )
    assert.match(await refused.text(), words)
    assert.equal((await client.reviews.get(held.reviewId)).status, 'pending')
    world.clock.advance(MINUTE_MS)
    assert.match(await (await post(link, 'approve')).text(), /Done/)
    assert.equal((await settled({ client }, held)).status, 'sent')
  })

  test('says what refuses the message now, and the link goes on working', async () => {
    const { client, inbox, email } = await guarded()
    const held = await holdSend(world, inbox, { to: 'away@friend.example' }, { client })
    const [link = ''] = await linksTo(email)
    await client.suppressions.create({ address: 'away@friend.example' })
    const refused = await post(link, 'approve')
    assert.equal(refused.status, 409)
    assert.match(await refused.text(), /suppression list/)
    await client.suppressions.delete('away@friend.example')
    assert.match(await (await post(link, 'approve')).text(), /Done/)
    assert.equal((await settled({ client }, held)).status, 'sent')
  })

  test('of one account whose servers are slow does not delay that of another', async () => {
    const away = await guarded('slow1')
    const others = Array.from({ length: 19 }, (_, index) =>
      away.asApprover.approvers.create({
        name: 'Ann',
        email: `slow${index + 2}-${accounts}@friend.example`,
      }),
    )
    await Promise.all(others)
    const quick = await guarded('quick')
    await holdSend(world, away.inbox, {}, { client: away.client })
    world.clock.advance(STEP_MS)
    await holdSend(world, quick.inbox, {}, { client: quick.client })
    world.clock.advance(2 * MINUTE_MS - STEP_MS)
    const named = () => world.mta.commands.filter(({ line }) => /^RCPT TO:<slow/i.test(line))
    await until(async () => named().length > 0)
    // The jobs are leased: a longer step would end the attempt that is under way.
    world.clock.advance(STEP_MS)
    await until(async () => mailsTo(quick.email).length > 0)
    assert.equal(named().length, 1)
    slow.resolve(undefined)
    const queued = () => runSql(world, "select key from jobs where kind = 'review mail'")
    await until(async () => (await queued()).length === 0)
    const recipients = world.mta.transactions.flatMap((one) => one.recipients)
    const told = recipients.filter((address) => address.startsWith('slow'))
    assert.equal(new Set(told).size, 20)
    assert.equal(told.length, 20)
  })

  test('is tried again until a server takes it, and not sent about what is decided', async () => {
    const { client, inbox, email, asApprover } = await guarded('late')
    const first = await holdSend(world, inbox, {}, { client })
    world.clock.advance(2 * MINUTE_MS)
    const waiting = () =>
      runSql(world, "select trouble, due_at from jobs where kind = 'review mail'")
    // The server has refused the recipient once, and the next attempt is a minute later.
    await until(async () => {
      const [row] = await waiting()
      const waitMs = Number(row?.due_at) - world.clock.now()
      return row?.trouble != null && waitMs <= MINUTE_MS
    })
    assert.equal(mailsTo(email).length, 0)
    world.clock.advance(MINUTE_MS + 1_000)
    await until(async () => mailsTo(email).length === 1 && (await waiting()).length === 0)
    await asApprover.reviews.reject(first.reviewId)
    const second = await holdSend(world, inbox, {}, { client })
    await asApprover.reviews.reject(second.reviewId)
    world.clock.advance(3 * MINUTE_MS)
    const news = () => runSql(world, 'select review_id from review_news')
    await until(async () => (await news()).length === 0 && (await waiting()).length === 0)
    assert.equal(mailsTo(email).length, 1)
  })
})

onAnyEngine('in the sandbox', (engine) => {
  test('no mail is sent to approvers and none is captured', async () => {
    await using world = await openTenant(engine)
    await world.client.approvers.create({ name: 'Ann', email: 'ann@friend.example' })
    const inbox = await world.inbox()
    await holdSend(world, inbox)
    world.clock.advance(3 * MINUTE_MS)
    const other = await world.client.inboxes.send(inbox.id, {
      to: 'bob@friend.example',
      subject: 'x',
      body: 'x',
    })
    await settled(world, other)
    const { data } = await world.client.sandbox.list().page()
    assert.deepEqual(
      data.flatMap(({ to }) => to),
      ['bob@friend.example'],
    )
    await until(async () => (await runSql(world, 'select * from review_news')).length === 0)
    assert.deepEqual(await runSql(world, "select key from jobs where kind = 'review mail'"), [])
  })
})
