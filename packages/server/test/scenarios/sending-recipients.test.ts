import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliver } from '#test/scenarios/deliver.ts'
import {
  arrived,
  deliveriesOf,
  fieldOf,
  openSendingTenant,
  PLAIN,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, plainMail } from '#test/world.ts'

const ANN = 'ann@friend.example'
const CAT = 'cat@friend.example'
const DAN = 'dan@friend.example'
const EVE = 'eve@friend.example'

onEachEngine('the recipients of a message', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  test('are all of to, cc and bcc, each once, and nobody sees bcc', async () => {
    const inbox = await world.inbox()
    const sent = await send(world, inbox, {
      to: [PLAIN.to, `Ann <${ANN}>`],
      cc: [CAT, ANN],
      bcc: [DAN, CAT.toUpperCase()],
    })
    const { raw } = await arrived(world, sent)
    assert.equal(fieldOf(raw, 'to'), `${PLAIN.to}, Ann <${ANN}>`)
    assert.equal(fieldOf(raw, 'cc'), `${CAT}, Ann <${ANN}>`)
    assert.ok(!raw.toString('latin1').toLowerCase().includes('dan@'))
    const recipients = (await deliveriesOf(world, sent)).map(({ recipient }) => recipient)
    assert.deepEqual(recipients, [PLAIN.to, ANN, CAT, DAN])
    const message = await settled(world, sent)
    assert.deepEqual(
      [message.toAddr, message.to, message.cc, message.bcc],
      [PLAIN.to, [PLAIN.to, `Ann <${ANN}>`], [CAT, `Ann <${ANN}>`], [DAN, CAT.toUpperCase()]],
    )
    const { participants } = await world.client.threads.get(sent.threadId)
    assert.deepEqual(
      participants.map(({ address }) => address),
      [PLAIN.to, ANN, CAT],
    )
  })

  test('are at most fifty together, but one to may have fifty cc as before', async () => {
    const inbox = await world.inbox()
    const many = (count: number) => Array.from({ length: count }, (_, i) => `p${i}@friend.example`)
    const over = { code: 'bad_request', details: [{ path: 'to', message: /51 addresses/ }] }
    const refused = async (fields: Parameters<typeof send>[2]) => {
      const error = await send(world, inbox, fields).catch((thrown) => thrown)
      assert.equal(error.code, over.code)
      assert.equal(error.details[0].path, 'to')
      assert.match(error.details[0].message, /51 addresses/)
    }
    await refused({ to: many(26), cc: many(25) })
    await refused({ cc: many(49), bcc: [ANN] })
    await send(world, inbox, { to: many(25), bcc: [ANN] })
    await send(world, inbox, { cc: many(50) })
    const wrong = await send(world, inbox, { to: [PLAIN.to, 'nobody'] }).catch((thrown) => thrown)
    assert.equal(wrong.details[0].path, 'to[1]')
    const none = await send(world, inbox, { to: [] }).catch((thrown) => thrown)
    assert.deepEqual([none.code, none.details[0].path], ['bad_request', 'to'])
  })

  test('get the further header fields, which are checked', async () => {
    const inbox = await world.inbox()
    const headers = { 'X-Ticket': 'Zürich 42', 'List-Id': '<a.friend.example>' }
    const { raw } = await arrived(world, await send(world, inbox, { headers }))
    assert.equal(fieldOf(raw, 'list-id'), '<a.friend.example>')
    assert.match(fieldOf(raw, 'x-ticket') ?? '', /^=\?UTF-8\?Q\?Z=C3=BCrich_42\?=$/)
    const bad: Record<string, string>[] = [
      { Subject: 'x' },
      { 'List-Unsubscribe': '<https://a.example>' },
      { 'list-unsubscribe-other': 'x' },
      { 'X-A\r\nBcc': 'x' },
      { 'X-A': 'x\r\nBcc: eve@friend.example' },
      { 'X-A': 'x', 'x-a': 'y' },
      { 'X-A': 'x'.repeat(999) },
      { 'X-A': ' ' },
      Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`X-${i}`, 'x'])),
    ]
    for (const headers of bad) {
      const error = await send(world, inbox, { headers }).catch((thrown) => thrown)
      assert.equal(error.code, 'bad_request', JSON.stringify(headers))
      assert.match(error.details[0].path, /^headers/)
    }
  })

  test('of a reply to all are no more than fifty, whoever chose them', async () => {
    const inbox = await world.inbox()
    for (const count of [51, 2_000]) {
      const many = Array.from({ length: count }, (_, i) => `r${i}@friend.example`)
      const messageId = `<many${count}.${inbox.id}@friend.example>`
      const headers = [`Reply-To: ${many.join(',\r\n ')}`]
      const mail = plainMail({ from: PLAIN.to, to: inbox.address, messageId, headers })
      await deliver(world, inbox, mail, PLAIN.to)
      const [thread] = (await world.client.threads.list(inbox.id).page()).data
      const reply = { body: 'Yes', replyAll: true, threadId: thread?.id ?? '' }
      const error = await world.client.inboxes.send(inbox.id, reply).catch((thrown) => thrown)
      assert.deepEqual([error.code, error.details?.[0]?.path], ['bad_request', 'to'])
      assert.match(error.details[0].message, new RegExp(`${count} addresses`))
    }
  })

  test('of a reply to all are everybody of the newest received message but the inbox', async () => {
    const inbox = await world.inbox()
    const mail = plainMail({
      from: PLAIN.to,
      to: `${inbox.address}, ${ANN}`,
      messageId: `<all.${inbox.id}@friend.example>`,
      headers: [
        `Cc: ${inbox.address.replace('@', '+tag@')}, ${CAT}, ${PLAIN.to}`,
        `Reply-To: ${DAN}`,
      ],
    })
    await deliver(world, inbox, mail, PLAIN.to)
    const [thread] = (await world.client.threads.list(inbox.id).page()).data
    const threadId = thread?.id ?? ''
    const reply = { body: 'Yes', replyAll: true, threadId }
    const sent = await world.client.inboxes.send(inbox.id, reply)
    const { raw } = await arrived(world, sent)
    assert.equal(fieldOf(raw, 'to'), DAN)
    assert.equal(fieldOf(raw, 'cc'), `${ANN}, ${CAT}, ${PLAIN.to}`)
    await settled(world, sent)
    await world.client.suppressions.create({ address: CAT })
    const again = await world.client.inboxes.send(inbox.id, reply)
    const own = await arrived(world, again)
    assert.equal(fieldOf(own.raw, 'to'), DAN, 'after an own message: the same')
    assert.equal(fieldOf(own.raw, 'cc'), `${ANN}, ${PLAIN.to}`, 'without suppressed addresses')
    for (const wrong of [
      { body: 'x', subject: 'x', replyAll: true },
      { body: 'x', threadId },
    ]) {
      const error = await world.client.inboxes.send(inbox.id, wrong).catch((thrown) => thrown)
      assert.equal(error.code, 'bad_request')
      const path = 'replyAll' in wrong ? 'replyAll' : 'to'
      assert.equal(error.details[0].path, path)
    }
  })

  test('of a reply to all are the author and the others when Reply-To is the inbox', async () => {
    const inbox = await world.inbox()
    const mail = plainMail({
      from: PLAIN.to,
      to: `${inbox.address}, ${ANN}`,
      messageId: `<back.${inbox.id}@friend.example>`,
      headers: [`Cc: ${EVE}, ${DAN}`, `Reply-To: ${inbox.address.replace('@', '+back@')}`],
    })
    await deliver(world, inbox, mail, PLAIN.to)
    const [thread] = (await world.client.threads.list(inbox.id).page()).data
    await world.client.suppressions.create({ address: DAN })
    const reply = { body: 'Yes', replyAll: true, threadId: thread?.id ?? '' }
    const { raw } = await arrived(world, await world.client.inboxes.send(inbox.id, reply))
    assert.equal(fieldOf(raw, 'to'), PLAIN.to)
    assert.equal(fieldOf(raw, 'cc'), `${ANN}, ${EVE}`, 'without the suppressed one')
  })

  test('of a reply to all in a thread of notes to others are those of the received message', async () => {
    const inbox = await world.inbox()
    const mail = plainMail({
      from: PLAIN.to,
      to: `${inbox.address}, ${ANN}`,
      messageId: `<notes.${inbox.id}@friend.example>`,
    })
    const { threadId } = await deliver(world, inbox, mail, PLAIN.to)
    await world.client.inboxes.send(inbox.id, { to: EVE, body: 'A note.', threadId })
    const sent = await world.client.inboxes.send(inbox.id, {
      body: 'Yes',
      replyAll: true,
      threadId,
    })
    const { raw } = await arrived(world, sent)
    assert.deepEqual([fieldOf(raw, 'to'), fieldOf(raw, 'cc')], [PLAIN.to, ANN])
  })

  test('of a reply to all of a message that the inbox wrote to itself do not exist', async () => {
    const inbox = await world.inbox()
    const mail = plainMail({ from: inbox.address, to: inbox.address })
    const { threadId } = await deliver(world, inbox, mail, PLAIN.to)
    const reply = { body: 'Yes', replyAll: true, threadId }
    const error = await world.client.inboxes.send(inbox.id, reply).catch((thrown) => thrown)
    assert.equal(error.code, 'bad_request')
    assert.match(error.message, /no other address/)
  })
})
