import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { filePart, messageOf, multipart, type Part, textPart } from '@mailroom/mail/test/samples.ts'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { Message } from '@mailroom/sdk'
import { deliver } from '#test/scenarios/deliver.ts'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { onAnyEngine, onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

const LARGE_BYTES = sizeOf('TEST_MAILROOM_ATTACHED_BYTES', { quick: 4_000_000, usual: 20_000_000 })

onAnyEngine('an attachment', (engine) => {
  const world = opened(() => openTenant(engine))
  const inbox = prepared(() => world.inbox())

  const receive = (...parts: Part[]) =>
    deliver(world, inbox, messageOf(multipart('mixed', 'mix', [textPart('Text'), ...parts])))
  const urlOf = (message: Message, index = 0) => message.attachments[index]?.url ?? ''
  const octetsOf = async (response: Response) => Buffer.from(await response.arrayBuffer())

  test('has the same content at its signed URL, with the key, and with both', async () => {
    const content = randomBytes(10_000)
    const message = await receive(filePart('report.pdf', content))
    const url = urlOf(message)
    assert.ok(url.startsWith(`${world.baseUrl}/v1/attachments/${message.id}/report.pdf?`))
    const signed = await fetch(url)
    const keyed = await world.fetch(`/v1/attachments/${message.id}/report.pdf`)
    const authorization = `Bearer ${world.key}`
    const both = await fetch(url, { headers: { authorization } })
    for (const response of [signed, keyed, both]) {
      assert.equal(response.status, 200)
      assert.ok((await octetsOf(response)).equals(content))
    }
    const sdk = await world.client.attachments.get(message.id, 'report.pdf')
    assert.ok(Buffer.from(sdk.content).equals(content))
    assert.equal(sdk.contentType, 'application/pdf')
    assert.equal(message.attachments[0]?.sizeBytes, content.length)
  })

  test('is only ever a download for a browser', async () => {
    const response = await fetch(urlOf(await receive(filePart('a.pdf', Buffer.from('x')))))
    const { headers } = response
    assert.equal(headers.get('content-type'), 'application/pdf')
    assert.equal(headers.get('content-length'), '1')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.match(headers.get('content-security-policy') ?? '', /^sandbox(;|$)/)
    assert.equal(headers.get('accept-ranges'), 'bytes')
    assert.match(headers.get('etag') ?? '', /^"[^"]+"$/)
    assert.match(headers.get('cache-control') ?? '', /no-store|private/)
  })

  for (const [name, disposition] of [
    ['plain.pdf', `attachment; filename="plain.pdf"; filename*=UTF-8''plain.pdf`],
    ['two words.pdf', `attachment; filename="two words.pdf"; filename*=UTF-8''two%20words.pdf`],
    ["a'(b)*.pdf", `attachment; filename="a'(b)*.pdf"; filename*=UTF-8''a%27%28b%29%2A.pdf`],
    ['100%.pdf', `attachment; filename="100_.pdf"; filename*=UTF-8''100%25.pdf`],
    ['x\\"y.pdf', `attachment; filename="x_y.pdf"; filename*=UTF-8''x%22y.pdf`],
    ['Grüße.pdf', `attachment; filename="Gr__e.pdf"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.pdf`],
    ['名前.pdf', `attachment; filename="__.pdf"; filename*=UTF-8''%E5%90%8D%E5%89%8D.pdf`],
  ] as const) {
    test(`called ${name} has that name in RFC 6266 form`, async () => {
      const message = await receive(filePart(name, Buffer.from('x')))
      const response = await fetch(urlOf(message))
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('content-disposition'), disposition)
    })
  }

  test('is not sent again to a client that has it, whichever URL the client used', async () => {
    const message = await receive(filePart('a.pdf', Buffer.from('content')))
    const first = await fetch(urlOf(message))
    const etag = first.headers.get('etag') ?? ''
    const path = `/v1/attachments/${message.id}/a.pdf`
    for (const value of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
      const headers = { 'if-none-match': value }
      const responses = [
        await fetch(urlOf(message), { headers }),
        await world.fetch(path, { headers }),
      ]
      for (const response of responses) {
        assert.equal(response.status, 304)
        assert.equal(response.headers.get('etag'), etag)
        assert.equal((await octetsOf(response)).length, 0)
      }
    }
    const changed = await world.fetch(path, { headers: { 'if-none-match': '"other"' } })
    assert.equal(changed.status, 200)
  })

  test('is given in the requested ranges', async () => {
    const content = Buffer.from(Array.from({ length: 1_000 }, (_, index) => index % 251))
    const message = await receive(filePart('range.bin', content, 'application/octet-stream'))
    const etag = (await fetch(urlOf(message))).headers.get('etag') ?? ''
    const ask = (range: string, more: Record<string, string> = {}) =>
      fetch(urlOf(message), { headers: { range, ...more } })
    for (const [range, first, last] of [
      ['bytes=0-0', 0, 0],
      ['bytes=0-99', 0, 99],
      ['bytes=500-599', 500, 599],
      ['bytes=990-', 990, 999],
      ['bytes=-10', 990, 999],
      ['bytes=-5000', 0, 999],
      ['bytes=900-5000', 900, 999],
      [`bytes=900-${'9'.repeat(30)}`, 900, 999],
    ] as const) {
      const response = await ask(range)
      assert.equal(response.status, 206, range)
      assert.equal(response.headers.get('content-range'), `bytes ${first}-${last}/1000`)
      assert.equal(response.headers.get('content-length'), String(last - first + 1))
      assert.match(response.headers.get('content-disposition') ?? '', /range\.bin/)
      assert.ok((await octetsOf(response)).equals(content.subarray(first, last + 1)))
    }
    for (const range of ['bytes=1000-', 'bytes=5000-6000', 'bytes=-0']) {
      const response = await ask(range)
      assert.equal(response.status, 416, range)
      assert.equal(response.headers.get('content-range'), 'bytes */1000')
      assert.equal(await outcomeOf(response), '416 range_not_satisfiable')
    }
    for (const range of ['bytes=0-1,5-6', 'lines=0-1', 'bytes=9-5', 'bytes=a-b', 'bytes=-']) {
      const response = await ask(range)
      assert.equal(response.status, 200, range)
      assert.ok((await octetsOf(response)).equals(content))
    }
    assert.equal((await ask('bytes=0-9', { 'if-range': etag })).status, 206)
    assert.equal((await ask('bytes=0-9', { 'if-range': '"other"' })).status, 200)
    assert.equal((await ask('bytes=0-9', { 'if-range': `W/${etag}` })).status, 200)
  })

  test('is described without its content by HEAD', async () => {
    const message = await receive(filePart('head.pdf', Buffer.alloc(500, 1)))
    const whole = await fetch(urlOf(message))
    const head = await fetch(urlOf(message), { method: 'HEAD' })
    assert.equal(head.status, 200)
    assert.equal((await octetsOf(head)).length, 0)
    for (const name of ['content-length', 'content-type', 'etag', 'content-disposition']) {
      assert.equal(head.headers.get(name), whole.headers.get(name), name)
    }
    const keyed = await world.fetch(`/v1/attachments/${message.id}/head.pdf`, { method: 'HEAD' })
    assert.equal(keyed.status, 200)
    const ranged = await fetch(urlOf(message), { method: 'HEAD', headers: { range: 'bytes=0-9' } })
    assert.equal((await octetsOf(ranged)).length, 0)
    assert.deepEqual([ranged.status, ranged.headers.get('content-length')], [200, '500'])
    const beyond = await fetch(urlOf(message), { method: 'HEAD', headers: { range: 'bytes=900-' } })
    assert.equal(beyond.status, 200)
  })

  test('of no octets is an empty file', async () => {
    const message = await receive(filePart('empty.pdf', Buffer.alloc(0)))
    const response = await fetch(urlOf(message))
    assert.deepEqual([response.status, response.headers.get('content-length')], [200, '0'])
    const ranged = await fetch(urlOf(message), { headers: { range: 'bytes=0-0' } })
    assert.equal(ranged.status, 416)
  })

  test(`of ${LARGE_BYTES} bytes comes back octet for octet`, async () => {
    const content = randomBytes(LARGE_BYTES)
    const message = await receive(filePart('large.bin', content, 'application/zip'))
    const sha256 = (octets: Uint8Array) => createHash('sha256').update(octets).digest('hex')
    assert.equal(message.attachments[0]?.sizeBytes, content.length)
    assert.equal(sha256(await octetsOf(await fetch(urlOf(message)))), sha256(content))
    const middleAt = LARGE_BYTES / 2 - 10
    const middle = await fetch(urlOf(message), {
      headers: { range: `bytes=${middleAt}-${middleAt + 19}` },
    })
    assert.ok((await octetsOf(middle)).equals(content.subarray(middleAt, middleAt + 20)))
  })

  test('that is a message is kept unchanged, and its own files are not listed', async () => {
    const inner = plainMail({ subject: 'Inner', messageId: '<inner@x>', body: 'Inner body.' })
    const part = { fields: ['Content-Type: message/rfc822'], body: inner }
    const message = await receive(part, filePart('after.pdf', Buffer.from('x')))
    assert.deepEqual(
      message.attachments.map(({ contentType }) => contentType),
      ['message/rfc822', 'application/pdf'],
    )
    assert.equal(message.rfcMessageId, '<sample@sender.example>')
    const name = message.attachments[0]?.filename ?? ''
    assert.match(name, /\.eml$/)
    const file = await world.client.attachments.get(message.id, name)
    const lines = (text: string) => text.trimEnd().split(/\r?\n/)
    assert.deepEqual(lines(Buffer.from(file.content).toString()), lines(inner))
  })

  test('shown within HTML has its content id and is inline', async () => {
    const image = filePart('i.png', Buffer.from('png'), 'image/png')
    const html = { fields: ['Content-Type: text/html'], body: '<img src="cid:one@x">' }
    const related = multipart('related', 'rel', [
      html,
      { ...image, fields: [...image.fields.slice(0, 2), 'Content-ID: <one@x>'] },
    ])
    const listed = { ...image, fields: [...image.fields, 'Content-ID: <two@x>'] }
    const { attachments } = await receive(related, listed)
    assert.deepEqual(
      attachments.map(({ contentId, inline }) => [contentId, inline]),
      [
        ['one@x', true],
        ['two@x', false],
      ],
    )
  })

  test('at another host is not fetched, nor is anything else in the HTML', async () => {
    const seen: string[] = []
    const elsewhere = createServer((request, response) => {
      seen.push(request.url ?? '')
      response.end('x')
    })
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
    const address = elsewhere.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const base = `http://127.0.0.1:${port}`
    const message = await receive(
      {
        fields: [`Content-Type: message/external-body; access-type=URL; URL="${base}/external"`],
        body: 'Content-Type: application/pdf\r\n\r\n',
      },
      {
        fields: ['Content-Type: message/partial; id="p@x"; number=1; total=3'],
        body: 'Subject: Part one\r\n\r\nText',
      },
      {
        fields: ['Content-Type: text/html'],
        body: `<img src="${base}/image"><link rel=stylesheet href="${base}/css"><script src="${base}/js"></script>`,
      },
    )
    for (const { url } of message.attachments) assert.equal((await fetch(url)).status, 200)
    assert.ok(message.attachments.length >= 2)
    await world.client.messages.get(message.id)
    assert.deepEqual(seen, [])
    await new Promise((resolve) => elsewhere.close(resolve))
  })

  for (const type of [
    'text/html',
    'image/svg+xml',
    'application/xhtml+xml',
    'text/xml',
    'text/javascript',
    'text/plain',
    'application/x-shockwave-flash',
    'TEXT/HTML; charset=utf-7',
    'text/html\tx',
    'nonsense',
    '',
  ]) {
    test(`of type "${type.trim()}" cannot run in a browser`, async () => {
      const script = '<script>alert(document.domain)</script>'
      const fields = [
        ...(type === '' ? [] : [`Content-Type: ${type}`]),
        'Content-Disposition: attachment; filename="x\\"; filename=evil.html"',
      ]
      const message = await receive({ fields, body: script })
      assert.equal(message.attachments.length, 1)
      const response = await fetch(urlOf(message))
      assert.equal(response.status, 200)
      assert.match(response.headers.get('content-disposition') ?? '', /^attachment; filename="/)
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
      assert.match(
        response.headers.get('content-security-policy') ?? '',
        /^sandbox; default-src 'none'/,
      )
      assert.match(response.headers.get('content-type') ?? '', /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/)
      assert.equal((await response.text()).trimEnd(), script)
    })
  }
})

const MINUTE_MS = 60_000

onEachEngine('a signed URL', (engine) => {
  const world = opened(() => openTenant(engine))

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

  test('altered in any place is refused with 403 and always the same body', async () => {
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

  test('with a repeated or malformed parameter is refused in the same way', async () => {
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

  test('with a bad signature is refused even to the holder of a key', async () => {
    const url = urlOf(await receive())
    url.searchParams.set('signature', 'wrong')
    const headers = { authorization: `Bearer ${world.key}` }
    assert.equal((await answerTo(url, { headers }))[0], 403)
  })

  test('is valid for fifteen minutes and not for sixteen', async () => {
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

  test('becomes invalid with its inbox', async () => {
    const message = await receive()
    assert.equal((await fetch(urlOf(message))).status, 200)
    await world.client.inboxes.delete(message.inboxId)
    const [status, body] = await answerTo(urlOf(message))
    assert.equal(status, 404)
    assert.equal(JSON.parse(body).error, 'not_found')
  })

  test('opens no other route, and a URL of another account opens none of one’s own files', async () => {
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

  test('outlives the key that requested it', async () => {
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
    const unknown = `msg_${'0'.repeat(26)}`
    const missing = await answerTo(path.replace(message.id, unknown), { headers })
    assert.equal(foreign[0], 404)
    assert.deepEqual(foreign, [404, missing[1].replace(unknown, message.id)])
    const signed = await fetch(urlOf(message), { headers })
    assert.equal(signed.status, 200)
  })

  test('that is refused does not count as a failed authentication', async () => {
    const message = await receive()
    const url = urlOf(message)
    const wrong = altered(url, (copy) => copy.searchParams.set('signature', 'wrong'))
    for (let count = 0; count < 70; count += 1) assert.equal((await fetch(wrong)).status, 403)
    assert.equal((await fetch(url)).status, 200)
    assert.equal((await world.fetch(`/v1/messages/${message.id}`)).status, 200)
  })
})
