import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { before, test } from 'node:test'
import { filePart, messageOf, multipart, type Part, textPart } from '@mailroom/mail/test/samples.ts'
import type { Inbox, Message } from '@mailroom/sdk'
import { deliver } from '#test/scenarios/deliver.ts'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { onAnyEngine, opened, openWorld, plainMail } from '#test/world.ts'

onAnyEngine('an attachment', (engine) => {
  const world = opened(() => openWorld(engine))
  let inbox: Inbox
  before(async () => {
    inbox = await world.inbox()
  })

  const receive = (...parts: Part[]) =>
    deliver(world, inbox, messageOf(multipart('mixed', 'mix', [textPart('Text'), ...parts])))
  const urlOf = (message: Message, index = 0) => message.attachments[index]?.url ?? ''
  const octetsOf = async (response: Response) => Buffer.from(await response.arrayBuffer())

  test('has one content, through its signed address, the key, and both', async () => {
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

  test('is a file and nothing else to a browser', async () => {
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
    test(`called ${name} says so in RFC 6266 form`, async () => {
      const message = await receive(filePart(name, Buffer.from('x')))
      const response = await fetch(urlOf(message))
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('content-disposition'), disposition)
    })
  }

  test('is not sent again to who has it, whichever way it came', async () => {
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

  test('is given in the ranges that were asked for', async () => {
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

  test('of no octets is a file of no octets', async () => {
    const message = await receive(filePart('empty.pdf', Buffer.alloc(0)))
    const response = await fetch(urlOf(message))
    assert.deepEqual([response.status, response.headers.get('content-length')], [200, '0'])
    const ranged = await fetch(urlOf(message), { headers: { range: 'bytes=0-0' } })
    assert.equal(ranged.status, 416)
  })

  test('of 20 MB comes back octet for octet', async () => {
    const content = randomBytes(20_000_000)
    const message = await receive(filePart('large.bin', content, 'application/zip'))
    const sha256 = (octets: Uint8Array) => createHash('sha256').update(octets).digest('hex')
    assert.equal(message.attachments[0]?.sizeBytes, content.length)
    assert.equal(sha256(await octetsOf(await fetch(urlOf(message)))), sha256(content))
    const middle = await fetch(urlOf(message), { headers: { range: 'bytes=9999990-10000009' } })
    assert.ok((await octetsOf(middle)).equals(content.subarray(9_999_990, 10_000_010)))
  })

  test('that is a message is kept as it stands, and its own files are not listed', async () => {
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

  test('shown within HTML names its content id and place', async () => {
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

  test('that lies elsewhere is not fetched, nor is anything in the HTML', async () => {
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
