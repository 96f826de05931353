import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox, Mailroom } from '@mailroom/sdk'
import { openDns, type Zone } from '#test/peers/dns.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

const FRIEND = 'ann@friend.example'

/** The machine of the tests may send mail of friend.example, but not of far.example. */
const ZONE: Zone = {
  'friend.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  'far.example': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
  'slow.example': { TXT: 'servfail' },
  '_dmarc.slow.example': { TXT: 'servfail' },
}

onEachEngine('verified senders', (engine) => {
  const dns = opened(() => openDns(ZONE))
  const world = opened(() => openWorld(engine, { env: { MAILROOM_DNS_SERVERS: dns.server } }))

  /** An account that allows only listed senders, with an inbox. */
  async function closed() {
    const { client } = await world.newAccount()
    await client.account.update({ filterMode: 'allowlist' })
    return { client, inbox: await client.inboxes.create() }
  }

  const send = async (inbox: Inbox, reversePath: string, from: string, headers: string[] = []) => {
    const mail = { to: inbox.address, from: reversePath, raw: plainMail({ from, headers }) }
    assert.equal((await world.send(mail)).code, 250)
  }
  const counts = async (client: Mailroom, { id }: Inbox) => [
    (await client.messages.list(id).page()).total,
    (await client.quarantine.list().page()).total,
  ]

  test('an allow rule admits authenticated mail of its domain, and no other mail with its name', async () => {
    const { client, inbox } = await closed()
    await client.senderRules.create({ type: 'allow', value: 'friend.example' })
    await send(inbox, FRIEND, `Ann <${FRIEND}>`)
    assert.deepEqual(await counts(client, inbox), [1, 0])
    const [message] = (await client.messages.list(inbox.id).page()).data
    assert.equal(message?.authentication?.verifiedFrom, true)
    await send(inbox, 'eve@far.example', `Ann <${FRIEND}>`)
    await send(inbox, '', `Ann <${FRIEND}>`)
    assert.deepEqual(await counts(client, inbox), [1, 2])
    const kept = (await client.quarantine.list().page()).data
    for (const { reason, authentication } of kept) {
      assert.deepEqual([reason, authentication?.verifiedFrom], ['not_verified', false])
    }
  })

  test('a released message keeps the authentication of its arrival', async () => {
    const { client, inbox } = await closed()
    await send(inbox, FRIEND, FRIEND)
    const [kept] = (await client.quarantine.list().page()).data
    assert.equal(kept?.authentication?.verifiedFrom, true)
    const asked = dns.asked.length
    const message = await client.quarantine.release(kept?.id ?? '')
    assert.deepEqual(message.authentication, kept?.authentication)
    assert.equal(dns.asked.length, asked)
  })

  test('a rule without a required proof admits any mail with the name', async () => {
    const { client, inbox } = await closed()
    const value = FRIEND
    await client.senderRules.create({ type: 'allow', value, requireVerified: false })
    await send(inbox, 'eve@far.example', FRIEND)
    assert.deepEqual(await counts(client, inbox), [1, 0])
    await client.senderRules.create({ type: 'allow', value, requireVerified: true })
    await send(inbox, 'eve@far.example', FRIEND)
    assert.deepEqual(await counts(client, inbox), [1, 1])
  })

  test('a message with two From fields is never verified, whichever of them is allowed', async () => {
    const { client, inbox } = await closed()
    await client.senderRules.create({ type: 'allow', value: 'friend.example' })
    await send(inbox, FRIEND, FRIEND, ['From: eve@far.example'])
    await send(inbox, FRIEND, 'eve@far.example', [`From: ${FRIEND}`])
    await send(inbox, FRIEND, `${FRIEND}, eve@far.example`)
    assert.deepEqual(await counts(client, inbox), [0, 3])
  })

  test('without an answer of DNS a sender is not verified: the mail waits in quarantine with the reason', async () => {
    const { client, inbox } = await closed()
    await client.senderRules.create({ type: 'allow', value: 'slow.example' })
    await send(inbox, 'ann@slow.example', 'ann@slow.example')
    const [kept] = (await client.quarantine.list().page()).data
    assert.equal(kept?.authentication?.spf.result, 'temperror')
  })

  test('an inbox of the service is verified by the service itself', async () => {
    const { client, inbox } = await closed()
    const { client: sending } = await world.newAccount()
    const sender = await sending.inboxes.create()
    const write = async (subject: string) => {
      const mail = { to: inbox.address, subject, body: 'Hi' }
      const { messageId } = await sending.inboxes.send(sender.id, mail)
      await until(async () => (await sending.messages.get(messageId)).status === 'sent')
    }
    await write('stranger')
    assert.deepEqual(await counts(client, inbox), [0, 1])
    await client.senderRules.create({ type: 'allow', value: sender.address })
    await write('allowed')
    assert.deepEqual(await counts(client, inbox), [1, 1])
  })

  test('a block applies to verified senders, too', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    await client.senderRules.create({ type: 'allow', value: 'friend.example' })
    await client.senderRules.create({ type: 'block', value: FRIEND })
    await send(inbox, FRIEND, FRIEND)
    await send(inbox, 'bob@friend.example', 'bob@friend.example')
    assert.deepEqual(await counts(client, inbox), [1, 1])
  })
})
