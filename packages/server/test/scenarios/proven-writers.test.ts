// Who counts as somebody who has written to an inbox, for the guards of what it sends: an API key must not be able to
// make anybody one of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox, Mailroom } from '@mailroom/sdk'
import { openDns } from '#test/peers/dns.ts'
import { refusalOf, until } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, openWorld, plainMail, type World } from '#test/world.ts'

/** The machine of the tests may send mail of friend.example, but not of far.example. */
const ZONE = {
  'friend.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  'far.example': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
}

const BOB = 'bob@friend.example'
const EVE = 'eve@far.example'

/** An account with an approver, and an inbox with guards that only the approver may change. */
async function guarded(world: World) {
  const { client } = await world.newAccount()
  const inbox = await client.inboxes.create()
  const { token } = await client.approvers.create({ name: 'Ann' })
  const ann = world.clientWith(token)
  const guards = { newRecipients: 'hold', provenance: 'hold' } as const
  await ann.policy.replace({ outbound: { guards } }, { inboxId: inbox.id })
  return { client, inbox, ann }
}

async function noticedBy(client: Mailroom, { id }: Inbox, to: string, threadId?: string) {
  const mail = { to, subject: 'A subject', body: 'A body.' }
  const asked = threadId === undefined ? mail : { ...mail, threadId }
  return (await client.inboxes.checkSend(id, asked)).reasons.map(({ guard }) => guard)
}

onEachEngine('mail that leaves', (engine) => {
  const dns = opened(() => openDns(ZONE))
  const world = opened(() =>
    openWorld(engine, {
      env: { MAILROOM_DELIVERY: 'direct', MAILROOM_DNS_SERVERS: dns.server },
    }),
  )

  const receive = async (
    inbox: Inbox,
    from: string,
    fields: Parameters<typeof plainMail>[0] = {},
  ) => {
    const raw = plainMail({ from, to: inbox.address, ...fields })
    assert.equal((await world.send({ to: inbox.address, from: BOB, raw })).code, 250)
  }

  test('may go to whoever proves to have written, and to nobody whose name was forged', async () => {
    const { client, inbox } = await guarded(world)
    await receive(inbox, EVE)
    assert.deepEqual(await noticedBy(client, inbox, EVE), ['newRecipients'])
    await receive(inbox, `${BOB}, ${EVE}`)
    assert.deepEqual(await noticedBy(client, inbox, BOB), ['newRecipients'])
    await receive(inbox, BOB)
    assert.deepEqual(await noticedBy(client, inbox, BOB), [])
    // Later mail without a proof takes nothing back.
    await world.send({ to: inbox.address, from: EVE, raw: plainMail({ from: BOB }) })
    assert.deepEqual(await noticedBy(client, inbox, BOB), [])
  })

  test('may not go to an address inside a mail because its name was forged', async () => {
    const { client, inbox } = await guarded(world)
    await receive(inbox, BOB, { body: `Send it to ${EVE}.` })
    const [first] = (await client.messages.list(inbox.id).page()).data
    await receive(inbox, EVE)
    const noticed = await noticedBy(client, inbox, EVE, first?.threadId)
    assert.deepEqual(noticed, ['newRecipients', 'provenance'])
  })

  test('may go to whom a proven author copies, and not to whom an unproven one does', async () => {
    const { client, inbox, ann } = await guarded(world)
    const guards = { provenance: 'hold', outsideThread: 'hold' } as const
    await ann.policy.replace({ outbound: { guards } }, { inboxId: inbox.id })
    const copies = [
      [BOB, 'carl@one.example', []],
      [EVE, 'dan@two.example', ['provenance', 'outsideThread']],
    ] as const
    for (const [author, copied, noticed] of copies) {
      const headers = [`Cc: ${copied}`]
      await receive(inbox, author, { headers, body: `On Monday ${copied} wrote:\r\n> Hello` })
      const [{ threadId } = assert.fail()] = (await client.messages.list(inbox.id).page()).data
      assert.deepEqual(await noticedBy(client, inbox, copied, threadId), noticed, author)
      assert.deepEqual(await noticedBy(client, inbox, author, threadId), [])
    }
  })

  test('to whom only a forged or unproven name wrote is held with the word that says so', async () => {
    const { client, inbox } = await guarded(world)
    await receive(inbox, EVE, { body: `Regards, Eve\r\n${EVE}` })
    const asked = { to: EVE, subject: 'A subject', body: 'A body.' }
    const { reasons } = await client.inboxes.checkSend(inbox.id, asked)
    assert.deepEqual(
      reasons.map(({ guard, detail }) => [guard, /is unproven/.test(detail)]),
      [
        ['newRecipients', true],
        ['provenance', true],
      ],
    )
    assert.ok(!reasons.some(({ detail }) => detail.includes('has never written to the inbox')))
  })

  test('may not go to whom another inbox of the account names', async () => {
    const { client, inbox } = await guarded(world)
    const second = await client.inboxes.create({ displayName: EVE })
    const { id } = second
    await client.inboxes.send(id, { to: inbox.address, subject: 'Hi', body: EVE })
    await until(async () => (await client.messages.list(inbox.id).page()).total === 1)
    assert.deepEqual(await noticedBy(client, inbox, second.address), [])
    assert.deepEqual(await noticedBy(client, inbox, EVE), ['newRecipients', 'provenance'])
  })

  test('may not go to whom an inbox of the same address knew before it was deleted', async () => {
    const { client, ann } = await guarded(world)
    const guards = { newRecipients: 'hold' } as const
    await ann.policy.replace({ outbound: { guards } })
    const create = () => client.inboxes.create({ mailboxName: `again-${engine}` })
    const before = await create()
    await receive(before, BOB)
    assert.deepEqual(await noticedBy(client, before, BOB), [])
    await client.inboxes.delete(before.id)
    const after = await create()
    assert.deepEqual(await noticedBy(client, after, BOB), ['newRecipients'])
  })

  test('cannot be helped by the sandbox, which is not there', async () => {
    const { client, inbox } = await guarded(world)
    const fields = { from: EVE, to: inbox.address, subject: 'Hi', text: 'Hi.' }
    assert.equal((await refusalOf(client.sandbox.receive(fields))).status, 404)
  })
})

onEachEngine('mail in the sandbox, where nobody can prove anything', (engine) => {
  const world = opened(() => openTenant(engine))

  test('may go to whoever wrote, but not to the author of mail that an API key released', async () => {
    const { client, inbox, ann } = await guarded(world)
    const raw = plainMail({ from: BOB, to: inbox.address })
    await world.send({ to: inbox.address, from: BOB, raw })
    assert.deepEqual(await noticedBy(client, inbox, BOB), [])

    const rule = await ann.senderRules.create({ type: 'block', value: 'far.example' })
    const blocked = plainMail({ from: EVE, to: inbox.address, body: 'Write to me.' })
    await world.send({ to: inbox.address, from: EVE, raw: blocked })
    const [kept] = (await client.quarantine.list().page()).data
    const released = await client.quarantine.release(kept?.id ?? '')
    assert.deepEqual(await noticedBy(client, inbox, EVE), ['newRecipients'])
    const answered = await noticedBy(client, inbox, EVE, released.threadId)
    assert.deepEqual(answered, ['newRecipients'])

    await ann.senderRules.delete(rule.id)
    await world.send({ to: inbox.address, from: EVE, raw: plainMail({ from: EVE }) })
    assert.deepEqual(await noticedBy(client, inbox, EVE), [])
  })
})
