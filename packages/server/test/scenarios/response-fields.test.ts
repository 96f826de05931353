import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type OperationId, operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { originalOf } from '@mailroom/contract/schema.ts'
import { filePart, messageOf, multipart, textPart } from '@mailroom/mail/test/samples.ts'
import { type DraftToCreate, type Inbox, Mailroom, type Message } from '@mailroom/sdk'
import { DAY_MS } from '#platform/units.ts'
import { openReceiver, type Receiver } from '#test/peers/receiver.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { type DomainWorld, openDomainWorld, publish } from '#test/scenarios/domain-world.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { calendar, mailWith } from '#test/scenarios/invitation-mail.ts'
import { connectAssistant, REDIRECT } from '#test/scenarios/oauth-client.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { bounceMail } from '#test/scenarios/report-mail.ts'
import { holdSend } from '#test/scenarios/review-world.ts'
import { OPERATOR_TOKEN, onAnyEngine, plainMail } from '#test/world.ts'

type Schema = {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
}

/** Schemas of the bodies that the operation may respond with. */
function bodiesOf(id: OperationId): Schema[] {
  const { success, otherSuccess } = operationOf(id)
  return [success, otherSuccess].flatMap((one) => (one && 'schema' in one ? [one.schema] : []))
}

/** What the value has beside the schema, and lacks of it; a list of paths. */
function differences(schema: Schema, value: unknown, path: string, met: Set<unknown>): string[] {
  const { properties, items, anyOf, required = [] } = schema
  if (anyOf !== undefined) {
    const found = anyOf.map((one) => differences(one, value, path, met))
    return found.find(({ length }) => length === 0) ?? found[0] ?? []
  }
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  const types = [schema.type ?? type].flat().map((one) => (one === 'integer' ? 'number' : one))
  if (!types.includes(type)) return [`${path} is ${type}`]
  if (Array.isArray(value) && items !== undefined) {
    return value.flatMap((one) => differences(items, one, `${path}[]`, met))
  }
  if (properties === undefined || typeof value !== 'object' || value === null) return []
  met.add(originalOf(schema))
  return [
    ...required.filter((name) => !Object.hasOwn(value, name)).map((name) => `no ${path}.${name}`),
    ...Object.entries(value).flatMap(([name, field]) => {
      const declared = properties[name]
      if (declared === undefined) return [`${path}.${name} is not declared`]
      return differences(declared, field, `${path}.${name}`, met)
    }),
  ]
}

/** Every object in the schema, by its path. */
function objectsIn(schema: Schema, path: string): [string, unknown][] {
  const { properties, items, anyOf = [] } = schema
  return [
    ...(properties === undefined ? [] : [[path, originalOf(schema)] as [string, unknown]]),
    ...Object.entries(properties ?? {}).flatMap(([name, one]) => objectsIn(one, `${path}.${name}`)),
    ...(items === undefined ? [] : objectsIn(items, `${path}[]`)),
    ...anyOf.flatMap((one) => objectsIn(one, path)),
  ]
}

/** Bytes: more than the test stores before it fills the storage. */
const STORED_BYTES_MAX = 100_000

const routes = operationIds.map((id) => {
  const { method, path } = operationOf(id)
  return { id, method, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }
})

onAnyEngine('JSON responses of the service', (engine) => {
  let world: DomainWorld
  let receiver: Receiver
  const met = new Set<unknown>()
  const called = new Set<OperationId>()
  const found: string[] = []

  /** As `fetch`; keeps the differences between each JSON response and its operation's shape. */
  async function checkedFetch(
    input: string | URL | Request,
    init?: RequestInit,
  ): Promise<Response> {
    const response = await fetch(input, init)
    const method = init?.method ?? 'GET'
    const { pathname } = new URL(response.url)
    const route = routes.find((one) => one.method === method && one.pattern.test(pathname))
    if (route === undefined || !response.ok) return response
    const { id } = route
    const { success, otherSuccess } = operationOf(id)
    const told = otherSuccess?.status === response.status ? otherSuccess : success
    if (!('schema' in told)) return response
    called.add(id)
    found.push(...differences(told.schema, await response.clone().json(), id, met))
    return response
  }

  /** For operations that our clients have no method for. */
  async function sendOthers(): Promise<void> {
    const headers = { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' }
    for (const [method, path, body] of [
      ['PUT', '/v1/policy/mode', { mode: 'none', direction: 'inbound' }],
      ['POST', '/v1/feedback', { type: 'idea', message: 'More examples.' }],
    ] as const) {
      const given = { method, headers, body: JSON.stringify(body) }
      assert.ok((await checkedFetch(`${world.baseUrl}${path}`, given)).ok, path)
    }
  }

  const clientWith = (apiKey: string) =>
    new Mailroom({ baseUrl: world.baseUrl, apiKey, maxRetries: 0, fetch: checkedFetch })

  before(async () => {
    const env = {
      MAILROOM_ALLOW_PRIVATE_EGRESS: 'true',
      MAILROOM_LIMIT_STORED_BYTES_PER_ACCOUNT: String(STORED_BYTES_MAX),
    }
    world = await openDomainWorld(engine, { env })
    receiver = await openReceiver()
  })
  after(async () => {
    await world.close()
    await receiver.close()
  })

  test('have the fields that the contract declares, and no other', async () => {
    const client = clientWith(world.key)
    await service(client)
    const { inbox, message } = await mailOf(client)
    await webhooksOf(client, inbox.id)
    await sendersOf(client, inbox)
    await domainOf(client)
    await policyOf(client, inbox)
    await sendOthers()
    await keysOf(client, inbox)
    await client.inboxes.wait(inbox.id, { after: message.id, timeout: 1 })
    await client.stats.get()
    // Figures lag behind the mail.
    await until(async () => (await client.usage.get({ group_by: 'inbox' })).data.length > 0)
    await client.inboxes.limits(inbox.id)
    await client.messages.headers(message.id)
    await client.inboxes.getByAddress(inbox.address)
    const { token } = await client.approvers.create({ name: 'Ann' })
    await client.approvers.list().page()
    await signInWith(token)
    await reviewsOf(client, clientWith(token), inbox)
    // Last, because nothing waits beyond the quota.
    await fillStorage(inbox)
    await until(async () => {
      const { data } = await client.events.list({ limit: 100 }).page()
      return ['storage', 'inbox'].every((name) => data.some((event) => name in event))
    })

    assert.deepEqual([...new Set(found)], [])
    const wanted = operationIds.filter((id) => bodiesOf(id).length > 0)
    assert.deepEqual(
      wanted.filter((id) => !called.has(id)),
      [],
    )
    const missed = wanted.flatMap((id) => bodiesOf(id).flatMap((body) => objectsIn(body, id)))
    assert.deepEqual(
      [...new Set(missed.filter(([, one]) => !met.has(one)).map(([path]) => path))],
      [],
    )
  })

  async function service(client: Mailroom): Promise<void> {
    await client.service.health()
    await client.service.ready()
    await client.account.get()
    await client.account.me()
    await client.account.update({ filterMode: 'none' })
    const { accounts } = clientWith(OPERATOR_TOKEN).admin
    const { account } = await accounts.create({ name: 'another', plan: 'free' })
    await accounts.update(account.id, { name: 'renamed' })
    await accounts.list().page()
  }

  async function mailOf(client: Mailroom) {
    const pod = await client.pods.create({ clientId: 'tenant' })
    await client.pods.update(pod.id, { name: 'Tenant' })
    await client.pods.get(pod.id)
    await client.pods.list().page()
    const inbox = await client.inboxes.create({ podId: pod.id })
    await client.inboxes.get(inbox.id)
    const text = 'Your verification code is 482913. Confirm: https://sender.example/verify?t=1'
    const data = Buffer.from('hi').toString('base64')
    const { data: received } = await client.sandbox.receive({
      from: 'Ann <ann@sender.example>',
      to: inbox.address,
      subject: 'Your code',
      text,
      html: '<p>Your code</p><p style="display:none">hidden</p>',
      attachments: [{ filename: 'a.txt', contentType: 'text/plain', data }],
    })
    const [message] = received
    assert.ok(message !== undefined)
    await client.attachments.text(message.id, 'a.txt')
    await client.threads.update(message.threadId, { addLabels: ['code'] })
    await client.threads.labels().page()
    const signature =
      'DKIM-Signature: v=1; a=rsa-sha256; d=sender.example; s=s; h=from; bh=eA==; b=eA=='
    await world.send({
      to: inbox.address,
      raw: `${signature}\r\n${plainMail({ to: inbox.address, subject: 'Signed', headers: ['Precedence: bulk'] })}`,
    })
    const to = 'bob@friend.example'
    const sent = await client.inboxes.send(inbox.id, { to, subject: 'Hello', body: 'Hello.' })
    await until(async () => (await client.messages.get(sent.messageId)).status === 'sent')
    await client.messages.deliveries(sent.messageId).page()
    await client.messages.forward(message.id, { to })
    const batched = { to, subject: 'Batched', body: 'Hello.' }
    await client.inboxes.sendBatch(inbox.id, [batched, { ...batched, to: 'nobody' }])
    const sendAt = new Date(world.clock.now() + DAY_MS).toISOString()
    const fields = { to, subject: 'Later', body: 'Hello.', sendAt }
    const later = await client.inboxes.send(inbox.id, fields)
    await client.inboxes.scheduled(inbox.id).page()
    await client.messages.cancel(later.messageId)
    await draftsOf(client, inbox.id, { ...fields, threadId: message.threadId })
    const [captured] = (await client.sandbox.list().page()).data
    assert.ok(captured !== undefined)
    await client.sandbox.receiveRaw(bounceMail({ to: captured.reversePath, recipient: to }))
    await client.inboxes.list().page()
    await client.messages.list(inbox.id).page()
    await client.messages.search({ q: 'code' }).page()
    await client.inboxes.search(inbox.id, { q: 'code' }).page()
    await client.threads.list(inbox.id).page()
    await client.threads.get(message.threadId)
    await client.threads.update(message.threadId, { is_read: true })
    await client.threads.delete(message.threadId)
    await client.threads.restore(message.threadId)
    const expiresAt = new Date(world.clock.now() + 1_000).toISOString()
    await client.inboxes.create({ expiresAt })
    await client.threads.messages(message.threadId)
    await invitationOf(client, inbox)
    await claimsOf(client, message)
    await transfersOf(client, inbox)
    await uploadsOf(client)
    return { inbox, message }
  }

  async function invitationOf(client: Mailroom, inbox: Inbox): Promise<void> {
    const organizer = 'eve@host.example'
    world.dns.zone['host.example'] = { TXT: ['v=spf1 ip4:127.0.0.1 -all'] }
    const rest = { organizer, lines: ['RRULE:FREQ=DAILY', 'LOCATION:Room 1', 'STATUS:CONFIRMED'] }
    const raw = mailWith(inbox, calendar(inbox, rest), organizer)
    const message = await deliver(world, inbox, raw, organizer)
    await client.messages.rsvp(message.id, { response: 'accepted' })
  }

  async function transfersOf(client: Mailroom, { id: inboxId }: Inbox): Promise<void> {
    const { id } = await client.exports.create({ inboxId, format: 'jsonl' })
    await client.exports.untilDone(id)
    await client.exports.list().page()
    const raw = Buffer.from('From: a@x.example\r\nSubject: a\r\n\r\nText\r\n').toString('base64')
    const file = `${JSON.stringify({ raw })}\n{"raw": 1}\n`
    const { id: importId } = await client.imports.create(inboxId, file)
    await client.imports.untilDone(importId)
    await client.imports.list().page()
    const { id: erasureId } = await client.erasures.create({ address: 'a@x.example' })
    await client.erasures.untilDone(erasureId)
  }

  async function uploadsOf(client: Mailroom): Promise<void> {
    const body = new Uint8Array([1])
    const upload = await client.uploads.create(body, { filename: 'a.txt' })
    await client.uploads.get(upload.id)
    for (const method of ['PUT', 'POST']) {
      const { url } = await client.uploads.createLink({ filename: 'a.txt' })
      assert.equal((await checkedFetch(url, { method, body })).status, 201)
    }
  }

  async function claimsOf(client: Mailroom, message: Message): Promise<void> {
    const { threadId, inboxId } = message
    const terms = { owner: 'a', leaseSeconds: 60 }
    await client.messages.update(message.id, { addLabels: ['a'] })
    await client.threads.restore(threadId)
    const { leaseToken } = await client.threads.claim(threadId, terms)
    await client.threads.get(threadId)
    await client.threads.renewClaim(threadId, {}, { leaseToken })
    await client.threads.releaseClaim(threadId, { isRead: false }, { leaseToken })
    for (const claim of (await client.inboxes.claimThreads(inboxId, terms)).data) {
      const { leaseToken } = claim
      await client.threads.releaseClaim(claim.threadId, { isRead: true }, { leaseToken })
    }
  }

  async function draftsOf(client: Mailroom, inboxId: string, fields: DraftToCreate): Promise<void> {
    const file = { filename: 'a.png', contentType: 'image/png', data: 'eA==', contentId: 'a' }
    const more = { bodyHtml: '<p>Hello.</p>', replyTo: 'me@x.example', clientId: 'mine' }
    const lists = { cc: ['ann@friend.example'], bcc: ['eve@friend.example'] }
    const draft = await client.drafts.create(inboxId, { ...fields, ...more, ...lists })
    const { attachments } = await client.drafts.addAttachment(draft.id, file)
    await client.drafts.update(draft.id, { invite: { start: '2027-01-01', end: '2027-01-02' } })
    await client.drafts.get(draft.id)
    await client.drafts.update(draft.id, { replyTo: null, sendAt: null })
    await client.drafts.list(inboxId).page()
    await client.drafts.removeAttachment(draft.id, attachments[0]?.id ?? '')
    await client.drafts.send(draft.id)
  }

  async function webhooksOf(client: Mailroom, inboxId: string): Promise<void> {
    const url = `${receiver.origin}/hook`
    const webhook = await client.webhooks.create({ url })
    await client.webhooks.list().page()
    await client.webhooks.get(webhook.id)
    await client.webhooks.rotateSecret(webhook.id)
    const { delivery } = await client.webhooks.test(webhook.id)
    await client.webhooks.deliveries(webhook.id).page()
    await client.webhooks.getDelivery(webhook.id, delivery.id)
    await client.webhooks.retryDelivery(webhook.id, delivery.id)
    await client.webhooks.update(webhook.id, { enabled: false })
    await client.inboxes.update(inboxId, { webhookUrl: url })
    await client.inboxes.rotateWebhookSecret(inboxId)
    await client.inboxes.testWebhook(inboxId)
  }

  async function sendersOf(client: Mailroom, inbox: Inbox) {
    const rule = await client.senderRules.create({ type: 'block', value: 'spam@spam.example' })
    await client.senderRules.get(rule.id)
    await client.senderRules.list().page()
    const file = filePart('note.pdf', Buffer.from('A file.'))
    const parts = multipart('mixed', 'mix', [textPart('Text'), file])
    await world.send({ from: rule.value, to: inbox.address, raw: messageOf(parts) })
    const [held] = (await client.quarantine.list().page()).data
    assert.ok(held !== undefined)
    await client.quarantine.get(held.id)
    await client.quarantine.release(held.id)
    await client.suppressions.create({ address: 'gone@friend.example' })
    await client.suppressions.list().page()
  }

  async function policyOf(client: Mailroom, { id: inboxId }: Inbox): Promise<void> {
    const block = { type: 'block', value: 'rival.example' } as const
    const rules = [block]
    const guards = { secrets: 'reject' } as const
    const allowedFindings = ['0', '1'].map((digit) => ({ kind: 'iban', sha256: digit.repeat(64) }))
    const outbound = { rules, guards, allowedFindings }
    await client.policy.replace({ inbound: { rules }, outbound }, { inboxId })
    const noted = { rules: [{ ...block, note: 'A note' }], guards }
    const [, kept = { kind: '', sha256: '' }] = allowedFindings
    const changed = { ...noted, allowedFindings: [kept, { ...kept, kind: 'card_number' }] }
    await client.policy.replace({ inbound: { rules }, outbound: changed }, { inboxId })
    const rule = await client.policy.createRule({ direction: 'inbound', ...block })
    await client.policy.deleteRule(rule.id)
    await client.policy.get({ inboxId })
    const message = { to: 'new@friend.example', subject: 'A subject', body: 'A body.' }
    await client.inboxes.checkSend(inboxId, message)
    const secret = { ...message, body: 'Card 4111 1111 1111 1111.' }
    const { reasons } = await client.inboxes.checkSend(inboxId, secret)
    assert.equal(reasons[0]?.guard, 'secrets')
    await client.policy.audit().page()
  }

  /** Until mail is refused, which the account is told in an event. */
  async function fillStorage({ address }: Inbox): Promise<void> {
    const raw = plainMail({ to: address, body: `${'x'.repeat(70)}\r\n`.repeat(1_000) })
    for (let sent = 0; sent < STORED_BYTES_MAX; sent += raw.length)
      await world.send({ to: address, raw })
    assert.equal((await world.send({ to: address, raw })).code, 552)
  }

  async function domainOf(client: Mailroom): Promise<void> {
    const domain = await client.domains.create({ domain: 'ours.example' })
    publish(world.dns, domain)
    const verified = await client.domains.verify(domain.id)
    assert.equal(verified.status, 'verified')
    await client.domains.get(domain.id)
    await client.domains.update(domain.id, { podId: null })
    await client.domains.list().page()
  }

  async function keysOf(client: Mailroom, inbox: Inbox): Promise<void> {
    await client.apiKeys.create({ name: 'second' })
    await client.apiKeys.list().page()
    await connectAssistant(world, { inboxes: [inbox.id] })
    await client.connections.list().page()
    await client.connections.listSteps().page()
    await client.connections.createClient({ name: 'x', redirectUris: [REDIRECT] })
    await client.connections.listClients().page()
    const { requestId, userCode } = await client.pairing.start({ clientName: 'a laptop' })
    await client.pairing.pollByUrl({ requestId })
    await client.pairing.poll({ requestId })
    await client.pairing.get(userCode)
    await client.pairing.approve(userCode)
    await client.pairing.poll({ requestId })
    await signInWith(world.key)
  }

  async function reviewsOf(client: Mailroom, approver: Mailroom, inbox: Inbox): Promise<void> {
    const held = []
    const attachments = [{ filename: 'a.txt', contentType: 'text/plain', data: Buffer.from('a') }]
    for (let count = 0; count < 3; count += 1) {
      held.push(await holdSend(world, inbox, { to: `${count}@friend.example`, attachments }))
    }
    const [first, second, third] = held
    assert.ok(first !== undefined && second !== undefined && third !== undefined)
    await client.reviews.list().page()
    await client.reviews.get(first.reviewId)
    const { digest } = await approver.reviews.edit(first.reviewId, {
      digest: first.digest,
      subject: 'Edited',
    })
    await client.reviews.comment(first.reviewId, { text: 'Why?' })
    await client.reviews.get(first.reviewId)
    await approver.reviews.approve(first.reviewId, { digest })
    const items = [second, { ...second, digest: 'x' }].map(({ reviewId: id, digest }) => ({
      id,
      digest,
    }))
    await approver.reviews.approveMany({ items })
    await approver.reviews.reject(third.reviewId, { reason: 'no' })
    await client.reviews.get(third.reviewId)
    const guards = { newRecipients: 'hold', secrets: 'hold' } as const
    await approver.policy.replace({ outbound: { guards } }, { inboxId: inbox.id })
    const body = 'My card is 4111 1111 1111 1111.'
    const message = { to: 'stranger@friend.example', subject: 'A card', body }
    assert.ok((await client.inboxes.send(inbox.id, message)).hold !== undefined)
    await client.inboxes.send(inbox.id, message)
    const [pending] = (await client.reviews.list({ status: 'pending' }).page()).data
    assert.equal(pending?.equalCount, 2)
    await client.policy.audit().page()
    await untilReadable(world)
    await client.events.list({ limit: 100 }).page()
  }

  async function signInWith(apiKey: string): Promise<void> {
    const signedIn = await checkedFetch(`${world.baseUrl}/auth/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiKey }),
    })
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    await checkedFetch(`${world.baseUrl}/auth/session`, { headers: { cookie } })
  }
})
