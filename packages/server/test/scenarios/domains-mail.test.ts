import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import { test } from 'node:test'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { openSender } from '#test/peers/sender.ts'
import { runSql } from '#test/peers/sql.ts'
import { publish, verifiedDomain, withdraw } from '#test/scenarios/domain-world.ts'
import { until } from '#test/scenarios/outcomes.ts'
import {
  arrived,
  fieldOf,
  openSendingTenant,
  readMail,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, plainMail, prepared } from '#test/world.ts'

onEachEngine('mail of custom domains', (engine) => {
  const world = opened(() => openSendingTenant(engine))
  const ann = prepared(() => world.newAccount())
  const domain = prepared(() => verifiedDomain(world, 'bücher.example', ann))
  const inbox = prepared(() =>
    ann.client.inboxes.create({ domain: domain.domain, mailboxName: 'info' }),
  )

  async function replyTo(address: string, extension = ''): Promise<string> {
    const sender = await openSender(world.smtpPort)
    try {
      await sender.command(`MAIL FROM:<someone@sender.example>${extension}`)
      const { code, lines } = await sender.command(`RCPT TO:<${address}>`)
      return `${code} ${lines[0]?.split(' ')[0]}`
    } finally {
      await sender.quit()
    }
  }

  const countRows = async (table: string) =>
    Number((await runSql(world, `select count(*) as n from ${table}`))[0]?.n)

  test('is accepted for inboxes of a served domain, in any spelling of the address', async () => {
    assert.equal(domain.domain, 'xn--bcher-kva.example')
    for (const address of [
      'info@xn--bcher-kva.example',
      'INFO@XN--BCHER-KVA.Example',
      'info+tag@xn--bcher-kva.example',
      '"info"@xn--bcher-kva.example',
    ]) {
      assert.equal(await replyTo(address), '250 2.1.5', address)
    }
    assert.equal(await replyTo('info@bücher.example', ' SMTPUTF8'), '250 2.1.5')
    const raw = plainMail({ to: inbox.address })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    const [message] = (await ann.client.messages.list(inbox.id).page()).data
    assert.equal(message?.toAddr, inbox.address)
  })

  test('is refused for unknown mailboxes and unserved domains', async () => {
    await ann.client.domains.create({ domain: 'waiting.example' })
    assert.equal(await replyTo('nobody@xn--bcher-kva.example'), '550 5.1.1')
    assert.equal(await replyTo('info@waiting.example'), '550 5.7.1')
    assert.equal(await replyTo('info@unheard.example'), '550 5.7.1')
    assert.equal(await replyTo('info@sub.xn--bcher-kva.example'), '550 5.7.1')
    assert.equal(await replyTo('postmaster@waiting.example'), '550 5.7.1')
  })

  test('to postmaster goes to the operator, and to the inbox of that name if there is one', async () => {
    const address = `Postmaster@${domain.domain}`
    const before = await countRows('postmaster_messages')
    const raw = plainMail({ to: address })
    assert.equal((await world.send({ to: address, raw })).code, 250)
    assert.equal((await countRows('postmaster_messages')) - before, 1)
    const own = await ann.client.inboxes.create({
      domain: domain.domain,
      mailboxName: 'postmaster',
    })
    assert.equal((await world.send({ to: address, raw: plainMail({ subject: 'own' }) })).code, 250)
    assert.equal((await countRows('postmaster_messages')) - before, 1)
    assert.equal((await ann.client.messages.list(own.id).page()).total, 1)
  })

  test('is refused once its inbox or its domain is deleted', async () => {
    const gone = await verifiedDomain(world, 'gone.example', ann)
    const { id, address } = await ann.client.inboxes.create({ domain: 'gone.example' })
    assert.equal(await replyTo(address), '250 2.1.5')
    await ann.client.inboxes.delete(id)
    assert.equal(await replyTo(address), '550 5.1.1')
    await ann.client.domains.delete(gone.id)
    assert.equal(await replyTo(address), '550 5.7.1')
    assert.equal(
      await countRows(`dkim_keys where owner_id = '${gone.id}'`),
      0,
      'its keys went with it',
    )
  })

  test('for a released address of a domain is reserved for its account while the domain exists', async () => {
    const kept = await verifiedDomain(world, 'kept.example', ann)
    const first = { domain: 'kept.example', mailboxName: 'freed' }
    const { id } = await ann.client.inboxes.create(first)
    await ann.client.inboxes.delete(id)
    const again = await ann.client.inboxes.create(first)
    await ann.client.inboxes.delete(again.id)
    await ann.client.domains.delete(kept.id)
    await verifiedDomain(world, 'kept.example')
    assert.equal((await world.client.inboxes.create(first)).address, 'freed@kept.example')
  })

  test('is signed with the key of the domain, comes from an address on it, and bounces return to it', async () => {
    const sent = await send(ann, inbox)
    const { raw, reversePath } = await arrived(world, sent)
    const resolver = new Resolver()
    resolver.setServers([world.dns.server])
    const { results } = await dkimVerify(raw, {
      resolver: (name: string) => resolver.resolveTxt(name),
      curTime: world.clock.now(),
    })
    assert.deepEqual(
      results.map(({ signingDomain, selector, status }) => ({
        signingDomain,
        selector,
        result: status.result,
        aligned: status.aligned,
      })),
      [
        {
          signingDomain: domain.domain,
          selector: domain.records.find(({ purpose }) => purpose === 'dkim')?.name.split('.')[0],
          result: 'pass',
          aligned: domain.domain,
        },
      ],
    )
    assert.equal((await readMail(raw)).from?.address, inbox.address)
    assert.match(fieldOf(raw, 'message-id') ?? '', /@xn--bcher-kva\.example>$/)
    assert.match(reversePath, /^b\+[0-9a-z.]+@xn--bcher-kva\.example$/)
    assert.equal(await replyTo(reversePath), '250 2.1.5')
  })

  test('has bounces to the domain of the service while MX or SPF of the domain are wrong', async () => {
    const wrong = await verifiedDomain(world, 'wrong.example', ann)
    const from = await ann.client.inboxes.create({ domain: 'wrong.example' })
    const pathOf = async () => (await arrived(world, await send(ann, from))).reversePath
    assert.match(await pathOf(), /@wrong\.example$/)
    for (const purpose of ['mx', 'spf'] as const) {
      withdraw(world.dns, wrong, purpose)
      assert.equal((await ann.client.domains.verify(wrong.id)).status, 'degraded')
      assert.match(await pathOf(), /@mailroom\.localhost$/, purpose)
      publish(world.dns, wrong)
      await ann.client.domains.verify(wrong.id)
      assert.match(await pathOf(), /@wrong\.example$/)
    }
  })

  test('to a failed domain follows its MX; the account accepts what arrives', async () => {
    const left = await verifiedDomain(world, 'left.example', ann)
    const old = await ann.client.inboxes.create({ domain: 'left.example', mailboxName: 'info' })
    const tenant = await world.newAccount()
    const from = await tenant.client.inboxes.create()
    const held = async () => (await ann.client.messages.list(old.id).page()).total
    const sendTo = async (to: string) => {
      const sent = await send(tenant, from, { to })
      assert.equal((await settled(tenant, sent)).status, 'sent')
      const [delivery] = (await tenant.client.messages.deliveries(sent.id).page()).data
      return delivery?.host
    }
    world.dns.zone['left.example'] = { MX: [{ exchange: 'mx.friend.example', preference: 10 }] }
    assert.equal((await ann.client.domains.verify(left.id)).status, 'degraded')
    assert.equal(await sendTo('info@left.example'), 'mailroom.localhost')
    assert.equal(await held(), 1)

    world.clock.advance(72 * 3_600_000)
    assert.equal((await ann.client.domains.verify(left.id)).status, 'failed')
    assert.equal(await sendTo('info@left.example'), 'mx.friend.example')
    assert.equal(await sendTo('nobody@left.example'), 'mx.friend.example')
    assert.equal(await held(), 1)
    const raw = plainMail({ to: old.address })
    assert.equal((await world.send({ to: old.address, raw })).code, 250)
    assert.equal(await held(), 2)

    // With a correct MX and a wrong SPF record, all others still send its mail here.
    withdraw(world.dns, left, 'mx')
    publish(world.dns, left, ({ purpose }) => purpose === 'mx')
    assert.equal((await ann.client.domains.verify(left.id)).status, 'failed')
    assert.equal(await sendTo('info@left.example'), 'mailroom.localhost')
    assert.equal(await held(), 3)
  })

  test('to a name below a domain stays here only where the MX of that name is this service', async () => {
    const wide = await verifiedDomain(world, 'wide.example', ann)
    const desk = { domain: 'wide.example', mailboxName: 'desk' }
    const { id } = await ann.client.inboxes.create(desk)
    await ann.client.domains.update(wide.id, { subdomainsEnabled: true, catchAllInboxId: id })
    const [mx] = wide.records.filter(({ purpose }) => purpose === 'mx')
    world.dns.zone['here.wide.example'] = { MX: [{ exchange: mx?.value ?? '', preference: 10 }] }
    world.dns.zone['own.wide.example'] = { MX: [{ exchange: 'mx.friend.example', preference: 10 }] }
    const hostOf = async (to: string) => {
      const sent = await send(ann, inbox, { to })
      assert.equal((await settled(ann, sent)).status, 'sent')
      const [delivery] = (await ann.client.messages.deliveries(sent.id).page()).data
      return delivery?.host
    }
    const held = async () => (await ann.client.messages.list(id).page()).total
    assert.equal(await hostOf('desk@here.wide.example'), 'mailroom.localhost')
    assert.equal(await hostOf('any@here.wide.example'), 'mailroom.localhost')
    assert.equal(await held(), 2)
    assert.equal(await hostOf('desk@own.wide.example'), 'mx.friend.example')
    assert.equal(await held(), 2)
  })

  test('between inboxes of the service does not leave the machine, and is verified', async () => {
    const sent = await send(ann, inbox, { to: inbox.address, subject: 'To itself' })
    assert.equal((await settled(ann, sent)).status, 'sent')
    const find = async () =>
      (await ann.client.messages.list(inbox.id, { direction: 'inbound' }).page()).data.find(
        ({ subject }) => subject === 'To itself',
      )
    await until(async () => (await find()) !== undefined)
    assert.ok(world.mta.transactions.every(({ raw }) => !raw.includes('To itself')))
  })
})
