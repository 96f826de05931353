import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliver } from '#test/scenarios/deliver.ts'
import { refusalOf } from '#test/scenarios/outcomes.ts'
import {
  arrived,
  fieldOf,
  openSendingWorld,
  PLAIN,
  readMail,
  send,
} from '#test/scenarios/sending-world.ts'
import { onAnyEngine, opened, plainMail } from '#test/world.ts'

const MARIA = 'maria@friend.example'
const CAT = 'cat@friend.example'
const DAN = 'dan@friend.example'
const HOUR_MS = 3_600_000

/** What a request says, what the message says, and the name that a reader of the mail gets. */
const NAMES: [written: string, shown: string, read: string][] = [
  ['Maria Oliveira', 'Maria Oliveira', 'Maria Oliveira'],
  ['  Maria   Oliveira ', 'Maria   Oliveira', 'Maria   Oliveira'],
  ['"Oliveira, Maria"', '"Oliveira, Maria"', 'Oliveira, Maria'],
  ['Dr. Maria', '"Dr. Maria"', 'Dr. Maria'],
  ['"Maria \\"Mia\\" O."', '"Maria \\"Mia\\" O."', 'Maria "Mia" O.'],
  ['"a <eve@evil.example>, b"', '"a <eve@evil.example>, b"', 'a <eve@evil.example>, b'],
  ['マリア', 'マリア', 'マリア'],
  ['=?utf-8?q?Jos=C3=A9?= =?utf-8?q?_M=2E?=', '"José M."', 'José M.'],
  ['"=?utf-8?q?Jos=C3=A9?="', '"=?utf-8?q?Jos=C3=A9?="', '=?utf-8?q?Jos=C3=A9?='],
  [
    'family \u{1f469}\u200d\u{1f467}',
    'family \u{1f469}\u200d\u{1f467}',
    'family \u{1f469}\u200d\u{1f467}',
  ],
  ['नि\u200dक', 'नि\u200dक', 'नि\u200dक'],
]

const REFUSED = [
  `Maria <${MARIA}>, Cat <${CAT}>`,
  `Team: Maria <${MARIA}>;`,
  `Maria (work) <${MARIA}>`,
  `Maria <${MARIA}> (work)`,
  `Maria <x> <${MARIA}>`,
  `Maria <<${MARIA}>>`,
  `Maria\r\nBcc: eve@evil.example <${MARIA}>`,
  `Maria\u2028 <${MARIA}>`,
  `Ma\u200bria <${MARIA}>`,
  `Ma\u200dria <${MARIA}>`,
  `\u202eairaM <${MARIA}>`,
  `Maria \u{e0041} <${MARIA}>`,
  `=?utf-8?q?a=E2=80=AEb?= <${MARIA}>`,
  `=?utf-8?q?a=0D=0AX:_y?= <${MARIA}>`,
  `"Maria <${MARIA}>`,
  'Maria <>',
]

onAnyEngine('the name of a recipient', (engine) => {
  const world = opened(() => openSendingWorld(engine))

  for (const [written, shown, read] of NAMES) {
    test(`${JSON.stringify(written)} is in the mail and in the message`, async () => {
      const inbox = await world.inbox()
      const sent = await send(world, inbox, {
        to: `${written} <${MARIA}>`,
        cc: [CAT, `${written}<${DAN}>`],
        replyTo: `${written} <desk@friend.example>`,
      })
      const mail = await readMail((await arrived(world, sent)).raw)
      const mailbox = (address: string, name = read) => ({ name, address })
      assert.deepEqual(mail.to, [mailbox(MARIA)])
      assert.deepEqual(mail.cc, [mailbox(CAT, ''), mailbox(DAN)])
      assert.deepEqual(mail.replyTo, [mailbox('desk@friend.example')])
      const { to, cc, toAddr, replyTo } = await world.client.messages.get(sent.messageId)
      assert.deepEqual(
        { to, cc, toAddr, replyTo },
        {
          to: [`${shown} <${MARIA}>`],
          cc: [CAT, `${shown} <${DAN}>`],
          toAddr: MARIA,
          replyTo: 'desk@friend.example',
        },
      )
    })
  }

  test('that could deceive a reader is refused, wherever a mailbox is named', async () => {
    const inbox = await world.inbox()
    for (const written of REFUSED) {
      for (const fields of [
        { to: written },
        { to: [PLAIN.to, written] },
        { cc: [written] },
        { bcc: [written] },
        { replyTo: written },
      ]) {
        const error = await refusalOf(send(world, inbox, fields))
        assert.equal(error.code, 'bad_request', JSON.stringify(fields))
      }
      const drafted = world.client.drafts.create(inbox.id, { to: written })
      assert.equal((await refusalOf(drafted)).code, 'bad_request', written)
    }
  })

  test('of more than 200 characters is left out', async () => {
    const inbox = await world.inbox()
    const longest = 'ö'.repeat(200)
    const to = [`${longest} <${MARIA}>`, `${longest}ö <${CAT}>`]
    const { messageId } = await send(world, inbox, { to })
    const message = await world.client.messages.get(messageId)
    assert.deepEqual(message.to, [`${longest} <${MARIA}>`, CAT])
  })

  test('of a hidden recipient is nowhere in the mail', async () => {
    const inbox = await world.inbox()
    const bcc = [`Secret Dan <${DAN}>`, `Secret Maria <${MARIA}>`]
    const sent = await send(world, inbox, { to: MARIA, bcc })
    const { raw } = await arrived(world, sent)
    assert.equal(fieldOf(raw, 'to'), MARIA)
    assert.doesNotMatch(raw.toString('latin1'), /secret|dan@/i)
  })

  test('does not matter where addresses are compared', async () => {
    const inbox = await world.inbox()
    const { client } = world
    const sent = await send(world, inbox, { to: `Maria <${MARIA}>` }, 'the key of a name')
    const again = await send(world, inbox, { to: `M. O. <${MARIA}>` }, 'the key of a name')
    assert.equal(again.messageId, sent.messageId)
    await client.suppressions.create({ address: CAT })
    const suppressed = send(world, inbox, { to: `Cat <${CAT}>` })
    assert.equal((await refusalOf(suppressed)).code, 'recipient_suppressed')
    await client.suppressions.delete(CAT)
    const [event] = (
      await client.events.list({ event_types: 'message.sent', order: 'desc' }).page()
    ).data
    const { to, to_addrs } = event?.message ?? {}
    assert.deepEqual([to, to_addrs], [MARIA, [MARIA]])
  })

  test('is kept by a reply to all, for the author and everyone else', async () => {
    const inbox = await world.inbox()
    const mail = plainMail({
      from: `"Oliveira, Maria" <${MARIA}>`,
      to: `The Desk <${inbox.address}>, Dan <${DAN}>`,
      headers: [`Cc: =?utf-8?q?C=C3=A1t?= <${CAT}>, eve@friend.example`],
    })
    const { threadId, to, cc } = await deliver(world, inbox, mail, MARIA)
    assert.deepEqual(
      [to, cc],
      [
        [inbox.address, DAN],
        [CAT, 'eve@friend.example'],
      ],
    )
    const sent = await world.client.inboxes.send(inbox.id, {
      threadId,
      replyAll: true,
      body: 'Yes',
    })
    const message = await world.client.messages.get(sent.messageId)
    assert.deepEqual(message.to, [`"Oliveira, Maria" <${MARIA}>`])
    assert.deepEqual(message.cc, [`Dan <${DAN}>`, `Cát <${CAT}>`, 'eve@friend.example'])
    const { raw } = await arrived(world, sent)
    assert.equal(fieldOf(raw, 'to'), `"Oliveira, Maria" <${MARIA}>`)
    const again = await world.client.inboxes.send(inbox.id, {
      threadId,
      replyAll: true,
      body: 'Too',
    })
    const own = await world.client.messages.get(again.messageId)
    assert.deepEqual([own.to, own.cc], [message.to, message.cc])
  })

  test('is kept by a draft, and by a scheduled send', async () => {
    const inbox = await world.inbox()
    const fields = { to: `Maria <${MARIA}>`, cc: [`Cat <${CAT}>`], bcc: [`Dan <${DAN}>`] }
    const sendAt = new Date(world.clock.now() + HOUR_MS).toISOString()
    const draft = await world.client.drafts.create(inbox.id, { ...PLAIN, ...fields, sendAt })
    assert.deepEqual([draft.to, draft.cc, draft.bcc], [[fields.to], fields.cc, fields.bcc])
    const sent = await world.client.drafts.send(draft.id)
    world.clock.advance(2 * HOUR_MS)
    const { raw } = await arrived(world, sent)
    assert.deepEqual([fieldOf(raw, 'to'), fieldOf(raw, 'cc')], [fields.to, fields.cc[0]])
  })

  test('is read by the approver, and is part of the digest', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const { token } = await client.approvers.create({ name: 'Ann' })
    const approver = world.clientWith(token)
    await approver.policy.replace({ outbound: { guards: { newRecipients: 'hold' } } })
    const sent = await client.inboxes.send(inbox.id, { ...PLAIN, to: `Maria <${MARIA}>` })
    const other = await client.inboxes.send(inbox.id, { ...PLAIN, to: `Mary <${MARIA}>` })
    const review = await approver.reviews.get(sent.hold?.id ?? '')
    assert.deepEqual(review.content.to, [`Maria <${MARIA}>`])
    assert.notEqual(sent.hold?.digest, other.hold?.digest)
    await approver.reviews.approve(review.id, { digest: review.digest })
    const { raw } = await arrived(world, sent)
    assert.equal(fieldOf(raw, 'to'), `Maria <${MARIA}>`)
  })

  test('is searched for secrets like the rest of the mail', async () => {
    const inbox = await world.inbox()
    const outbound = { guards: { secrets: 'reject' } } as const
    await world.client.policy.replace({ outbound }, { inboxId: inbox.id })
    const card = '4111 1111 1111 1111'
    const error = await refusalOf(send(world, inbox, { to: `${card} <${MARIA}>` }))
    assert.equal(error.code, 'content_not_permitted')
  })
})
