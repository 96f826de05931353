// Signed addresses of attachments: good for one file of one message for a while, and for nothing else.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { errorOf, outcomeOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, openWorld, plainMail, type World } from '#test/world.ts'

type Attached = { messageId: string; inboxId: string; url: URL }

onEachEngine('signed addresses', (engine) => {
  let world: World
  before(async () => {
    world = await openWorld(engine)
  })
  after(() => world.close())

  async function attach(client = world.client, filename = 'a.txt'): Promise<Attached> {
    const inbox = await client.inboxes.create()
    const headers = ['MIME-Version: 1.0', `Content-Disposition: attachment; filename=${filename}`]
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address, headers }) })
    const [message] = (await client.messages.list(inbox.id).page()).data
    const url = new URL(message?.attachments[0]?.url ?? '')
    return { messageId: message?.id ?? '', inboxId: inbox.id, url }
  }

  test('one opens its file without a key, and with a wrong one', async () => {
    const { url } = await attach()
    assert.equal((await fetch(url)).status, 200)
    const response = await fetch(url, { headers: { authorization: 'Bearer wrong' } })
    assert.match(await response.text(), /^A body\./)
  })

  test('one of another account’s message opens nothing of one’s own', async () => {
    const theirs = await attach((await world.newAccount()).client)
    const own = await attach()
    const url = new URL(own.url)
    url.search = theirs.url.search
    for (const headers of [{}, { authorization: `Bearer ${world.key}` }]) {
      assert.equal(await outcomeOf(fetch(url, { headers })), '403 invalid_signature')
    }
  })

  test('one that was changed anywhere is 403, whether the message exists or not', async () => {
    const { url, messageId } = await attach()
    const other = await attach()
    const expires = url.searchParams.get('expires') ?? ''
    const signature = url.searchParams.get('signature') ?? ''
    const sign = (name: string, value: string) => {
      const changed = new URL(url)
      changed.searchParams.set(name, value)
      return changed
    }
    const without = (name: string) => {
      const changed = new URL(url)
      changed.searchParams.delete(name)
      return changed
    }
    const changed = [
      new URL(String(url).replace(messageId, other.messageId)),
      new URL(String(url).replace(messageId, 'msg_01h455vb4pex5vsknk084sn02q')),
      new URL(String(url).replace('a.txt', 'b.txt')),
      sign('expires', String(Number(expires) + 1)),
      sign('expires', `${expires}.0`),
      sign('expires', `0${expires}`),
      sign('expires', ''),
      sign('signature', ''),
      sign('signature', 'x'),
      sign('signature', `${signature}A`),
      sign('signature', signature.slice(0, -1)),
      sign(
        'signature',
        signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
      ),
      sign('signature', signature.toUpperCase()),
      sign('signature', 'é'.repeat(signature.length)),
      without('expires'),
      without('signature'),
    ]
    const bodies = new Set<string>()
    for (const address of changed) {
      const response = await fetch(address)
      const { requestId: _, ...body } = await errorOf(response)
      assert.equal(response.status, 403, address.href)
      bodies.add(JSON.stringify(body))
    }
    assert.equal(bodies.size, 1)
  })

  test('a parameter given twice opens nothing', async () => {
    const { url } = await attach()
    const twice = `${url}&signature=${url.searchParams.get('signature')}`
    const { status } = await fetch(twice)
    assert.ok(status === 400 || status === 403, String(status))
  })

  test('one ends fifteen minutes after the message was read, and reading again gives a new one', async () => {
    const { url, messageId } = await attach()
    world.clock.advance(14 * 60_000)
    assert.equal((await fetch(url)).status, 200)
    world.clock.advance(2 * 60_000)
    assert.equal(await outcomeOf(fetch(url)), '403 invalid_signature')
    const message = await world.client.messages.get(messageId)
    assert.equal((await fetch(message.attachments[0]?.url ?? '')).status, 200)
  })

  test('one of a deleted message opens nothing', async () => {
    const { url, inboxId } = await attach()
    await world.client.inboxes.delete(inboxId)
    assert.equal(await outcomeOf(fetch(url)), '404 not_found')
  })

  test('one opens nothing but the attachment: no other route takes a signature for a key', async () => {
    const { url, messageId, inboxId } = await attach()
    for (const path of [`/v1/messages/${messageId}/raw`, `/v1/inboxes/${inboxId}`, '/v1/pods']) {
      const response = await fetch(`${world.baseUrl}${path}${url.search}`)
      assert.equal(await outcomeOf(response), '401 unauthorized')
    }
  })
})
