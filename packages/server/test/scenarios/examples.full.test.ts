import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Example } from '@mailroom/contract/examples/example.ts'
import { exampleOf } from '@mailroom/contract/examples/examples.ts'
import { type DescribedOperationId, describedOperationIds } from '@mailroom/contract/operations.ts'
import type {
  ConnectionClient,
  Draft,
  Inbox,
  Mailroom,
  NewAccount,
  NewApprover,
  Session,
} from '@mailroom/sdk'
import { openReceiver } from '#test/peers/receiver.ts'
import { Story } from '#test/scenarios/example-story.ts'
import { approve, redeem, replyOf } from '#test/scenarios/oauth-client.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { openSendingWorld, readMail, type SendingWorld } from '#test/scenarios/sending-world.ts'
import { moveAwayFromMidnight, opened, openWorld } from '#test/world.ts'

const ENV = {
  MAILROOM_PUBLIC_URL: 'https://mail.example.com',
  MAILROOM_INBOX_DOMAIN: 'mail.example.com',
}
/** The limits that the examples show. */
const OWN_LIMITS = {
  MAILROOM_LIMIT_SENDS_PER_MINUTE: '',
  MAILROOM_LIMIT_SENDS_PER_DAY: '',
  MAILROOM_LIMIT_COLD_PER_DAY: '',
  MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY: '',
}
const DOMAINS = ['customer.example', 'office.example', 'partner.example', 'spam.example']
const MINUTE_MS = 60_000

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const ANN_LINES = [
  'Subject: The total of invoice 1042',
  'Message-ID: <a1@customer.example>',
  'Date: Tue, 01 Dec 2026 09:00:00 +0000',
  'User-Agent: Mozilla Thunderbird',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain; charset=UTF-8',
  '',
  'Hello,',
  '',
  'the total of invoice 1042 does not match our order. Can you check?',
  '',
  'Ann',
  '',
  '--b',
  'Content-Type: text/csv; name=order.csv',
  'Content-Disposition: attachment; filename=order.csv',
  '',
  'item,price',
  'Hosting,120.00',
  '--b--',
]

const INVITATION_LINES = [
  'Subject: Call about invoice 1042',
  'Message-ID: <a2@customer.example>',
  'Content-Type: text/calendar; method=REQUEST; charset=UTF-8',
  '',
  'BEGIN:VCALENDAR',
  'PRODID:-//Example//EN',
  'VERSION:2.0',
  'METHOD:REQUEST',
  'BEGIN:VEVENT',
  'UID:call-1@customer.example',
  'DTSTAMP:20261120T080000Z',
  'DTSTART:20261203T100000Z',
  'DTEND:20261203T103000Z',
  'SUMMARY:Call about invoice 1042',
  'ORGANIZER;CN=Ann:mailto:ann@customer.example',
  'ATTENDEE;CN=Agent;RSVP=TRUE:mailto:agent@mail.example.com',
  'END:VEVENT',
  'END:VCALENDAR',
]

const spamLines = (number: number) => [
  'Subject: Cheap hosting',
  `Message-ID: <s${number}@spam.example>`,
  'Date: Tue, 01 Dec 2026 10:00:00 +0000',
  '',
  'Buy now.',
]

const pathOf = (id: DescribedOperationId): Record<string, string | undefined> => {
  const { path = {} }: Example = exampleOf(id)
  return path
}

suite('the examples of the contract, told as one story', () => {
  const far = opened(() => openReceiver())
  const world = opened(async (): Promise<SendingWorld> => {
    const env = { ...ENV, ...OWN_LIMITS, MAILROOM_READ_ATTACHMENTS: 'true' }
    const opening = await openSendingWorld('sqlite', { env })
    moveAwayFromMidnight(opening.clock)
    opening.dns.zone = Object.fromEntries([
      ['mx.example', { A: ['127.0.0.1'] }],
      ...DOMAINS.map((name) => [
        name,
        {
          MX: [{ exchange: 'mx.example', preference: 10 }],
          TXT: ['v=spf1 ip4:127.0.0.1 -all'],
        },
      ]),
    ])
    return opening
  })
  let client: Mailroom
  let story: Story
  let inbox: Inbox

  const tellAll = async (...ids: DescribedOperationId[]) => {
    for (const id of ids) await story.tell(id)
  }

  function meansSigned(id: DescribedOperationId, url: string): void {
    const { searchParams } = new URL(url, world.baseUrl)
    const { query = {} }: Example = exampleOf(id)
    for (const name of ['expires', 'signature']) {
      story.means(String(query[name]), searchParams.get(name) ?? '')
    }
  }

  async function arrives(from: string, lines: readonly string[]): Promise<void> {
    const head = [`From: ${from}`, `To: ${inbox.address}`, 'MIME-Version: 1.0']
    const reply = await world.send({
      from: /<(.*)>/.exec(from)?.[1] ?? from,
      to: inbox.address,
      raw: [...head, ...lines, ''].join('\r\n'),
    })
    assert.equal(reply.code, 250, reply.lines.join(' '))
  }

  const newest = async () => {
    const { data } = await client.messages.list(inbox.id, { limit: 1 }).page()
    assert.ok(data[0])
    return data[0]
  }

  test('accounts, keys and sessions', async () => {
    story = new Story(world)
    far.answer = ({ path }) =>
      path === '/logo.png'
        ? { status: 200, headers: { 'content-type': 'image/png' }, body: PNG }
        : { status: 200, body: 'ok' }
    story.means('https://agent.example.com', far.origin)
    const { apiKey } = await story.tell<NewAccount>('admin.accounts.create')
    story.key = apiKey.token
    client = world.clientWith(apiKey.token)
    await tellAll('admin.accounts.list', 'admin.accounts.update')
    await story.tell<Session>('session.create')
    const opened = await story.send('session.create')
    story.cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? ''
    story.csrf = ((await opened.json()) as Session).csrfToken
    await tellAll('session.get', 'session.delete')
    await tellAll('account.get', 'account.me', 'account.update', 'account.sendFeedback')
    await tellAll('apiKeys.create', 'apiKeys.list', 'apiKeys.delete')
    await tellAll('pairing.start', 'pairing.get', 'pairing.approve', 'pairing.poll')
    const other = await client.pairing.start()
    await client.pairing.approve(other.userCode)
    story.means('request-of-server', other.requestId)
    await story.tell('pairing.pollByUrl')
    story.means(pathOf('pairing.deny').userCode, (await client.pairing.start()).userCode)
    await story.tell('pairing.deny')
  })

  test('pods, inboxes and a message that arrives', async () => {
    await tellAll('pods.create', 'pods.list', 'pods.get', 'pods.update')
    inbox = await story.tell<Inbox>('inboxes.create')
    await tellAll('inboxes.list', 'inboxes.get', 'inboxes.getByAddress', 'inboxes.update')
    const { id: clientId } = await story.tell<ConnectionClient>('connections.createClient')
    const assistant = { baseUrl: world.baseUrl, key: story.key }
    const granted = {
      inboxes: [inbox.id],
      scopes: ['mail:read', 'mail:draft'],
      client: { resource: undefined },
    }
    const { code = '' } = replyOf(await approve(assistant, clientId, granted))
    await redeem(assistant, clientId, code)
    await tellAll('connections.listClients', 'connections.list', 'connections.listSteps')
    await tellAll('connections.delete', 'connections.deleteClient')
    const waiting = story.tell('inboxes.wait')
    await setTimeout(300)
    await arrives('Ann Example <ann@customer.example>', ANN_LINES)
    await waiting
    await until(async () => (await newest()).attachments[0]?.extractionMethod === 'csv')
    await tellAll('threads.list', 'threads.get', 'threads.messages', 'threads.view')
    await tellAll(
      'messages.list',
      'messages.get',
      'messages.headers',
      'messages.raw',
      'messages.view',
      'messages.html',
    )
    await tellAll('messages.search', 'inboxes.search', 'attachments.get', 'attachments.text')
    await tellAll('events.list', 'inboxes.claimThreads', 'threads.renewClaim')
    await tellAll('threads.releaseClaim', 'threads.claim')
    const claim = exampleOf('threads.claim').response as { leaseToken: string }
    const leaseToken = story.real(claim.leaseToken)
    await client.threads.releaseClaim(
      story.real(pathOf('threads.claim').id ?? ''),
      {},
      { leaseToken },
    )
    await tellAll('threads.update', 'threads.labels', 'events.stream', 'messages.update')
  })

  test('sends and drafts', async () => {
    await story.tell('inboxes.checkSend')
    const sent = await story.tell<{ messageId: string }>('inboxes.send')
    await until(async () => (await client.messages.get(sent.messageId)).status === 'sent')
    await tellAll('messages.deliveries', 'messages.forward', 'inboxes.sendBatch')
    await tellAll('inboxes.scheduled', 'messages.cancel')
    await tellAll('uploads.create', 'uploads.get', 'uploads.delete')
    const link = await story.tell<{ url: string }>('uploads.createLink')
    meansSigned('uploads.fill', link.url)
    const other = await client.uploads.createLink({ filename: 'invoice-1042.csv' })
    story.means(pathOf('uploads.fillByPost').id, other.id)
    meansSigned('uploads.fillByPost', other.url)
    await tellAll('uploads.fill', 'uploads.fillByPost')
    await tellAll('drafts.create', 'drafts.list', 'drafts.update', 'drafts.addAttachment')
    await tellAll('drafts.get', 'drafts.removeAttachment', 'drafts.send')
    const draft: Draft = await client.drafts.create(inbox.id)
    story.means(pathOf('drafts.delete').id, draft.id)
    await story.tell('drafts.delete')
  })

  test('exports, imports, invitations and images', async () => {
    const done = await story.tell<{ id: string }>('exports.create')
    await client.exports.untilDone(done.id)
    await tellAll('exports.list', 'exports.get', 'exports.download', 'exports.delete')
    const imported = await story.tell<{ id: string }>('imports.create')
    await client.imports.untilDone(imported.id)
    await tellAll('imports.list', 'imports.get')
    await arrives('Ann Example <ann@customer.example>', INVITATION_LINES)
    story.means(pathOf('messages.rsvp').id, (await newest()).id)
    await story.tell('messages.rsvp')
    const html = [
      'Subject: Logo',
      'Content-Type: text/html',
      '',
      `<img src="${far.origin}/logo.png">`,
    ]
    await arrives('Ann Example <ann@customer.example>', html)
    const { id } = await newest()
    const page = await client.messages.html(id, { images: 'show' })
    const [, source = ''] = /src="(\/v1[^"]+)"/.exec(page) ?? []
    meansSigned('messages.image', source.replaceAll('&amp;', '&'))
    story.means(pathOf('messages.image').id, id)
    await tellAll('messages.image', 'messages.delete')
    await story.tell('inboxes.limits')
    await until(async () => (await client.stats.get()).totals.sent === 4)
    await until(async () => (await client.usage.get()).totals.sent === 4)
    await tellAll('stats.get', 'usage.get')
  })

  test('unwanted mail and addresses', async () => {
    await tellAll('senderRules.create', 'senderRules.list', 'senderRules.get')
    await arrives('Offers <offers@spam.example>', spamLines(1))
    await until(async () => (await client.quarantine.list().page()).total === 1)
    await tellAll('quarantine.list', 'quarantine.get', 'quarantine.raw', 'quarantine.release')
    await arrives('Offers <offers@spam.example>', spamLines(2))
    await until(async () => (await client.quarantine.list().page()).total === 1)
    const { data } = await client.quarantine.list().page()
    story.means(pathOf('quarantine.delete').id, data[0]?.id ?? '')
    await tellAll('quarantine.delete', 'senderRules.delete')
    const erasure = await story.tell<{ id: string }>('erasures.create')
    await client.erasures.untilDone(erasure.id)
    await story.tell('erasures.get')
    await tellAll('suppressions.create', 'suppressions.list', 'suppressions.delete')
    const message = {
      to: 'ann@customer.example',
      subject: 'News',
      body: 'News.',
      unsubscribe: true,
    }
    const { messageId } = await client.inboxes.send(inbox.id, message)
    const { content } = await client.messages.raw(messageId)
    const raw = Buffer.from(content)
      .toString()
      .replaceAll(/\r\n\s/g, '')
    story.means(pathOf('unsubscribe.show').token, /unsubscribe\/([^>]+)>/.exec(raw)?.[1] ?? '')
    await tellAll('unsubscribe.show', 'unsubscribe.confirm')
    await client.suppressions.delete('ann@customer.example')
  })

  /** Mail to Carol that the policy holds. */
  async function held(subject: string): Promise<{ id: string; digest: string }> {
    const offer = { to: 'carol@partner.example', subject, body: 'Here is our offer.' }
    const { hold } = await client.inboxes.send(inbox.id, offer)
    assert.ok(hold)
    return hold
  }
  /** The secret of the link in the mail to Bob. */
  async function linkToBob(): Promise<string> {
    let link = ''
    await until(async () => {
      for (const { recipients, raw } of world.mta.transactions) {
        if (!recipients.includes('bob@office.example')) continue
        const { text = '' } = await readMail(raw)
        link = /\/reviews\/(\S+)/.exec(text)?.[1] ?? link
      }
      return link !== ''
    })
    world.mta.transactions.length = 0
    return link
  }

  test('approvers, policies and reviews', async () => {
    const bob = await story.tell<NewApprover>('approvers.create')
    story.approver = bob.token
    const asBob = world.clientWith(bob.token)
    await tellAll('approvers.list', 'policy.get', 'policy.replace', 'policy.createRule')
    await tellAll('policy.deleteRule', 'policy.setMode')
    await held('Offer')
    await tellAll('policy.audit', 'reviews.list')
    await tellAll('reviews.comment', 'reviews.get')
    world.clock.advance(2 * MINUTE_MS)
    story.means(pathOf('reviews.showLinked').token, await linkToBob())
    await tellAll('reviews.showLinked', 'reviews.bodyLinked')
    story.means(pathOf('reviews.reject').id, (await held('Second offer')).id)
    await story.tell('reviews.reject')
    const third = await held('Third offer')
    const { items } = exampleOf('reviews.approveMany').body as {
      items: [{ id: string; digest: string }]
    }
    story.means(items[0].id, third.id)
    story.means(items[0].digest, third.digest)
    await tellAll('reviews.edit', 'reviews.approve', 'reviews.approveMany')
    for (const id of ['reviews.approveLinked', 'reviews.rejectLinked'] as const) {
      world.mta.transactions.length = 0
      await client.inboxes.send(inbox.id, { to: `${id}@partner.example`, subject: id, body: 'x' })
      world.clock.advance(60 * MINUTE_MS)
      story.means(pathOf(id).token, await linkToBob())
      await story.tell(id)
    }
    story.means(pathOf('approvers.delete').id, (await asBob.approvers.create({ name: 'Eve' })).id)
    await story.tell('approvers.delete')
    await asBob.policy.replace({ outbound: {} }, { inboxId: inbox.id })
  })

  test('webhooks and domains', async () => {
    await tellAll('webhooks.create', 'webhooks.list', 'webhooks.get', 'webhooks.update')
    await tellAll('webhooks.rotateSecret', 'webhooks.test', 'webhooks.deliveries')
    await tellAll('webhooks.getDelivery', 'webhooks.retryDelivery', 'webhooks.delete')
    await client.inboxes.update(inbox.id, { webhookUrl: `${far.origin}/mail` })
    await tellAll('inboxes.rotateWebhookSecret', 'inboxes.testWebhook')
    await client.inboxes.update(inbox.id, { webhookUrl: null })
    await tellAll('domains.create', 'domains.list', 'domains.get', 'domains.verify')
    await tellAll('domains.update', 'domains.zoneFile', 'domains.delete')
  })

  test('the service, and what is deleted in the end', async () => {
    await tellAll('service.health', 'service.ready', 'service.openapi', 'service.docs')
    await tellAll('service.llms', 'service.llmsFull', 'service.metrics')
    await tellAll('threads.delete', 'threads.restore', 'inboxes.delete', 'pods.delete')
  })

  test('the sandbox', async () => {
    await using sandbox = await openWorld('sqlite', { env: ENV })
    const other = new Story(sandbox)
    other.key = sandbox.key
    inbox = await sandbox.client.inboxes.create({
      mailboxName: 'agent',
      displayName: 'Acme Billing',
    })
    const { data } = await other.tell<{ data: [{ threadId: string }] }>('sandbox.receive')
    const { body } = exampleOf('inboxes.send') as { body: { to: string; body: string } }
    const sent = await sandbox.client.inboxes.send(inbox.id, {
      ...body,
      threadId: data[0].threadId,
    })
    await until(async () => (await sandbox.client.sandbox.list().page()).total === 1)
    assert.ok(sent)
    await other.tell('sandbox.list')
    await other.tell('sandbox.clear')
    for (const id of other.told) story.told.add(id)
  })

  test('leave out no operation', () => {
    assert.deepEqual([...story.told].sort(), [...describedOperationIds].sort())
  })
})
