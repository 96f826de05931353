import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codesOf, countMessages, countRows, eventsAbout } from '#test/scenarios/deliver.ts'
import { refusal } from '#test/scenarios/outcomes.ts'
import { bounceMail, type ComplainedMail, complaintMail } from '#test/scenarios/report-mail.ts'
import {
  arrived,
  deliveriesOf,
  deliveryOf,
  fieldOf,
  openSendingWorld,
  send,
  sendAccepted,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, plainMail } from '#test/world.ts'

const ABUSE = 'abuse@mailroom.localhost'

onEachEngine('complaints', (engine) => {
  const world = opened(() => openSendingWorld(engine))

  /** The domain's mail goes to the other server and comes from this machine. */
  const serve = (domain: string) => {
    const MX = [{ exchange: 'mx.friend.example', preference: 10 }]
    const TXT = ['v=spf1 ip4:127.0.0.1 ip6:::1 -all']
    world.dns.zone = { ...world.dns.zone, [domain]: { MX, TXT } }
  }
  const complain = async (fields: ComplainedMail) =>
    codesOf(
      await world.send({
        from: 'fbl@friend.example',
        to: fields.to,
        raw: complaintMail(fields),
      }),
    )
  const kindsOf = async (inboxId: string, count: number) => {
    const events = await eventsAbout(world, inboxId, count)
    return events.map(({ event, recipient }) => (recipient ? [event, recipient] : event))
  }

  type Accepted = Awaited<ReturnType<typeof sendAccepted>>
  const ways: [string, (mail: Accepted) => ComplainedMail][] = [
    ['at the return path', ({ reversePath: to }) => ({ to })],
    [
      'at the return path, with a recipient',
      ({ reversePath, to }) => ({ to: reversePath, recipient: to }),
    ],
    ['at abuse@ by the return path', ({ reversePath }) => ({ to: ABUSE, mailFrom: reversePath })],
    [
      'at abuse@ by the message, with its recipient',
      ({ to, messageId, mark }) => ({ to: ABUSE, recipient: to, messageId, mark }),
    ],
    [
      'at abuse@ by the Return-Path of the message',
      ({ reversePath, messageId }) => ({
        to: ABUSE,
        messageId,
        returnPath: reversePath.toUpperCase(),
      }),
    ],
    [
      'at abuse@ by the message, naming no recipient',
      ({ messageId, mark }) => ({ to: ABUSE, messageId, mark }),
    ],
    [
      'at another spelling of abuse@',
      ({ reversePath }) => ({ to: 'ABUSE+x@Mailroom.LOCALHOST', mailFrom: reversePath }),
    ],
  ]
  for (const [how, fieldsOf] of ways) {
    test(`${how} suppress the recipient and cause an event`, async () => {
      const mail = await sendAccepted(world)
      const mailsBefore = await countRows(world, 'postmaster_messages')
      assert.equal(await complain(fieldsOf(mail)), '250 2.0.0')
      assert.equal((await deliveryOf(world, mail.sent)).status, 'complained')
      assert.equal((await deliveryOf(world, mail.sent)).bounceClass, null)
      assert.equal((await world.client.messages.get(mail.sent.messageId)).status, 'sent')
      const { data } = await world.client.suppressions.list({ address: mail.to }).page()
      assert.deepEqual([data[0]?.type, data[0]?.reason], ['complaint', 'Reported as abuse'])
      assert.equal(
        await refusal(send(world, mail.inbox, { to: mail.to })),
        '422 recipient_suppressed',
      )
      const told = ['message.sent', ['message.complained', mail.to]]
      assert.deepEqual(await kindsOf(mail.inbox.id, 2), told)
      assert.equal(await complain(fieldsOf(mail)), '250 2.0.0', 'again')
      assert.deepEqual(await kindsOf(mail.inbox.id, 2), told)
      assert.equal(await countMessages(world, mail.inbox), 1, 'not shown as a reply')
      assert.equal(await countRows(world, 'postmaster_messages'), mailsBefore)
    })
  }

  test('that say “not spam” change nothing', async () => {
    const { inbox, sent, reversePath } = await sendAccepted(world)
    await complain({ to: reversePath, feedbackType: 'not-spam' })
    await complain({ to: ABUSE, mailFrom: reversePath, feedbackType: 'not-spam' })
    assert.equal((await deliveryOf(world, sent)).status, 'accepted')
    assert.deepEqual(await kindsOf(inbox.id, 1), ['message.sent'])
  })

  test('about mail that the service did not send, and bounces, are left to the operator at abuse@', async () => {
    const { sent, to, messageId, mark } = await sendAccepted(world)
    const mailsBefore = await countRows(world, 'postmaster_messages')
    const left = [
      complaintMail({ to: ABUSE, messageId, recipient: to }),
      complaintMail({ to: ABUSE, messageId, recipient: to, mark: `${mark}x` }),
      complaintMail({ to: ABUSE, messageId, recipient: 'eve@friend.example', mark }),
      complaintMail({
        to: ABUSE,
        messageId,
        recipient: to,
        mark,
        mailFrom: 'b+x@mailroom.localhost',
      }),
      complaintMail({ to: ABUSE, feedbackType: 'auth-failure', messageId: '<a@else.example>' }),
      complaintMail({ to: ABUSE, feedbackType: 'not-spam' }),
      complaintMail({ to: ABUSE, feedbackType: 'not-spam', messageId }),
      complaintMail({ to: ABUSE, feedbackType: 'not-spam', mailFrom: 'eve@friend.example' }),
      complaintMail({ to: ABUSE, messageId, recipient: 'eve@friend.example' }),
      complaintMail({ to: ABUSE, messageId }),
      complaintMail({ to: ABUSE, mailFrom: 'b+forged@mailroom.localhost', recipient: to }),
      bounceMail({ to: ABUSE, recipient: to, messageId }),
      plainMail({ to: ABUSE, subject: 'Somebody of yours writes to me' }),
    ]
    for (const raw of left) assert.equal((await world.send({ to: ABUSE, raw })).code, 250)
    assert.equal((await countRows(world, 'postmaster_messages')) - mailsBefore, left.length)
    assert.equal((await deliveryOf(world, sent)).status, 'accepted')
  })

  test('to abuse@ about a message to several recipients count for the complainer’s own domain', async () => {
    serve('other.example')
    const inbox = await world.inbox()
    const [to, cc] = ['several@friend.example', 'several@other.example']
    const sent = await send(world, inbox, { to, cc: [cc] })
    await settled(world, sent)
    const mark = fieldOf((await arrived(world, sent)).raw, 'x-loop') ?? ''
    const messageId = sent.providerMessageId
    const before = await countRows(world, 'postmaster_messages')
    const complainAs = async (from: string, recipient: string) => {
      const raw = complaintMail({ to: ABUSE, recipient, messageId, mark })
      assert.equal((await world.send({ from, to: ABUSE, raw })).code, 250)
      return (await deliveriesOf(world, sent)).map(({ status }) => status)
    }
    assert.deepEqual(await complainAs('fbl@other.example', to), ['accepted', 'accepted'])
    assert.deepEqual(await complainAs('fbl@friend.example', to), ['accepted', 'accepted'])
    assert.equal((await countRows(world, 'postmaster_messages')) - before, 2, 'left to people')
    assert.deepEqual(await complainAs('fbl@other.example', cc), ['accepted', 'complained'])
    const { data } = await world.client.suppressions.list({ address: cc }).page()
    assert.equal(data[0]?.type, 'complaint')
  })

  test('from a provider with several of the recipients suppress nobody, because any of them could have written it', async () => {
    serve('provider.example')
    const inbox = await world.inbox()
    const [to, cc] = ['eve@provider.example', 'victim@provider.example']
    const sent = await send(world, inbox, { to, cc: [cc] })
    await settled(world, sent)
    const mark = fieldOf((await arrived(world, sent)).raw, 'x-loop') ?? ''
    const raw = complaintMail({ to: ABUSE, recipient: cc, messageId: sent.providerMessageId, mark })
    assert.equal((await world.send({ from: to, to: ABUSE, raw })).code, 250)
    assert.deepEqual(
      (await deliveriesOf(world, sent)).map(({ status }) => status),
      ['accepted', 'complained'],
    )
    assert.equal((await world.client.suppressions.list({ address: cc }).page()).total, 0)
  })

  test('that another service acknowledges automatically are mail for the inbox', async () => {
    const { inbox, sent, reversePath, to } = await sendAccepted(world)
    const raw = plainMail({
      from: 'Complaints <complaints@bank.example>',
      to: reversePath,
      subject: 'Your complaint has been received',
      headers: ['Auto-Submitted: auto-replied'],
      body: 'You complained about a service of ours. We look into it.',
    })
    assert.equal((await world.send({ from: '', to: reversePath, raw })).code, 250)
    assert.equal((await deliveryOf(world, sent)).status, 'accepted')
    assert.equal((await world.client.suppressions.list({ address: to }).page()).total, 0)
    assert.equal(await countMessages(world, inbox), 2, 'it is mail')
  })

  test('to postmaster are mail for the operator', async () => {
    const { sent, reversePath } = await sendAccepted(world)
    const mailsBefore = await countRows(world, 'postmaster_messages')
    const to = 'postmaster@mailroom.localhost'
    assert.equal(await complain({ to, mailFrom: reversePath }), '250 2.0.0')
    assert.equal((await countRows(world, 'postmaster_messages')) - mailsBefore, 1)
    assert.equal((await deliveryOf(world, sent)).status, 'accepted')
  })
})
