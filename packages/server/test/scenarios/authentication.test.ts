import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLongRun } from '@mailroom/mail/test/size-of.ts'
import type { Message } from '@mailroom/sdk'
import { openDns } from '#test/peers/dns.ts'
import { makeSigningKey, signMail } from '#test/peers/signed-mail.ts'
import { newest } from '#test/scenarios/deliver.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openWorld, plainMail, prepared } from '#test/world.ts'

const key = makeSigningKey()
const SPF = { TXT: ['v=spf1 ip4:127.0.0.0/8 ip6:::1 -all'] }
const NOBODY = { TXT: ['v=spf1 -all'] }
const REJECT = { TXT: ['v=DMARC1; p=reject'] }

const ZONE = {
  'sender.example': SPF,
  's1._domainkey.sender.example': { TXT: [key.record] },
  '_dmarc.sender.example': REJECT,
  'bank.example': NOBODY,
  '_dmarc.bank.example': REJECT,
  'silent.example': 'silent',
  'none._domainkey.k0.silent.example': 'silent',
  'none._domainkey.k1.silent.example': 'silent',
  '_dmarc.silent.example': 'silent',
  'broken.example': 'servfail',
  '_dmarc.broken.example': REJECT,
} as const

onEachEngine('authentication', (engine) => {
  const open = (env: Record<string, string> = {}) =>
    openWorld(engine, { env: { MAILROOM_DNS_SERVERS: dns.server, ...env } })
  const dns = opened(() => openDns(ZONE))
  const world = opened(() => open())
  const inbox = prepared(() => world.inbox())

  const arrive = async (from: string, raw: string | Buffer): Promise<Message> => {
    const reply = await world.send({ from, to: inbox.address, raw })
    assert.equal(reply.code, 250, reply.lines.join())
    return newest(world, inbox)
  }
  const forged = (to: string) => plainMail({ to, from: 'The Bank <info@bank.example>' })

  test('of signed mail from a permitted host is shown in full, in lists and events too', async () => {
    const raw = await signMail(plainMail({ to: inbox.address }), { key })
    const { id } = await arrive('ann@sender.example', raw)
    const expected = {
      spf: { result: 'pass', domain: 'sender.example' },
      dkim: [{ result: 'pass', domain: 'sender.example', selector: 's1' }],
      dmarc: { result: 'pass', policy: 'reject', domain: 'sender.example' },
      arc: { result: 'none' },
      verifiedFrom: true,
    }
    assert.deepEqual((await world.client.messages.get(id)).authentication, expected)
    await untilReadable(world)
    const { data } = await world.client.events.list({ event_types: 'message.received' }).page()
    const event = data.find(({ message }) => message?.id === id)
    assert.deepEqual(event?.message?.authentication, expected)
  })

  test('refuses mail that the policy of the From domain rejects, and keeps nothing of it', async () => {
    const { total } = await world.client.messages.list(inbox.id).page()
    const reply = await world.send({
      from: 'eve@evil.example',
      to: inbox.address,
      raw: forged(inbox.address),
    })
    assert.equal(reply.code, 550)
    assert.match(reply.lines.join(), /^5\.7\.1 .*DMARC.*bank\.example/)
    assert.equal((await world.client.messages.list(inbox.id).page()).total, total)
  })

  // The rest does not depend on the database.
  if (engine === 'postgres' && !isLongRun()) return

  test("uses the right domain's policy for an address that contains a comment", async () => {
    for (const from of [
      'CEO <ceo@bank.example (x)>',
      'ceo@bank(x).example',
      '"ceo" @bank.example',
    ]) {
      const raw = plainMail({ to: inbox.address, from })
      const reply = await world.send({ from: 'eve@evil.example', to: inbox.address, raw })
      assert.equal(reply.code, 550, from)
    }
  })

  test('never verifies a malformed address', async () => {
    const raw = plainMail({ to: inbox.address, from: 'ann.@sender.example' })
    const { authentication } = await arrive('ann@sender.example', raw)
    assert.deepEqual([authentication?.dmarc.result, authentication?.verifiedFrom], ['pass', false])
  })

  test('refuses no mail that is only for the postmaster', async () => {
    const to = 'postmaster@mailroom.localhost'
    const reply = await world.send({ from: 'eve@evil.example', to, raw: forged(to) })
    assert.equal(reply.code, 250)
  })

  test('refuses nothing while DNS does not answer', async () => {
    const raw = plainMail({ to: inbox.address, from: 'a@broken.example' })
    const { authentication } = await arrive('a@broken.example', raw)
    assert.deepEqual(
      [authentication?.spf.result, authentication?.dmarc.result, authentication?.verifiedFrom],
      ['temperror', 'temperror', false],
    )
  })

  test('takes at most five seconds, and then the message is stored', async () => {
    const startMs = performance.now()
    const raw = plainMail({ to: inbox.address, from: 'a@silent.example' })
    const { authentication } = await arrive('a@silent.example', raw)
    const tookMs = performance.now() - startMs
    assert.ok(tookMs < 15_000, `took ${tookMs} ms`)
    assert.equal(authentication?.dmarc.result, 'temperror')
  })

  test('never verifies a message with two From fields, whichever of them passes', async () => {
    const headers = ['From: The Bank <info@bank.example>']
    const raw = await signMail(plainMail({ to: inbox.address, headers }), { key })
    const { authentication, fromAddr } = await arrive('ann@sender.example', raw)
    assert.equal(fromAddr, 'Ann Sender <ann@sender.example>')
    assert.deepEqual(
      [authentication?.dmarc.result, authentication?.verifiedFrom],
      ['permerror', false],
    )
  })

  test('never verifies a message whose second From or Subject only some readers see', async () => {
    const raw = await signMail(plainMail({ to: inbox.address }), { key })
    const signed = raw.toString('latin1')
    const ceo = 'From: The CEO <ceo@sender.example>\r\n'
    const hidden = ceo + signed.replace(/^From: /m, 'From\r\n : ')
    const buried = `${ceo}${'X: y\r\n'.repeat(999)}${signed}`
    for (const spoofed of [hidden, buried]) {
      const { authentication, fromAddr } = await arrive('ann@sender.example', spoofed)
      assert.equal(fromAddr, 'The CEO <ceo@sender.example>')
      assert.equal(authentication?.verifiedFrom, false)
    }
    const replayed = {
      from: 'eve@evil.example',
      to: inbox.address,
      raw: `Subject: Pay\r\n${signed}`,
    }
    assert.equal((await world.send(replayed)).code, 550)
  })

  test('refuses a forged message even when the keys of its signatures never arrive', async () => {
    const to = inbox.address
    const signatures = await Promise.all(
      ['k0.silent.example', 'k1.silent.example', 'bank.example'].map(async (domain) => {
        const signed = await signMail(forged(to), { key, domain, selector: 'none' })
        return signed.subarray(0, signed.length - forged(to).length)
      }),
    )
    const raw = Buffer.concat([...signatures, Buffer.from(forged(to))])
    assert.equal((await world.send({ from: 'eve@evil.example', to, raw })).code, 550)
  })

  test('of mail between inboxes of the service needs no DNS', async () => {
    const other = await world.inbox()
    const asked = dns.asked.length
    await world.client.inboxes.send(other.id, { to: inbox.address, subject: 'Inner', body: 'x' })
    await until(async () => (await newest(world, inbox)).subject === 'Inner')
    const message = await newest(world, inbox)
    const domain = 'mailroom.localhost'
    assert.deepEqual(message.authentication, {
      spf: { result: 'none', domain: null },
      dkim: [{ result: 'pass', domain, selector: message.authentication?.dkim[0]?.selector }],
      dmarc: { result: 'pass', policy: null, domain },
      arc: { result: 'none' },
      verifiedFrom: true,
    })
    assert.ok(message.authentication?.dkim[0]?.selector)
    assert.equal(dns.asked.length, asked)
  })

  test('removes results that a message claims to have from this service', async () => {
    const host = world.settings.smtpHostname
    const [first, last] = ['Received: from x.example\r\n', plainMail({ to: inbox.address })]
    const claim = `Authentication-Results: (really)\r\n ${host.toUpperCase()} 1; dmarc=pass\r\n`
    const foreign = 'Authentication-Results: mx.other.example; spf=fail\r\n'
    const { id } = await arrive('ann@sender.example', `${first}${claim}${foreign}${last}`)
    const expected = Buffer.from(`${first}${foreign}${last}`)
    const { content } = await world.client.messages.raw(id)
    assert.deepEqual(Buffer.from(content), expected)
    const response = await world.fetch(`/v1/messages/${id}/raw`)
    assert.equal(response.headers.get('content-length'), String(expected.length))
    await response.arrayBuffer()
  })

  test('is left to others, or not enforced, according to the settings', async () => {
    await using lenient = await open({ MAILROOM_REJECT_DMARC_FAILURES: 'false' })
    await using trusting = await open({ MAILROOM_AUTHENTICATE_INBOUND: 'false' })
    const told = []
    for (const one of [lenient, trusting]) {
      const box = await one.inbox()
      const mail = { from: 'eve@evil.example', to: box.address, raw: forged(box.address) }
      assert.equal((await one.send(mail)).code, 250)
      told.push((await newest(one, box)).authentication)
    }
    assert.deepEqual([told[0]?.dmarc.result, told[0]?.dmarc.policy], ['fail', 'reject'])
    assert.equal(told[1], null)
  })

  test('of mail injected in the sandbox asks no DNS unless the mail is signed', async () => {
    const asked = dns.asked.length
    const fields = { from: 'a@bank.example', to: [inbox.address], subject: 'By hand', text: 'x' }
    const { data } = await world.client.sandbox.receive(fields)
    const authentication = data[0]?.authentication
    assert.deepEqual(
      [authentication?.spf.result, authentication?.dkim, authentication?.dmarc.result],
      ['none', [], 'none'],
    )
    assert.equal(dns.asked.length, asked)
  })
})
