import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { untilReadable } from '#test/conformance/open-database.ts'
import { openSender, type Sender } from '#test/peers/sender.ts'
import {
  checkDue,
  openDomainWorld,
  publish,
  recordFor,
  verifiedDomain,
  withdraw,
} from '#test/scenarios/domain-world.ts'
import { refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import { type Account, onEachEngine, opened, plainMail, prepared } from '#test/world.ts'

const HOUR = 3_600_000

onEachEngine('addresses of a custom domain', (engine) => {
  const world = opened(() => openDomainWorld(engine))
  const ann = prepared(() => world.newAccount())
  const bob = prepared(() => world.newAccount())

  /** Opens a transaction; the code and status of the reply to its last recipient. */
  async function begin(...recipients: string[]): Promise<{ sender: Sender; reply: string }> {
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<someone@sender.example> SMTPUTF8')
    let reply = ''
    for (const address of recipients) {
      const { code, lines } = await sender.command(`RCPT TO:<${address}>`)
      reply = `${code} ${lines[0]?.split(' ')[0]}`
    }
    return { sender, reply }
  }

  async function replyTo(address: string): Promise<string> {
    const { sender, reply } = await begin(address)
    await sender.quit()
    return reply
  }

  async function finish(sender: Sender, raw: string | Uint8Array): Promise<number> {
    assert.equal((await sender.command('DATA')).code, 354)
    sender.write(raw)
    sender.write('\r\n.\r\n')
    const { code } = await sender.reply()
    await sender.quit()
    return code
  }

  /** Sends one message to these recipients. */
  async function mail(recipients: string[], header: Record<string, string> = {}): Promise<number> {
    const { sender } = await begin(...recipients)
    const headers = Object.entries(header).map(([name, value]) => `${name}: ${value}`)
    return finish(sender, plainMail({ headers }))
  }

  const inboxOf = (account: Account, domain: string, mailboxName: string) =>
    account.client.inboxes.create({ domain, mailboxName })
  const newest = async (inbox: Inbox, account = ann) => {
    const { data, total } = await account.client.messages.list(inbox.id).page()
    return { message: data[0], total }
  }

  test('below it receive mail once the domain takes subdomains', async () => {
    const domain = await verifiedDomain(world, 'wide.example', ann)
    assert.deepEqual([domain.subdomainsEnabled, domain.catchAllInboxId], [false, null])
    const inbox = await inboxOf(ann, 'wide.example', 'agent')
    assert.equal(await replyTo('agent@acme.wide.example'), '550 5.7.1')
    const wide = await ann.client.domains.update(domain.id, { subdomainsEnabled: true })
    assert.equal(wide.subdomainsEnabled, true)
    for (const name of ['acme.wide.example', 'a.b.c.wide.example', 'BÜCHER.Wide.Example']) {
      assert.equal(await replyTo(`Agent+x@${name}`), '250 2.1.5', name)
      assert.equal(await replyTo(`nobody@${name}`), '550 5.1.1', name)
      assert.equal(await replyTo(`postmaster@${name}`), '250 2.1.5', name)
      assert.equal(await replyTo(`abuse@${name}`), '250 2.1.5', name)
    }
    assert.equal(await replyTo('agent@xwide.example'), '550 5.7.1')
    assert.equal(await mail(['Agent+Case.7@Acme.Wide.Example']), 250)
    const { message } = await newest(inbox)
    assert.equal(message?.toAddr, 'agent@wide.example')
    assert.deepEqual(
      [message?.recipient, message?.tag],
      ['Agent+Case.7@Acme.Wide.Example', 'Case.7'],
    )
    await ann.client.domains.update(domain.id, { subdomainsEnabled: false })
    assert.equal(await replyTo('agent@acme.wide.example'), '550 5.7.1')
  })

  test('below it need a wildcard MX record, without which the domain stays verified', async () => {
    const domain = await ann.client.domains.create({
      domain: 'star.example',
      subdomainsEnabled: true,
    })
    const wildcard = recordFor(domain, 'subdomains')
    assert.deepEqual(
      [wildcard.type, wildcard.name, wildcard.value, wildcard.required, wildcard.status],
      ['MX', '*.star.example', recordFor(domain, 'mx').value, false, 'missing'],
    )
    publish(world.dns, domain, ({ purpose }) => purpose !== 'subdomains')
    const without = await ann.client.domains.verify(domain.id)
    assert.equal(without.status, 'verified')
    assert.match(recordFor(without, 'subdomains').hint ?? '', /MX record at \*\.star\.example/)
    publish(world.dns, domain)
    const whole = await ann.client.domains.verify(domain.id)
    assert.equal(recordFor(whole, 'subdomains').status, 'valid')
    const zone = await ann.client.domains.zoneFile(domain.id)
    assert.match(zone, /^\*\.star\.example\.\t3600\tIN\tMX\t10 /m)
    // An MX record elsewhere for the domain itself still counts, whatever the wildcard has.
    withdraw(world.dns, domain, 'mx')
    assert.equal((await ann.client.domains.verify(domain.id)).status, 'degraded')
  })

  test('that nobody has go to the catch-all, and an inbox gets its own', async () => {
    await verifiedDomain(world, 'all.example', ann)
    const own = await inboxOf(ann, 'all.example', 'sales')
    const rest = await ann.client.inboxes.create({ mailboxName: `rest-${engine}` })
    const [domain] = (await ann.client.domains.list().page()).data
    assert.equal(domain?.domain, 'all.example')
    const id = domain?.id ?? ''
    assert.equal(await replyTo('nobody@all.example'), '550 5.1.1')
    const set = await ann.client.domains.update(id, { catchAllInboxId: rest.id })
    assert.equal(set.catchAllInboxId, rest.id)
    assert.equal(await mail(['sales+x@all.example', 'No.Body+tag@ALL.example']), 250)
    const [mine, others] = [await newest(own), await newest(rest)]
    assert.deepEqual([mine.total, others.total], [1, 1])
    assert.deepEqual([mine.message?.recipient, mine.message?.tag], ['sales+x@all.example', 'x'])
    const { message } = others
    assert.deepEqual([message?.toAddr, message?.tag], [rest.address, 'tag'])
    assert.equal(message?.recipient, 'No.Body+tag@ALL.example')
    assert.equal(message?.deliveryRole, 'to')
    assert.equal(await replyTo('nobody@sub.all.example'), '550 5.7.1')

    for (const address of ['postmaster@all.example', 'abuse@all.example', 'b+x.y@all.example']) {
      assert.equal(await mail([address]), 250, address)
    }
    assert.equal((await newest(rest)).total, 1, 'these are not for the catch-all')
    await ann.client.domains.update(id, { subdomainsEnabled: true })
    assert.equal(await mail(['sales@eu.all.example', 'who@eu.all.example']), 250)
    assert.deepEqual([(await newest(own)).total, (await newest(rest)).total], [2, 2])

    await ann.client.inboxes.delete(rest.id)
    assert.equal((await ann.client.domains.get(id)).catchAllInboxId, null)
    assert.equal(await replyTo('nobody@all.example'), '550 5.1.1')
    assert.equal(await replyTo('sales@eu.all.example'), '250 2.1.5')
  })

  test('catch only into an inbox of the account, in a pod that may use the domain', async () => {
    const pod = await ann.client.pods.create({ name: 'Apart' })
    const inPod = await ann.client.inboxes.create({ podId: pod.id })
    const outside = await ann.client.inboxes.create()
    const foreign = await bob.client.inboxes.create()
    for (const catchAllInboxId of [foreign.id, 'inb_nothing']) {
      const made = await refusalOf(
        ann.client.domains.create({ domain: 'picky.example', catchAllInboxId }),
      )
      assert.deepEqual([made.code, made.details[0]?.path], ['bad_request', 'catchAllInboxId'])
    }
    const narrow = { domain: 'picky.example', podId: pod.id }
    const wrong = ann.client.domains.create({ ...narrow, catchAllInboxId: outside.id })
    assert.equal(await refusal(wrong), '400 bad_request')
    const made = await ann.client.domains.create({ ...narrow, catchAllInboxId: inPod.id })
    assert.equal(made.catchAllInboxId, inPod.id)
    const change = (body: Parameters<typeof ann.client.domains.update>[1]) =>
      ann.client.domains.update(made.id, body)
    assert.equal(await refusal(change({ catchAllInboxId: outside.id })), '400 bad_request')
    assert.equal(await refusal(change({ catchAllInboxId: foreign.id })), '400 bad_request')
    const opened = await change({ podId: null, catchAllInboxId: outside.id })
    assert.deepEqual([opened.podId, opened.catchAllInboxId], [null, outside.id])
    assert.equal(await refusal(change({ podId: pod.id })), '409 domain_in_use')
    const both = await change({ podId: pod.id, catchAllInboxId: null })
    assert.deepEqual([both.podId, both.catchAllInboxId], [pod.id, null])
    assert.deepEqual((await change({})).podId, pod.id)
  })

  test('that reach one inbox make one message, with the first of them', async () => {
    const domain = await verifiedDomain(world, 'one.example', ann)
    const inbox = await inboxOf(ann, 'one.example', 'desk')
    await ann.client.domains.update(domain.id, {
      subdomainsEnabled: true,
      catchAllInboxId: inbox.id,
    })
    const many = [
      'b.first@x.one.example',
      'desk+2@one.example',
      'desk@one.example',
      'z@one.example',
    ]
    assert.equal(await mail(many, { Cc: 'b.First@X.one.example' }), 250)
    const { message, total } = await newest(inbox)
    assert.deepEqual([total, message?.recipient, message?.tag], [1, many[0], null])
    assert.equal(message?.deliveryRole, 'cc')
    await untilReadable(world.app.deps.db)
    const { data } = await ann.client.events.list({ inbox_id: inbox.id }).page()
    const told = data.find(({ message: one }) => one?.id === message?.id)?.message
    assert.deepEqual([told?.recipient, told?.tag], [many[0], null])
    const sent = await ann.client.inboxes.send(inbox.id, {
      to: 'far@elsewhere.example',
      subject: 'Out',
      body: 'Out.',
    })
    const out = await ann.client.messages.get(sent.messageId)
    assert.deepEqual([out.recipient, out.tag], [null, null])
  })

  test('are not answered by a reply to all', async () => {
    const domain = await verifiedDomain(world, 'reply.example', ann)
    const inbox = await ann.client.inboxes.create()
    await ann.client.domains.update(domain.id, { catchAllInboxId: inbox.id })
    const { sender } = await begin('sales+1@reply.example')
    const headers = ['Cc: bob@friend.example, Sales@Reply.example']
    await finish(sender, plainMail({ to: 'sales+1@reply.example', headers }))
    const { message } = await newest(inbox)
    const { messageId } = await ann.client.inboxes.send(inbox.id, {
      threadId: message?.threadId ?? '',
      replyAll: true,
      body: 'Yes.',
    })
    const { to, cc } = await ann.client.messages.get(messageId)
    assert.deepEqual([to, cc], [['Ann Sender <ann@sender.example>'], ['bob@friend.example']])
  })

  test('are not answered by a reply to all, whichever of them the message came by', async () => {
    const domain = await verifiedDomain(world, 'every.example', ann)
    const inbox = await inboxOf(ann, 'every.example', 'desk')
    const other = await inboxOf(ann, 'every.example', 'other')
    await ann.client.domains.update(domain.id, {
      catchAllInboxId: inbox.id,
      subdomainsEnabled: true,
    })
    const { sender } = await begin(inbox.address)
    const own = 'Sales+x@every.example, desk+y@eu.every.example, any@eu.every.example'
    const headers = [`Cc: ${own}, other+z@eu.every.example, bob@friend.example`]
    await finish(sender, plainMail({ to: inbox.address, headers }))
    const { message } = await newest(inbox)
    const { messageId } = await ann.client.inboxes.send(inbox.id, {
      threadId: message?.threadId ?? '',
      replyAll: true,
      body: 'Yes.',
    })
    const { to, cc } = await ann.client.messages.get(messageId)
    assert.deepEqual(to, ['Ann Sender <ann@sender.example>'])
    assert.deepEqual(cc, [other.address.replace('@', '+z@eu.'), 'bob@friend.example'])
  })

  test('stay known when the message is released from quarantine', async () => {
    const carl = await world.newAccount()
    await verifiedDomain(world, 'held.example', carl)
    const inbox = await inboxOf(carl, 'held.example', 'desk')
    await carl.client.senderRules.create({ type: 'block', value: 'sender.example' })
    assert.equal(await mail(['Desk+later@held.example']), 250)
    const [held] = (await carl.client.quarantine.list().page()).data
    const released = await carl.client.quarantine.release(held?.id ?? '')
    assert.deepEqual([released.recipient, released.tag], ['Desk+later@held.example', 'later'])
    assert.equal((await newest(inbox, carl)).total, 1)
  })

  test('below it belong to whoever verifies that name, at once', async () => {
    const wide = await verifiedDomain(world, 'shared.example', ann)
    const rest = await inboxOf(ann, 'shared.example', 'rest')
    await ann.client.domains.update(wide.id, { subdomainsEnabled: true, catchAllInboxId: rest.id })
    await bob.client.domains.create({ domain: 'team.shared.example' })
    assert.equal(await mail(['x@team.shared.example']), 250)
    assert.equal((await newest(rest)).total, 1, 'a pending domain takes nothing')

    const open = await begin('y@team.shared.example')
    const both = await begin('y@deep.team.shared.example', 'y@other.shared.example')
    const [pending] = (await bob.client.domains.list().page()).data
    assert.ok(pending !== undefined)
    publish(world.dns, pending)
    assert.equal((await bob.client.domains.verify(pending.id)).status, 'verified')
    assert.equal(await finish(open.sender, plainMail({})), 550)
    assert.equal(await finish(both.sender, plainMail({ subject: 'other' })), 250)
    assert.equal((await newest(rest)).total, 2, 'one of its addresses is still ann’s')
    assert.equal(await replyTo('x@team.shared.example'), '550 5.1.1')
    // As in DNS, the wildcard ends where another name begins.
    assert.equal(await replyTo('x@deep.team.shared.example'), '550 5.7.1')
    assert.equal(await replyTo('x@other.shared.example'), '250 2.1.5')
  })

  test('go to the new holder after a takeover, from open transactions too', async () => {
    const lost = await verifiedDomain(world, 'lost.example', ann)
    const rest = await ann.client.inboxes.create()
    await ann.client.domains.update(lost.id, { catchAllInboxId: rest.id, subdomainsEnabled: true })
    withdraw(world.dns, lost)
    await ann.client.domains.verify(lost.id)
    world.clock.advance(72 * HOUR)
    await checkDue(world)
    assert.equal((await ann.client.domains.get(lost.id)).status, 'failed')
    const open = await begin('any@lost.example', 'any@sub.lost.example')
    const mixed = await begin('any@lost.example', rest.address)
    await verifiedDomain(world, 'lost.example', bob)
    assert.equal(await finish(open.sender, plainMail({})), 550)
    assert.equal(await finish(mixed.sender, plainMail({ subject: 'mine' })), 250)
    const { message, total } = await newest(rest)
    assert.deepEqual([total, message?.subject], [1, 'mine'])
    assert.equal(await replyTo('any@lost.example'), '550 5.1.1')
    assert.equal(await replyTo('any@sub.lost.example'), '550 5.7.1')
  })

  test('of one domain reach their catch-all inbox after its own domain was taken over', async () => {
    const lost = await verifiedDomain(world, 'former.example', ann)
    const rest = await inboxOf(ann, 'former.example', 'rest')
    const kept = await verifiedDomain(world, 'kept.example', ann)
    await ann.client.domains.update(kept.id, { catchAllInboxId: rest.id })
    withdraw(world.dns, lost)
    await ann.client.domains.verify(lost.id)
    world.clock.advance(72 * HOUR)
    await checkDue(world)
    const both = await begin('any@kept.example', rest.address)
    await verifiedDomain(world, 'former.example', bob)
    assert.equal(await finish(both.sender, plainMail({ subject: 'both' })), 250)
    assert.equal(await mail(['any@kept.example']), 250)
    const other = await ann.client.inboxes.create()
    assert.equal(await mail([other.address, 'any@kept.example'], { Cc: 'a@b.example' }), 250)
    assert.deepEqual([(await newest(rest)).total, (await newest(other)).total], [3, 1])
    assert.equal(await replyTo(rest.address), '550 5.1.1')

    await ann.client.senderRules.create({
      type: 'block',
      value: 'sender.example',
      inboxId: rest.id,
    })
    assert.equal(await mail(['any@kept.example'], { Cc: 'c@d.example' }), 250)
    const page = await ann.client.quarantine.list({ inboxId: rest.id }).page()
    assert.equal(page.total, 1)
    await ann.client.quarantine.release(page.data[0]?.id ?? '')
    assert.equal((await newest(rest)).total, 4)
  })

  test('with hostile names are refused as any other, quickly', async () => {
    const domain = await verifiedDomain(world, 'calm.example', ann)
    await ann.client.domains.update(domain.id, { subdomainsEnabled: true })
    await inboxOf(ann, 'calm.example', 'desk')
    const labels = (count: number) => Array.from({ length: count }, () => 'a').join('.')
    const longest = `${labels(120)}.calm.example`
    assert.equal(longest.length, 252)
    assert.equal(await replyTo(`desk@${longest}`), '250 2.1.5')
    for (const name of [
      `a${longest}x.calm.example`,
      `${'l'.repeat(64)}.calm.example`,
      '.calm.example',
      'a..calm.example',
      'sub.calm.example.',
      `${labels(126)}`,
      'calm.example.evil.example',
      '%00.calm.example',
      '*.calm.example@x.example',
      '[127.0.0.1].calm.example',
    ]) {
      assert.match(await replyTo(`desk@${name}`), /^5\d\d /, name)
    }
  })

  test('below it get mail from inboxes of the service', async () => {
    const domain = await verifiedDomain(world, 'near.example', ann)
    const inbox = await inboxOf(ann, 'near.example', 'desk')
    await ann.client.domains.update(domain.id, { subdomainsEnabled: true })
    const from = await bob.client.inboxes.create()
    await bob.client.inboxes.send(from.id, {
      to: 'desk+hi@acme.near.example',
      subject: 'Near',
      body: 'Hello.',
    })
    await until(async () => (await newest(inbox)).total === 1)
    assert.equal((await newest(inbox)).message?.recipient, 'desk+hi@acme.near.example')
    const arrived = await world.client.sandbox
      .receive({ from: 'ann@far.example', to: 'desk@x.near.example', subject: 'In', text: 'In.' })
      .catch((error: { code?: string }) => error.code)
    assert.equal(arrived, 'bad_request', 'the domain is another account’s')
    const client = ann.client.sandbox
    await client.receive({
      from: 'ann@far.example',
      to: 'desk@x.near.example',
      subject: 'In',
      text: 'In.',
    })
    assert.equal((await newest(inbox)).message?.recipient, 'desk@x.near.example')
  })
})

onEachEngine('names below the service’s own domain', (engine) => {
  const env = { MAILROOM_INBOX_DOMAIN: 'mail.above.example' }
  const world = opened(() => openDomainWorld(engine, { env }))

  test('are nobody’s, whoever holds the domain above it', async () => {
    const domain = await verifiedDomain(world, 'above.example')
    const inbox = await world.inbox()
    await world.client.domains.update(domain.id, {
      subdomainsEnabled: true,
      catchAllInboxId: inbox.id,
    })
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<someone@sender.example>')
    const codeOf = async (address: string) => (await sender.command(`RCPT TO:<${address}>`)).code
    assert.equal(await codeOf('any@other.above.example'), 250)
    assert.equal(await codeOf('any@mail.above.example'), 550)
    assert.equal(await codeOf('any@deep.mail.above.example'), 550)
    await sender.quit()
  })
})
