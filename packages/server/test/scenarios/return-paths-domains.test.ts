import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { codesOf, countMessages, countRows } from '#test/scenarios/deliver.ts'
import { publish, verifiedDomain, withdraw } from '#test/scenarios/domain-world.ts'
import { bounceMail, complaintMail } from '#test/scenarios/report-mail.ts'
import {
  arrived,
  deliveryOf,
  openSendingWorld,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, plainMail } from '#test/world.ts'

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

  test('are on the domain, and take bounces there', async () => {
    const { sent, to, reversePath } = await accepted('ada')
    assert.match(reversePath, /^b\+[0-9a-z]{26}\.[0-9a-z]{10}@agents\.example$/)
    const raw = bounceMail({ to: reversePath, recipient: to })
    assert.equal((await world.send({ from: '', to: reversePath, raw })).code, 250)
    const delivery = await deliveryOf(world, sent)
    assert.deepEqual([delivery.status, delivery.bounceClass], ['bounced', 'hard'])
    assert.equal((await world.client.messages.get(sent.messageId)).status, 'failed')
  })

  test('take what is no report as mail for the inbox', async () => {
    const { inbox, reversePath } = await accepted('cid')
    const raw = plainMail({ to: reversePath, headers: ['Auto-Submitted: auto-replied'] })
    assert.equal((await world.send({ from: '', to: reversePath, raw })).code, 250)
    assert.equal(await countMessages(world, inbox), 2)
  })

  test('that are forged there are accepted and dropped', async () => {
    const to = 'b+guess@agents.example'
    const raw = bounceMail({ to, recipient: 'bob@friend.example' })
    assert.equal((await world.send({ from: '', to, raw })).code, 250)
  })

  test('abuse@ of the domain takes complaints, and leaves the rest to its inbox or the operator', async () => {
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

  test('are on the inbox domain while the domain’s own mail goes elsewhere', async () => {
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
