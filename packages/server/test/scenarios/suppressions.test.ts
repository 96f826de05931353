import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MtaScript } from '@mailroom/smtp/test/peers/mta.ts'
import { countOutcomes, refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import { openSendingTenant, send, settled } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

onEachEngine('suppressions', (engine) => {
  const world = opened(() => openSendingTenant(engine))
  const polite = prepared(() => world.mta.script)
  const client = prepared(() => world.client)

  const list = async (address?: string) =>
    (await client.suppressions.list(address === undefined ? {} : { address }).page()).data

  /** Sends to the address while its server answers so; returns the suppression that follows. */
  async function suppressionAfter(to: string, script: MtaScript) {
    world.mta.script = { ...polite, ...script }
    const sent = await send(world, await world.inbox(), { to })
    assert.equal((await settled(world, sent)).status, 'failed')
    world.mta.script = polite
    return list(to)
  }

  const REPLIES: [reply: string, isDead: boolean][] = [
    ['550 5.1.1 No such user', true],
    ['550 5.1.2 Bad destination', true],
    ['550 5.1.10 Recipient not found', true],
    ['550 5.2.1 Mailbox disabled', true],
    ['550 User unknown', true],
    ['550 5.7.1 Policy', false],
    ['552 5.2.2 Mailbox full', false],
    ['554 5.7.1 <x@y>: Relay access denied', false],
    ['550 5.4.1 Something else', false],
    ['550 Spam', false],
  ]
  for (const [index, [reply, isDead]] of REPLIES.entries()) {
    test(`${isDead ? 'hold' : 'do not hold'} an address that was refused with ${reply}`, async () => {
      const to = `dead${index}@friend.example`
      const [suppression, ...others] = await suppressionAfter(to, { onRcpt: reply })
      assert.deepEqual(others, [])
      if (!isDead) {
        assert.equal(suppression, undefined)
        await send(world, await world.inbox(), { to })
        return
      }
      assert.deepEqual([suppression?.address, suppression?.type], [to, 'bounce'])
      assert.match(suppression?.id ?? '', /^sup_/)
      assert.ok(suppression?.reason?.startsWith(reply))
      const refused = await refusalOf(send(world, await world.inbox(), { to: to.toUpperCase() }))
      assert.deepEqual([refused.status, refused.code], [422, 'recipient_suppressed'])
      assert.deepEqual([refused.body.type, refused.body.address], ['bounce', to])
    })
  }

  test('do not hold an address that the refusal was not about', async () => {
    const dead = '550 5.1.1 No such user'
    const scripts: MtaScript[] = [{ onMail: dead }, { onData: dead }, { onFinalDot: dead }]
    for (const [index, script] of scripts.entries()) {
      assert.deepEqual(await suppressionAfter(`alive${index}@friend.example`, script), [])
    }
    const unknown = await send(world, await world.inbox(), { to: 'bob@nowhere.example' })
    assert.equal((await settled(world, unknown)).status, 'failed')
    assert.deepEqual(await list('bob@nowhere.example'), [])
  })

  test('are lifted by hand, and then the account can write again', async () => {
    const to = 'back@friend.example'
    await suppressionAfter(to, { onRcpt: '550 5.1.1 No such user' })
    const inbox = await world.inbox()
    assert.equal(await refusal(send(world, inbox, { to })), '422 recipient_suppressed')
    await client.suppressions.delete('BACK@friend.example')
    assert.equal(await refusal(client.suppressions.delete(to)), '404 not_found')
    assert.equal((await settled(world, await send(world, inbox, { to }))).status, 'sent')
  })

  test('are made by hand, once for each address in any spelling', async () => {
    const account = await world.newAccount()
    const made = await account.client.suppressions.create({ address: 'Ann@Friend.example' })
    assert.deepEqual(
      { ...made, id: '', createdAt: '' },
      { id: '', address: 'Ann@Friend.example', type: 'manual', reason: null, createdAt: '' },
    )
    const spellings = ['ann@friend.example', 'ANN@FRIEND.EXAMPLE', '"ann"@friend.example']
    for (const address of spellings) {
      assert.deepEqual(await account.client.suppressions.create({ address }), made)
      const found = await account.client.suppressions.list({ address }).page()
      assert.deepEqual([found.data, found.total], [[made], 1])
    }
    const inbox = await account.client.inboxes.create()
    for (const fields of [
      { to: spellings[1] },
      { cc: ['bob@friend.example', spellings[0] ?? ''] },
    ]) {
      assert.equal(await refusal(send(account, inbox, fields)), '422 recipient_suppressed')
    }
    const { total } = await account.client.suppressions.list().page()
    assert.equal(total, 1)
    assert.equal(
      await refusal(account.client.suppressions.create({ address: 'x' })),
      '400 bad_request',
    )
  })

  test('name the first of several in the order of to and cc', async () => {
    const account = await world.newAccount()
    const inbox = await account.client.inboxes.create()
    for (const name of ['c', 'b', 'a']) {
      await account.client.suppressions.create({ address: `${name}@friend.example` })
    }
    const cc = ['b@friend.example', 'a@friend.example']
    const refused = await refusalOf(send(account, inbox, { cc }))
    assert.equal(refused.body.address, 'b@friend.example')
    const first = await refusalOf(send(account, inbox, { to: 'c@friend.example', cc }))
    assert.equal(first.body.address, 'c@friend.example')
  })

  test('are listed newest first, page by page, and only those of the account', async () => {
    const account = await world.newAccount()
    const addresses = Array.from({ length: 5 }, (_, index) => `p${index}@friend.example`)
    for (const address of addresses) await account.client.suppressions.create({ address })
    const all = await account.client.suppressions.list().page()
    assert.deepEqual(
      all.data.map(({ address }) => address),
      addresses.toReversed(),
    )
    const page = await account.client.suppressions.list({ limit: 2, offset: 3 }).page()
    assert.deepEqual([page.data, page.total], [all.data.slice(3, 5), 5])
    await account.client.suppressions.delete(addresses[1] ?? '')
    assert.equal((await account.client.suppressions.list().page()).total, 4)
    assert.deepEqual(await list(addresses[0]), [])
    await send(world, await world.inbox(), { to: addresses[0] })
    assert.equal(await refusal(client.suppressions.delete(addresses[0] ?? '')), '404 not_found')
  })

  test('are made once and deleted once by concurrent requests', async () => {
    const account = await world.newAccount()
    const address = 'race@friend.example'
    const made = await Promise.all(
      Array.from({ length: 10 }, () => account.client.suppressions.create({ address })),
    )
    assert.equal(new Set(made.map(({ id }) => id)).size, 1)
    assert.equal((await account.client.suppressions.list().page()).total, 1)
    const deletions = Array.from({ length: 10 }, () => account.client.suppressions.delete(address))
    assert.deepEqual(await countOutcomes(deletions), { done: 1, '404 not_found': 9 })
    assert.equal((await account.client.suppressions.list().page()).total, 0)
  })

  test('are found and lifted under any address, however odd', async () => {
    const account = await world.newAccount()
    const odd = [
      'a+b@friend.example',
      'a/b@friend.example',
      '100%@friend.example',
      '"a b"@friend.example',
      'a?b=c&d#e@friend.example',
      'jörg@bücher.example',
      `${'x'.repeat(64)}@friend.example`,
      'bob@[127.0.0.1]',
    ]
    for (const address of odd) {
      const made = await account.client.suppressions.create({ address })
      assert.equal(made.address, address)
      const { data } = await account.client.suppressions.list({ address }).page()
      assert.deepEqual(data, [made])
      await account.client.suppressions.delete(address)
      assert.deepEqual((await account.client.suppressions.list({ address }).page()).data, [])
    }
    for (const address of ['nobody', 'a@b@c', '%00']) {
      const found = account.client.suppressions.list({ address }).page()
      assert.equal(await refusal(found), '400 bad_request')
      assert.equal(await refusal(account.client.suppressions.delete(address)), '404 not_found')
    }
  })

  test('do not stop mail that was queued before', async () => {
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { to: 'soon@friend.example' })
    await client.suppressions.create({ address: 'soon@friend.example' })
    assert.equal((await settled(world, sent)).status, 'sent')
  })
})
