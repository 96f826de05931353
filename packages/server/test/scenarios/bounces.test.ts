import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Event } from '@mailroom/sdk'
import { makeId } from '#test/conformance/open-database.ts'
import { openReceiver } from '#test/peers/receiver.ts'
import { openSender } from '#test/peers/sender.ts'
import { codesOf, countMessages, countRows, eventsAbout, newest } from '#test/scenarios/deliver.ts'
import { publish, verifiedDomain, withdraw } from '#test/scenarios/domain-world.ts'
import { figureOf } from '#test/scenarios/figures.ts'
import { refusal, until } from '#test/scenarios/outcomes.ts'
import { type BouncedMail, bounceMail, complaintMail } from '#test/scenarios/report-mail.ts'
import {
  arrived,
  deliveriesOf,
  deliveryOf,
  openSendingWorld,
  send,
  sendAccepted,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, plainMail } from '#test/world.ts'

onEachEngine('bounces', (engine) => {
  const world = opened(() => openSendingWorld(engine))
  before(async () => {
    world.dns.zone = {
      ...world.dns.zone,
      'other.example': { MX: [{ exchange: 'mx.friend.example', preference: 10 }] },
    }
  })

  const accepted = (fields?: Parameters<typeof send>[2]) => sendAccepted(world, fields)
  /** Sends the report as the other server does, and returns the reply. */
  const bounce = async (fields: BouncedMail, from = '') =>
    codesOf(await world.send({ from, to: fields.to, raw: bounceMail(fields) }))
  const suppressionOf = async (address: string) => {
    const { data } = await world.client.suppressions.list({ address }).page()
    return data[0]?.type ?? null
  }
  const countOf = async (outcome: string) =>
    (await figureOf(world, `mailroom_reports_total{outcome="${outcome}"}`)) || 0
  /** The growth of a figure during `run`. */
  const counted = async (outcome: string, run: () => Promise<unknown>) => {
    const beforeIt = await countOf(outcome)
    await run()
    return (await countOf(outcome)) - beforeIt
  }

  test('each recipient’s server gets a return path, whose local part has at most 64 octets', async () => {
    const { reversePath } = await accepted()
    assert.match(reversePath, /^b\+[0-9a-z]{26}\.[0-9a-z]{10}@mailroom\.localhost$/)
    const envelopes = world.mta.commands.filter(({ line }) => /^MAIL FROM/i.test(line))
    assert.ok(envelopes.every(({ line }) => !line.includes('<>')))
  })

  test('a hard bounce fails the message, suppresses its address and causes an event', async () => {
    const { inbox, sent, to, reversePath, messageId } = await accepted()
    assert.equal((await world.client.messages.get(sent.messageId)).status, 'sent')
    assert.equal(await bounce({ to: reversePath, recipient: to, messageId }), '250 2.0.0')
    const delivery = await deliveryOf(world, sent)
    assert.equal(delivery.status, 'bounced')
    assert.equal(delivery.bounceClass, 'hard')
    assert.equal(delivery.enhancedCode, '5.1.1')
    assert.equal(delivery.responseCode, 550)
    assert.equal(delivery.response, 'No such user here')
    const message = await world.client.messages.get(sent.messageId)
    assert.equal(message.status, 'failed')
    assert.equal(message.failureReason, `${to}: 550 5.1.1 No such user here`)
    assert.equal(await suppressionOf(to), 'bounce')
    assert.equal(await refusal(send(world, inbox, { to })), '422 recipient_suppressed')
    const events = await eventsAbout(world, inbox.id, 3)
    assert.deepEqual(
      events.map(({ event }) => event),
      ['message.sent', 'message.bounced', 'message.failed'],
    )
    const [, told] = events
    assert.equal(told?.recipient, to)
    assert.equal(told?.message?.id, sent.messageId)
    assert.equal(told?.thread_id, sent.threadId)
    assert.deepEqual(Object.keys(told?.bounce ?? {}), ['class', 'enhanced_code', 'response'])
    assert.equal(told?.bounce?.class, 'hard')
    assert.equal(told?.bounce?.enhanced_code, '5.1.1')
    assert.equal(await countMessages(world, inbox), 1, 'the report is no message of the inbox')
  })

  test('a bounce is sent to webhooks with the same content', async () => {
    const receiver = await openReceiver()
    const webhook = await world.client.webhooks.create({
      url: `${receiver.origin}/hook`,
      eventTypes: ['message.bounced'],
    })
    const { inbox, to, reversePath } = await accepted()
    await bounce({ to: reversePath, recipient: to })
    const posted = await receiver.waitFor(() => true)
    await world.client.webhooks.delete(webhook.id)
    await receiver.close()
    const [, logged] = await eventsAbout(world, inbox.id, 3)
    const told = JSON.parse(posted.body.toString()) as Event
    assert.equal(told.event, 'message.bounced')
    assert.deepEqual({ ...told, delivered_at: '' }, { ...logged, delivered_at: '' })
  })

  for (const [name, status, bounceClass] of [
    ['soft', '5.4.1', 'soft'],
    ['refusing by policy', '5.7.1', 'policy'],
    ['from a full mailbox', '5.2.2', 'full'],
  ] as const) {
    test(`a bounce of class ${name} fails the message and suppresses nobody`, async () => {
      const { sent, to, reversePath } = await accepted()
      const diagnostic = { soft: '450 Try later', policy: '550 Not you', full: '552 Over quota' }
      const words = `smtp; ${diagnostic[bounceClass].replace(' ', ` ${status} `)}`
      await bounce({ to: reversePath, recipient: to, status, diagnostic: words })
      const delivery = await deliveryOf(world, sent)
      assert.deepEqual([delivery.status, delivery.bounceClass], ['bounced', bounceClass])
      assert.equal(await suppressionOf(to), null)
      assert.equal((await world.client.messages.get(sent.messageId)).status, 'failed')
    })
  }

  test('a report of a delay or of success changes nothing, whether it names the action or only the status', async () => {
    const { inbox, sent, to, reversePath } = await accepted()
    for (const action of ['delayed', null, 'delivered', 'relayed', 'expanded'] as const) {
      const isLate = action === 'delayed' || action === null
      const status = isLate ? '4.4.1' : '2.0.0'
      const diagnostic = isLate ? 'smtp; 451 4.4.1 Later' : 'smtp; 250 2.0.0 Ok'
      const growth = await counted('not_final', () =>
        bounce({ to: reversePath, recipient: to, action, status, diagnostic }),
      )
      assert.equal(growth, 1, String(action))
    }
    assert.equal((await deliveryOf(world, sent)).status, 'accepted')
    assert.equal((await eventsAbout(world, inbox.id, 1)).length, 1)
    assert.equal(await countMessages(world, inbox), 1)
  })

  test('a repeated bounce gets the same reply and changes nothing', async () => {
    const { inbox, to, reversePath } = await accepted()
    await bounce({ to: reversePath, recipient: to })
    const events = await eventsAbout(world, inbox.id, 3)
    const growth = await counted('repeated', async () => {
      assert.equal(await bounce({ to: reversePath, recipient: to, status: '5.7.1' }), '250 2.0.0')
    })
    assert.equal(growth, 1)
    const again = await eventsAbout(world, inbox.id, 3)
    assert.deepEqual(
      again.map((event) => event.event_id),
      events.map((event) => event.event_id),
    )
  })

  test('a server may change the case of the return path and send from its daemon', async () => {
    const { sent, to, reversePath } = await accepted()
    const shouted = reversePath.toUpperCase()
    const answer = await bounce({ to: shouted, recipient: to }, 'MAILER-DAEMON@mx.friend.example')
    assert.equal(answer, '250 2.0.0')
    assert.equal((await deliveryOf(world, sent)).status, 'bounced')
  })

  test('forged, guessed and expired return paths are accepted, dropped and counted', async () => {
    const { inbox, sent, to, reversePath } = await accepted()
    const [local = ''] = reversePath.split('@')
    const last = local.endsWith('0') ? '1' : '0'
    const stranger = makeId('dlv').slice('dlv_'.length)
    const forgeries = [
      `${local.slice(0, -1)}${last}`,
      `b+${stranger}.${local.slice(-10)}`,
      'b+guess',
      'b+',
    ]
    for (const forgery of forgeries) {
      const growth = await counted('forged', async () => {
        const answer = await bounce({ to: `${forgery}@mailroom.localhost`, recipient: to })
        assert.equal(answer, '250 2.0.0', forgery)
      })
      assert.equal(growth, 1, forgery)
    }
    assert.equal((await deliveryOf(world, sent)).status, 'accepted')
    assert.equal(await countMessages(world, inbox), 1)
    assert.equal(await countRows(world, 'postmaster_messages'), 0)
  })

  test('a report about an address that was not a recipient is ignored', async () => {
    const { sent, reversePath, messageId } = await accepted()
    const growth = await counted('unknown_recipient', () =>
      bounce({ to: reversePath, recipient: 'eve@friend.example', messageId }),
    )
    assert.equal(growth, 1)
    assert.equal((await deliveryOf(world, sent)).status, 'accepted')
    assert.equal(await suppressionOf('eve@friend.example'), null)
  })

  test('the server of one recipient cannot bounce another’s', async () => {
    const inbox = await world.inbox()
    const [to, cc] = ['one@friend.example', 'two@other.example']
    const sent = await send(world, inbox, { to, cc: [cc] })
    await settled(world, sent)
    const mine = world.mta.transactions.filter(({ raw }) => raw.includes(sent.providerMessageId))
    assert.deepEqual(mine.map(({ recipients }) => recipients).toSorted(), [[to], [cc]])
    const pathOf = (address: string) =>
      mine.find(({ recipients }) => recipients.includes(address))?.reversePath ?? ''
    assert.notEqual(pathOf(to), pathOf(cc))
    await bounce({ to: pathOf(cc), recipient: to })
    await bounce({ to: pathOf(to), recipient: cc })
    const states = async () => (await deliveriesOf(world, sent)).map(({ status }) => status)
    assert.deepEqual(await states(), ['accepted', 'accepted'])
    assert.equal(await suppressionOf(to), null)
    await bounce({ to: pathOf(cc), recipient: cc })
    assert.deepEqual(await states(), ['accepted', 'bounced'])
    assert.equal((await world.client.messages.get(sent.messageId)).status, 'sent')
    await bounce({ to: pathOf(to), recipient: to })
    assert.equal((await world.client.messages.get(sent.messageId)).status, 'failed')
  })

  test('recipients at one domain share a return path and an SMTP transaction', async () => {
    const [to, cc] = ['three@friend.example', 'four@friend.example']
    const { sent, reversePath } = await accepted({ to, cc: [cc] })
    const { recipients } = await arrived(world, sent)
    assert.deepEqual(recipients, [to, cc])
    await bounce({ to: reversePath, recipient: cc })
    assert.deepEqual(
      (await deliveriesOf(world, sent)).map(({ status }) => status),
      ['accepted', 'bounced'],
    )
  })

  test('a recipient cannot suppress another at the same domain by a report to their return path', async () => {
    const [to, cc] = ['eve@friend.example', 'victim@friend.example']
    const { inbox, sent, reversePath, messageId } = await accepted({ to, cc: [cc] })
    assert.equal(await bounce({ to: reversePath, recipient: cc, messageId }), '250 2.0.0')
    const victim = (await deliveriesOf(world, sent))[1]
    assert.deepEqual([victim?.status, victim?.bounceClass], ['bounced', 'soft'])
    await bounce({ to: reversePath, recipient: null, messageId })
    const raw = complaintMail({ to: reversePath, recipient: to, messageId })
    await world.send({ from: '', to: reversePath, raw })
    assert.equal((await deliveriesOf(world, sent))[0]?.status, 'complained')
    assert.deepEqual([await suppressionOf(to), await suppressionOf(cc)], [null, null])
    // A report to the return path of one recipient counts in full.
    const alone = await send(world, inbox, { to: cc })
    const { reversePath: path } = await arrived(world, alone)
    await settled(world, alone)
    await bounce({ to: path, recipient: cc })
    assert.equal(await suppressionOf(cc), 'bounce')
  })

  test('an out-of-office reply to the return path is mail for the inbox, marked automatic', async () => {
    const { inbox, sent, to, reversePath, messageId } = await accepted()
    const raw = plainMail({
      from: `Bob <${to}>`,
      to: reversePath,
      subject: 'Out of office: A subject',
      headers: ['Auto-Submitted: auto-replied', `In-Reply-To: ${messageId}`],
      body: 'I am away until Monday.',
    })
    const reply = await world.send({ from: '', to: reversePath, raw })
    assert.equal(reply.code, 250)
    const message = await newest(world, inbox)
    assert.deepEqual([message.direction, message.automatic], ['inbound', true])
    assert.equal(message.toAddr, inbox.address)
    assert.equal(message.threadId, sent.threadId)
    assert.equal((await deliveryOf(world, sent)).status, 'accepted')
  })

  test('a person’s mail to the return path reaches the inbox, too', async () => {
    const { inbox, to, reversePath } = await accepted()
    const raw = plainMail({ from: to, to: reversePath, body: 'Thanks!' })
    assert.equal((await world.send({ from: to, to: [reversePath, inbox.address], raw })).code, 250)
    const message = await newest(world, inbox)
    assert.deepEqual([message.automatic, message.bodyText.trim()], [false, 'Thanks!'])
    assert.equal(await countMessages(world, inbox), 2, 'once for the inbox')
  })

  test('a report addressed to an inbox as well is both a report and a message', async () => {
    const { inbox, sent, to, reversePath } = await accepted()
    const raw = bounceMail({ to: reversePath, recipient: to })
    assert.equal((await world.send({ from: '', to: [reversePath, inbox.address], raw })).code, 250)
    assert.equal((await deliveryOf(world, sent)).status, 'bounced')
    assert.equal(await countMessages(world, inbox), 2)
  })

  test('a bounce that arrives before our own outcome is recorded waits for it', async () => {
    const inbox = await world.inbox()
    const to = 'quick@friend.example'
    const answered = Promise.withResolvers<string>()
    // The report is sent while our client waits for the reply to the final dot.
    world.mta.script = {
      ...world.mta.script,
      onFinalDot(message) {
        if (!message.recipients.includes(to)) return undefined
        const raw = bounceMail({ to: message.reversePath, recipient: to })
        answered.resolve(world.send({ from: '', to: message.reversePath, raw }).then(codesOf))
        return { delayMs: 200, next: '250 2.0.0 Ok' }
      },
    }
    const sent = await send(world, inbox, { to })
    assert.equal(await answered.promise, '250 2.0.0')
    assert.equal((await deliveryOf(world, sent)).status, 'bounced')
    assert.deepEqual(
      (await eventsAbout(world, inbox.id, 3)).map(({ event }) => event),
      ['message.sent', 'message.bounced', 'message.failed'],
    )
  })

  test('a bounce of a deferred recipient is accepted and changes only the other recipients', async () => {
    const inbox = await world.inbox()
    const [to, cc] = ['grey@friend.example', 'white@friend.example']
    let path = ''
    world.mta.script = {
      ...world.mta.script,
      onMail(reversePath) {
        path = reversePath
        return undefined
      },
      onRcpt: (address) => (address === to ? '451 4.7.1 Later' : undefined),
    }
    const sent = await send(world, inbox, { to, cc: [cc] })
    const states = async () => (await deliveriesOf(world, sent)).map(({ status }) => status)
    await until(async () => (await states()).join() === 'deferred,accepted')
    const growth = await counted('deferred', async () => {
      assert.equal(await bounce({ to: path, recipient: to }), '250 2.0.0')
    })
    assert.equal(growth, 1)
    assert.deepEqual(await states(), ['deferred', 'accepted'])
    assert.equal(await suppressionOf(to), null)
    assert.equal(await bounce({ to: path, recipient: cc }), '250 2.0.0')
    assert.deepEqual(await states(), ['deferred', 'bounced'])
    assert.equal((await world.client.messages.get(sent.messageId)).status, 'pending')
  })

  test('a bounce of a recipient during an attempt is deferred', async () => {
    const inbox = await world.inbox()
    const to = 'slow@friend.example'
    const tried = Promise.withResolvers<string>()
    const release = Promise.withResolvers<void>()
    world.mta.script = {
      ...world.mta.script,
      async onFinalDot(message) {
        if (!message.recipients.includes(to)) return undefined
        tried.resolve(message.reversePath)
        await release.promise
        return '250 2.0.0 Ok'
      },
    }
    const sent = await send(world, inbox, { to })
    const path = await tried.promise
    assert.equal(await bounce({ to: path, recipient: to }), '451 4.3.0')
    release.resolve()
    await settled(world, sent)
    assert.equal(await bounce({ to: path, recipient: to }), '250 2.0.0')
    assert.equal((await deliveryOf(world, sent)).status, 'bounced')
  })

  test('a bounce of a mailbox to which mail was forwarded is soft, whatever its code', async () => {
    const { sent, to, reversePath } = await accepted()
    const left = { recipient: 'left@other.example', originalRecipient: to }
    assert.equal(await bounce({ to: reversePath, ...left }), '250 2.0.0')
    const delivery = await deliveryOf(world, sent)
    assert.deepEqual([delivery.status, delivery.bounceClass], ['bounced', 'soft'])
    assert.equal(await suppressionOf(to), null)
    assert.equal(await suppressionOf(left.recipient), null)
  })

  test('a bounce of an inbox of the service, to which others forwarded its own mail, changes nothing', async () => {
    const { inbox, sent, to, reversePath } = await accepted()
    const growth = await counted('ignored', () =>
      bounce({
        to: reversePath,
        recipient: inbox.address,
        originalRecipient: to,
        status: '5.4.6',
        diagnostic: 'smtp; 554 5.4.6 Mail loop: the mailbox sent this itself',
      }),
    )
    assert.equal(growth, 1)
    assert.equal((await deliveryOf(world, sent)).status, 'accepted')
  })

  test('a stranger’s mail with a null sender only in the header is no bounce', async () => {
    const { inbox, sent, to, reversePath } = await accepted()
    const raw = plainMail({
      from: 'Bob <bob@friend.example>',
      to: reversePath,
      subject: 'Undelivered mail',
      headers: ['Return-Path: <>'],
      body: `Your message to <${to}> could not be delivered: 550 5.1.1 user unknown`,
    })
    assert.equal((await world.send({ from: 'bob@friend.example', to: reversePath, raw })).code, 250)
    assert.equal((await deliveryOf(world, sent)).status, 'accepted')
    assert.equal(await countMessages(world, inbox), 2)
    assert.equal((await world.send({ from: '', to: reversePath, raw })).code, 250)
    assert.equal(
      (await deliveryOf(world, sent)).status,
      'bounced',
      'with one in the envelope it is',
    )
  })

  test('a token of one account changes nothing in another', async () => {
    const mine = await accepted()
    const foreign = await world.newAccount()
    const inbox = await foreign.client.inboxes.create({})
    const to = 'their@friend.example'
    const theirs = await send(foreign, inbox, { to })
    await settled(foreign, theirs)
    const messageId = theirs.providerMessageId
    await bounce({ to: mine.reversePath, recipient: to, messageId })
    assert.equal((await deliveryOf(foreign, theirs)).status, 'accepted')
    assert.equal((await foreign.client.suppressions.list({}).page()).total, 0)
    await bounce({ to: mine.reversePath, recipient: mine.to, messageId })
    assert.equal((await foreign.client.messages.get(theirs.messageId)).status, 'sent')
    assert.equal((await foreign.client.suppressions.list({}).page()).total, 0)
    assert.equal(await suppressionOf(mine.to), 'bounce')
  })

  test('of a deleted inbox is dropped', async () => {
    const { inbox, to, reversePath } = await accepted()
    await world.client.inboxes.delete(inbox.id)
    const app = world.app.deps
    await until(async () => {
      const rows = await app.db.read
        .selectFrom('deliveries')
        .select('id')
        .where('inbox_id', '=', inbox.id)
        .execute()
      return rows.length === 0
    })
    assert.equal(await bounce({ to: reversePath, recipient: to }), '250 2.0.0')
    const raw = plainMail({ from: to, to: reversePath })
    assert.equal((await world.send({ from: '', to: reversePath, raw })).code, 250)
    assert.equal(await suppressionOf(to), null)
  })

  test('a return path at a domain that is not served is not relayed', async () => {
    const { reversePath } = await accepted()
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<>')
    const foreign = reversePath.replace(/@.*/, '@elsewhere.example')
    assert.equal(codesOf(await sender.command(`RCPT TO:<${foreign}>`)), '550 5.7.1')
    assert.equal(codesOf(await sender.command('RCPT TO:<b@mailroom.localhost>')), '550 5.1.1')
    await sender.quit()
  })

  test('no received report is answered, and nothing is sent to the null sender', () => {
    const commands = world.mta.commands.map(({ line }) => line)
    assert.ok(commands.every((line) => !/^(MAIL FROM|RCPT TO):<>/i.test(line)))
    assert.ok(commands.every((line) => !/^RCPT TO:<mailer-daemon/i.test(line)))
  })
})

onEachEngine('return paths of custom domains', (engine) => {
  const world = opened(() => openSendingWorld(engine))
  before(async () => {
    await verifiedDomain(world, 'agents.example')
  })

  const accepted = async (mailboxName: string, domain = 'agents.example') => {
    const inbox = await world.client.inboxes.create({ mailboxName, domain })
    const to = `bob-${mailboxName}@friend.example`
    const sent = await send(world, inbox, { to })
    const { reversePath } = await arrived(world, sent)
    await settled(world, sent)
    return { inbox, sent, to, reversePath }
  }

  test('are on the domain and accept bounces there', async () => {
    const { sent, to, reversePath } = await accepted('ada')
    assert.match(reversePath, /^b\+[0-9a-z]{26}\.[0-9a-z]{10}@agents\.example$/)
    const raw = bounceMail({ to: reversePath, recipient: to })
    assert.equal((await world.send({ from: '', to: reversePath, raw })).code, 250)
    const delivery = await deliveryOf(world, sent)
    assert.deepEqual([delivery.status, delivery.bounceClass], ['bounced', 'hard'])
    assert.equal((await world.client.messages.get(sent.messageId)).status, 'failed')
  })

  test('accept ordinary mail for the inbox', async () => {
    const { inbox, reversePath } = await accepted('cid')
    const raw = plainMail({ to: reversePath, headers: ['Auto-Submitted: auto-replied'] })
    assert.equal((await world.send({ from: '', to: reversePath, raw })).code, 250)
    assert.equal(await countMessages(world, inbox), 2)
  })

  test('that are forged are accepted and dropped', async () => {
    const to = 'b+guess@agents.example'
    const raw = bounceMail({ to, recipient: 'bob@friend.example' })
    assert.equal((await world.send({ from: '', to, raw })).code, 250)
  })

  test('leave abuse@ of the domain to complaints, and its other mail to its inbox or the operator', async () => {
    const { sent, reversePath } = await accepted('eve')
    const to = 'abuse@agents.example'
    const complained = complaintMail({ to, mailFrom: reversePath })
    assert.equal(codesOf(await world.send({ to, raw: complained })), '250 2.0.0')
    assert.equal((await deliveryOf(world, sent)).status, 'complained')
    const mailsBefore = await countRows(world, 'postmaster_messages')
    await world.send({ to, raw: plainMail({ to }) })
    assert.equal((await countRows(world, 'postmaster_messages')) - mailsBefore, 1)
    const inbox = await world.client.inboxes.create({
      mailboxName: 'abuse',
      domain: 'agents.example',
    })
    await world.send({ to, raw: plainMail({ to, subject: 'Again' }) })
    assert.equal(await countMessages(world, inbox), 1)
    await world.send({ to, raw: complained })
    assert.equal(await countMessages(world, inbox), 1)
  })

  test('are on the inbox domain while the custom domain’s MX leads elsewhere', async () => {
    const domain = await world.client.domains.create({ domain: 'sends.example' })
    publish(world.dns, domain)
    const verified = await world.client.domains.verify(domain.id)
    assert.equal(verified.status, 'verified')
    withdraw(world.dns, domain, 'mx')
    assert.equal((await world.client.domains.verify(domain.id)).status, 'degraded')
    const { sent, to, reversePath } = await accepted('fay', 'sends.example')
    assert.match(reversePath, /@mailroom\.localhost$/)
    const raw = bounceMail({ to: reversePath, recipient: to })
    assert.equal((await world.send({ from: '', to: reversePath, raw })).code, 250)
    assert.equal((await deliveryOf(world, sent)).status, 'bounced')
  })
})
