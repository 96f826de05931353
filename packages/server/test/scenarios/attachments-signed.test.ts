import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filePart, messageOf, multipart, textPart } from '@mailroom/mail/test/samples.ts'
import type { Message } from '@mailroom/sdk'
import { deliver } from '#test/scenarios/deliver.ts'
import { onEachEngine, opened, openWorld } from '#test/world.ts'

const MINUTE_MS = 60_000

onEachEngine('a signed address', (engine) => {
  const world = opened(() => openWorld(engine))

  async function receive(): Promise<Message> {
    const files = ['a.pdf', 'b.pdf'].map((name) => filePart(name, Buffer.from(`in ${name}`)))
    const raw = messageOf(multipart('mixed', 'mix', [textPart('Text'), ...files]))
    return deliver(world, await world.inbox(), raw)
  }
  const urlOf = (message: Message, index = 0) => new URL(message.attachments[index]?.url ?? '')

  /** Status and body without the request's own id. */
  async function answerTo(url: URL | string, init: RequestInit = {}): Promise<[number, string]> {
    const response = await fetch(url, init)
    const text = await response.text()
    return [response.status, text.replace(/"requestId":"[^"]*"/, '"requestId":""')]
  }

  function altered(url: URL, change: (url: URL) => void): URL {
    const copy = new URL(url)
    change(copy)
    return copy
  }

  test('needs no key and no account', async () => {
    const url = urlOf(await receive())
    for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
      assert.deepEqual(await answerTo(url, { headers }), [200, 'in a.pdf'])
    }
  })

  test('altered in any way is refused with 403 and one body for all', async () => {
    const [message, other] = [await receive(), await receive()]
    const url = urlOf(message)
    const signature = url.searchParams.get('signature') ?? ''
    const expires = Number(url.searchParams.get('expires'))
    const flipped = (at: number) => {
      const letter = signature[at] === 'A' ? 'B' : 'A'
      return signature.slice(0, at) + letter + signature.slice(at + 1)
    }
    const withSignature = (text: string) =>
      altered(url, (copy) => copy.searchParams.set('signature', text))
    const withExpires = (text: string) =>
      altered(url, (copy) => copy.searchParams.set('expires', text))
    const wrong: Record<string, URL> = {
      'first letter of the signature': withSignature(flipped(0)),
      'last letter of the signature': withSignature(flipped(signature.length - 1)),
      'no signature': altered(url, (copy) => copy.searchParams.delete('signature')),
      'no expiry': altered(url, (copy) => copy.searchParams.delete('expires')),
      'empty signature': withSignature(''),
      'empty expiry': withExpires(''),
      'shorter signature': withSignature(signature.slice(1)),
      'longer signature': withSignature(`${signature}A`),
      'very long signature': withSignature('A'.repeat(2_000)),
      'signature outside ASCII': withSignature(`${signature.slice(1)}é`),
      'later expiry': withExpires(String(expires + 1)),
      'expiry with a space': withExpires(`${expires} `),
      'expiry with a sign': withExpires(`+${expires}`),
      'expiry with a zero before it': withExpires(`0${expires}`),
      'expiry in words': withExpires('never'),
      'another file': altered(url, (copy) => {
        copy.pathname = copy.pathname.replace('a.pdf', 'b.pdf')
      }),
      'a file that is not there': altered(url, (copy) => {
        copy.pathname = copy.pathname.replace('a.pdf', 'c.pdf')
      }),
      'another message': altered(url, (copy) => {
        copy.pathname = copy.pathname.replace(message.id, other.id)
      }),
      'a message that is not there': altered(url, (copy) => {
        copy.pathname = copy.pathname.replace(message.id, `msg_${'0'.repeat(26)}`)
      }),
      'a malformed message id': altered(url, (copy) => {
        copy.pathname = copy.pathname.replace(message.id, 'nothing')
      }),
      'upper-case file name': altered(url, (copy) => {
        copy.pathname = copy.pathname.replace('a.pdf', 'A.pdf')
      }),
      'signature of another file': withSignature(
        urlOf(message, 1).searchParams.get('signature') ?? '',
      ),
      'signature of another message': withSignature(
        urlOf(other).searchParams.get('signature') ?? '',
      ),
    }
    const [status, body] = await answerTo(withSignature(flipped(5)))
    assert.equal(status, 403)
    assert.equal(JSON.parse(body).error, 'invalid_signature')
    for (const [what, changed] of Object.entries(wrong)) {
      assert.deepEqual(await answerTo(changed), [403, body], what)
    }
    for (let at = 0; at < signature.length; at += 1) {
      assert.equal((await fetch(withSignature(flipped(at)))).status, 403)
    }
    assert.equal((await fetch(url)).status, 200)
  })

  test('with a parameter given twice or malformed is refused like any other', async () => {
    const url = urlOf(await receive())
    const wrong = altered(url, (copy) => copy.searchParams.set('signature', 'x'))
    const [, body] = await answerTo(wrong)
    for (const name of ['signature', 'expires']) {
      const twice = altered(url, (copy) =>
        copy.searchParams.append(name, copy.searchParams.get(name) ?? ''),
      )
      assert.deepEqual(await answerTo(twice), [403, body], name)
      const cut = altered(url, (copy) => copy.searchParams.set(name, 'a\0b'))
      assert.deepEqual(await answerTo(cut), [403, body], name)
    }
    const bare = new URL(url)
    bare.search = '?expires=1&expires=2&signature=a'
    assert.deepEqual(await answerTo(bare), [403, body])
  })

  test('with a bad signature is refused to the holder of a key, too', async () => {
    const url = urlOf(await receive())
    url.searchParams.set('signature', 'wrong')
    const headers = { authorization: `Bearer ${world.key}` }
    assert.equal((await answerTo(url, { headers }))[0], 403)
  })

  test('is good for fifteen minutes and not for sixteen', async () => {
    const message = await receive()
    const url = urlOf(message)
    world.clock.advance(14 * MINUTE_MS)
    assert.equal((await fetch(url)).status, 200)
    world.clock.advance(2 * MINUTE_MS)
    const [status, body] = await answerTo(url)
    assert.equal(status, 403)
    const forged = await answerTo(altered(url, (copy) => copy.searchParams.set('signature', 'x')))
    assert.deepEqual([status, body], forged)
    const fresh = await world.client.messages.get(message.id)
    assert.notEqual(fresh.attachments[0]?.url, url.href)
    assert.equal((await fetch(fresh.attachments[0]?.url ?? '')).status, 200)
  })

  test('ends with its inbox', async () => {
    const message = await receive()
    assert.equal((await fetch(urlOf(message))).status, 200)
    await world.client.inboxes.delete(message.inboxId)
    const [status, body] = await answerTo(urlOf(message))
    assert.equal(status, 404)
    assert.equal(JSON.parse(body).error, 'not_found')
  })

  test('opens no other route, and none of another account’s opens what is one’s own', async () => {
    const message = await receive()
    const { search } = urlOf(message)
    const paths = [`messages/${message.id}/raw`, `inboxes/${message.inboxId}`, 'pods']
    for (const path of paths) {
      assert.equal((await answerTo(`${world.baseUrl}/v1/${path}${search}`))[0], 401)
    }
    const { client, key } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const raw = messageOf(multipart('mixed', 'mix', [filePart('a.pdf', Buffer.from('theirs'))]))
    await world.send({ to: inbox.address, raw })
    const [theirs] = (await client.messages.list(inbox.id).page()).data
    const own = new URL(theirs?.attachments[0]?.url ?? '')
    assert.equal((await answerTo(own))[0], 200)
    own.search = search
    for (const headers of [{}, { authorization: `Bearer ${key}` }]) {
      assert.equal((await answerTo(own, { headers }))[0], 403)
    }
  })

  test('outlives the key that read it', async () => {
    const { id, token } = await world.client.apiKeys.create({ name: 'short-lived' })
    const message = await receive()
    const read = await world.clientWith(token).messages.get(message.id)
    await world.client.apiKeys.delete(id)
    const headers = { authorization: `Bearer ${token}` }
    const keyed = await fetch(`${world.baseUrl}/v1/attachments/${message.id}/a.pdf`, { headers })
    assert.equal(keyed.status, 401)
    assert.equal((await fetch(read.attachments[0]?.url ?? '')).status, 200)
  })

  test('is refused without either credential, and to another account’s key', async () => {
    const message = await receive()
    const path = `${world.baseUrl}/v1/attachments/${message.id}/a.pdf`
    assert.equal((await fetch(path)).status, 401)
    const { key } = await world.newAccount()
    const headers = { authorization: `Bearer ${key}` }
    const foreign = await answerTo(path, { headers })
    const missing = await answerTo(path.replace(message.id, `msg_${'0'.repeat(26)}`), { headers })
    assert.equal(foreign[0], 404)
    assert.deepEqual(foreign, missing)
    const signed = await fetch(urlOf(message), { headers })
    assert.equal(signed.status, 200)
  })

  test('refused does not count as a failed authentication', async () => {
    const message = await receive()
    const url = urlOf(message)
    const wrong = altered(url, (copy) => copy.searchParams.set('signature', 'wrong'))
    for (let count = 0; count < 70; count += 1) assert.equal((await fetch(wrong)).status, 403)
    assert.equal((await fetch(url)).status, 200)
    assert.equal((await world.fetch(`/v1/messages/${message.id}`)).status, 200)
  })
})
