import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IMAGE_BYTES_MAX } from '#mailbox/messages/messages.ts'
import { openReceiver, type Script } from '#test/peers/receiver.ts'
import { browse, signIn } from '#test/scenarios/console-world.ts'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { onAnyEngine, opened, openTenant, openWorld, plainMail } from '#test/world.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

onAnyEngine('a displayed message', (engine) => {
  const world = opened(() =>
    openWorld(engine, {
      env: { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' },
    }),
  )
  const far = opened(() => openReceiver())

  async function receive(html: string, parts: string[] = []): Promise<string> {
    const inbox = await world.inbox()
    const boundary = 'b'
    const body = [
      `--${boundary}`,
      'Content-Type: text/html; charset=utf-8',
      '',
      html,
      ...parts.flatMap((part) => [`--${boundary}`, part]),
      `--${boundary}--`,
    ].join('\r\n')
    const headers = ['MIME-Version: 1.0', `Content-Type: multipart/related; boundary=${boundary}`]
    const raw = plainMail({ to: inbox.address, headers, body })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    const [message] = (await world.client.messages.list(inbox.id).page()).data
    return message?.id ?? ''
  }

  const show = (id: string, images?: string) =>
    world.fetch(`/v1/messages/${id}/html${images === undefined ? '' : `?images=${images}`}`)
  const sourcesOf = (page: string) =>
    [...page.matchAll(/<img[^>]* src="([^"]*)"/g)].map(([, source = '']) => source)

  test('is a page without any rights, wherever it is opened', async () => {
    const id = await receive('<p onclick="x()">Hello</p><script>alert(1)</script>')
    const response = await show(id)
    assert.equal(response.status, 200)
    const { headers } = response
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(
      policy,
      /^sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none';/,
    )
    assert.match(policy, /img-src 'self' data:; /)
    assert.doesNotMatch(policy, /script|http/)
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('cache-control'), 'private, no-store')
    assert.equal(headers.get('x-blocked-images'), '0')
    const page = await response.text()
    assert.match(page, /^<!doctype html><html[^>]*><head><meta charset="utf-8">/)
    assert.ok(page.includes('<p>Hello</p>') && !page.includes('alert'))
    const head = await world.fetch(`/v1/messages/${id}/html`, { method: 'HEAD' })
    assert.equal(head.status, 200)
    assert.equal(await head.text(), '')
  })

  test('keeps its origin in a frame of the service’s own pages alone, and has no scripts there either', async () => {
    const id = await receive('<p>Hello</p>')
    const policyIn = async (dest: string, site: string) => {
      const headers = { 'sec-fetch-dest': dest, 'sec-fetch-site': site }
      const { status, headers: answered } = await world.fetch(`/v1/messages/${id}/html`, {
        headers,
      })
      assert.equal(status, 200)
      return answered.get('content-security-policy') ?? ''
    }
    const own = await policyIn('iframe', 'same-origin')
    assert.match(
      own,
      /^sandbox allow-popups allow-popups-to-escape-sandbox allow-same-origin; default-src 'none';/,
    )
    assert.doesNotMatch(own, /script|http/)
    for (const [dest, site] of [
      ['document', 'same-origin'],
      ['iframe', 'same-site'],
      ['iframe', 'cross-site'],
      ['iframe', 'none'],
    ] as const) {
      assert.doesNotMatch(await policyIn(dest, site), /allow-same-origin/, `${dest} ${site}`)
    }
  })

  test('is replaced by its text when its HTML cannot be shown, and says so', async () => {
    const id = await receive(`${'<div>'.repeat(20_000)}Deep inside.`)
    const page = await (await show(id)).text()
    assert.match(page, /<strong>The HTML of this message cannot be shown/)
    assert.doesNotMatch(page, /<div>/)
  })

  test('is shown only to a signed-in user of the account', async () => {
    const id = await receive('<p>secret</p>')
    const person = await signIn(world)
    const framed = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'iframe' }
    const path = `/v1/messages/${id}/html`
    assert.equal((await browse(world, person, path, { headers: framed })).status, 200)
    assert.equal(await outcomeOf(fetch(`${world.baseUrl}${path}`)), '401 unauthorized')
    const other = { authorization: `Bearer ${(await world.newAccount()).key}` }
    assert.equal(await outcomeOf(world.fetch(path, { headers: other })), '404 not_found')
    assert.equal(await outcomeOf(show(id, 'all')), '400 bad_request')
  })

  test('has its own images, without a key and from a page of null origin', async () => {
    const part = [
      'Content-Type: image/png; name="a (1)\'.png"',
      'Content-ID: <logo@a>',
      'Content-Transfer-Encoding: base64',
      '',
      PNG.toString('base64'),
    ].join('\r\n')
    const id = await receive('<img src="cid:logo@a"><img src="cid:none">', [part])
    const page = await (await show(id)).text()
    const [source = ''] = sourcesOf(page)
    assert.match(source, /^\/v1\/attachments\//)
    assert.doesNotMatch(source, /['()]/)
    const url = `${world.baseUrl}${source.replaceAll('&amp;', '&')}`
    const policyFor = async (headers: Record<string, string>) =>
      (await fetch(url, { headers })).headers.get('cross-origin-resource-policy')
    assert.equal(await policyFor({}), 'same-origin')
    assert.equal(await policyFor({ accept: '*/*' }), 'same-origin')
    const accept = 'image/avif,image/webp,image/*,*/*;q=0.8'
    const asImage = { accept, 'sec-fetch-site': 'cross-site', origin: 'null' }
    assert.equal(await policyFor(asImage), 'cross-origin')
    const image = await fetch(url, { headers: asImage })
    assert.equal(image.status, 200)
    assert.deepEqual(Buffer.from(await image.arrayBuffer()), PNG)
  })

  test('shows pictures of its own, and no file of another kind', async () => {
    const partOf = (type: string, id: string) =>
      [
        `Content-Type: ${type}; name="${id}.bin"`,
        `Content-ID: <${id}>`,
        'Content-Transfer-Encoding: base64',
        '',
        PNG.toString('base64'),
      ].join('\r\n')
    const shown = [
      'image/jpeg',
      'image/GIF',
      'image/webp',
      'image/pjpeg',
      'application/octet-stream',
    ]
    const others = ['image/svg+xml', 'text/html', 'application/xhtml+xml', 'image/x-anything']
    const types = [...shown, ...others]
    const html = types.map((_, at) => `<img alt="${at}" src="cid:part${at}">`).join('')
    const id = await receive(
      html,
      types.map((type, at) => partOf(type, `part${at}`)),
    )
    const sources = sourcesOf(await (await show(id)).text()).filter((source) =>
      source.startsWith('/v1/'),
    )
    assert.deepEqual(
      sources.map((source) => /\/(part\d+)\.bin/.exec(source)?.[1]),
      shown.map((_, at) => `part${at}`),
    )
    const { attachments } = await world.client.messages.get(id)
    assert.deepEqual(
      attachments.slice(0, shown.length).map(({ contentId, isInline }) => [contentId, isInline]),
      shown.map((_, at) => [`part${at}`, true]),
    )
  })

  test('without its HTML is its text', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, body: '<b>not bold</b> https://a.example/' })
    await world.send({ to: inbox.address, raw })
    const [message] = (await world.client.messages.list(inbox.id).page()).data
    const page = await (await show(message?.id ?? '')).text()
    assert.ok(page.includes('&lt;b&gt;not bold&lt;/b&gt;'))
  })

  test('that is too large for layout is its text', async () => {
    const id = await receive(`<p>Hello</p>${'<i>x'.repeat(40_000)}`)
    const page = await (await show(id)).text()
    assert.ok(page.includes('<pre>Hello'))
  })

  test('has nothing from other hosts until requested, and then through the service', async () => {
    const html = `<img src="${far.origin}/a.png?x=1&amp;y='2'"><div style="background:url('${far.origin}/b.png')">x</div>`
    const id = await receive(html)
    const blocked = await show(id)
    assert.equal(blocked.headers.get('x-blocked-images'), '2')
    assert.ok(!(await blocked.text()).includes(new URL(far.origin).host))
    assert.equal(far.requests.length, 0)

    far.answer = () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: PNG })
    const shown = await show(id, 'show')
    assert.equal(shown.headers.get('x-blocked-images'), '0')
    const page = await shown.text()
    assert.ok(!page.includes(`${far.origin}`))
    const [source = ''] = sourcesOf(page)
    assert.match(source, new RegExp(`^/v1/messages/${id}/image\\?url=`))
    const image = await fetch(`${world.baseUrl}${source}`, {
      headers: {
        cookie: 'mailroom_session=x',
        'sec-fetch-site': 'cross-site',
        referer: 'https://x/',
      },
    })
    assert.equal(image.status, 200)
    assert.equal(image.headers.get('content-type'), 'image/png')
    assert.equal(image.headers.get('cache-control'), 'private, max-age=900')
    assert.match(
      image.headers.get('content-security-policy') ?? '',
      /^sandbox; default-src 'none'$/,
    )
    assert.equal(image.headers.get('cross-origin-resource-policy'), 'cross-origin')
    assert.deepEqual(Buffer.from(await image.arrayBuffer()), PNG)
    const [request] = far.requests
    assert.equal(request?.path, '/a.png?x=1&y=%272%27')
    assert.equal(request?.headers.cookie, undefined)
    assert.equal(request?.headers.referer, undefined)
    assert.equal(request?.headers.authorization, undefined)
    const [, style = ''] = /background:url\('([^']*)'\)/.exec(page) ?? []
    assert.equal((await fetch(`${world.baseUrl}${style}`)).status, 200)
  })

  /** The signed URL for this remote URL in a new message. */
  async function proxied(url: string): Promise<string> {
    const page = await (await show(await receive(`<img src="${url}">`), 'show')).text()
    return `${world.baseUrl}${sourcesOf(page)[0]}`
  }

  test('has no images of parts that it does not hold', async () => {
    const address = new URL(await proxied(`${far.origin}/a.png`))
    const changed = (name: string, value: string) => {
      const other = new URL(address)
      other.searchParams.set(name, value)
      return other
    }
    const message = await receive('<p>x</p>')
    const altered = [
      changed('url', `${far.origin}/b.png`),
      changed('expires', String(Number(address.searchParams.get('expires')) + 1)),
      changed('signature', 'x'),
      new URL(address.href.replace(/msg_\w+/, message)),
      new URL(`${world.baseUrl}/v1/messages/${message}/image?url=${far.origin}`),
    ]
    const before = far.requests.length
    for (const one of altered) {
      assert.equal(await outcomeOf(fetch(one)), '403 invalid_signature')
      const key = { authorization: `Bearer ${world.key}` }
      assert.equal(await outcomeOf(fetch(one, { headers: key })), '403 invalid_signature')
    }
    assert.equal(far.requests.length, before)
    far.answer = { status: 200, body: PNG }
    assert.equal((await fetch(address)).status, 200)
    world.clock.advance(16 * 60_000)
    assert.equal(await outcomeOf(fetch(address)), '403 invalid_signature')
  })

  test('shows as images only content with the octets of an image', async () => {
    const kinds: [octets: Buffer, type: string | null][] = [
      [Buffer.from('\xff\xd8\xff\xe0rest', 'latin1'), 'image/jpeg'],
      [Buffer.from('GIF89a rest of it'), 'image/gif'],
      [Buffer.from('RIFF\x04\0\0\0WEBPVP8 ', 'latin1'), 'image/webp'],
      [Buffer.from('BM\x10\0\0\0\0\0', 'latin1'), 'image/bmp'],
      [Buffer.from('\0\0\x01\0\x01\0\x10\x10', 'latin1'), 'image/x-icon'],
      [Buffer.from('\0\0\0\x18ftypmif1\0\0\0\0avifmiaf', 'latin1'), 'image/avif'],
      [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'), null],
      [Buffer.from('<!doctype html><script>alert(1)</script>'), null],
      [Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1'), null],
      [Buffer.from(''), null],
    ]
    for (const [octets, type] of kinds) {
      far.answer = { headers: { 'content-type': 'image/png' }, body: octets }
      const response = await fetch(await proxied(`${far.origin}/x`))
      if (type === null) assert.equal(await outcomeOf(response), '502 image_unavailable')
      else assert.equal(response.headers.get('content-type'), type)
    }
  })

  test('reports an unavailable image, whatever its host does', async () => {
    const tooLarge = Buffer.concat([PNG, Buffer.alloc(IMAGE_BYTES_MAX)])
    const habits: Script[] = [
      () => ({ status: 404, body: PNG }),
      () => ({ status: 200, headers: { 'content-encoding': 'gzip' }, body: PNG }),
      () => ({ status: 200, body: tooLarge }),
      () => ({ status: 302, headers: { location: `${far.origin}/again` } }),
      () => ({ status: 302, headers: { location: 'file:///etc/passwd' } }),
      () => ({ status: 302 }),
      () => 'endless',
      () => 'gzip-bomb',
      () => 'reset',
      () => 'reset-in-body',
      () => 'close',
      () => ({ raw: 'nonsense\r\n\r\n' }),
    ]
    for (const [index, habit] of habits.entries()) {
      far.answer = habit
      const response = fetch(await proxied(`${far.origin}/x`))
      assert.equal(await outcomeOf(response), '502 image_unavailable', String(index))
    }
    const nobody = fetch(await proxied('http://127.0.0.1:9/x.png'))
    assert.equal(await outcomeOf(nobody), '502 image_unavailable')
  })

  test('follows a few redirections', async () => {
    far.answer = ({ path }) => ({ status: 302, headers: { location: `${path}x` } })
    assert.equal((await fetch(await proxied(`${far.origin}/`))).status, 502)
    far.answer = ({ path }) =>
      path === '/end' ? { body: PNG } : { status: 307, headers: { location: '/end' } }
    assert.equal((await fetch(await proxied(`${far.origin}/start`))).status, 200)
  })
})

onAnyEngine('images of other hosts', (engine) => {
  test('are never requested from addresses that are not public, with or without a name', async (t) => {
    const world = await openTenant(engine)
    const far = await openReceiver()
    t.after(async () => {
      await world.close()
      await far.close()
    })
    const { port } = new URL(far.origin)
    const inbox = await world.inbox()
    const urls = [
      far.origin,
      `http://localhost:${port}/`,
      'http://localhost/x.png',
      'http://127.0.0.1/x.png',
      'http://0x7f.1/x.png',
      'http://[::1]/x.png',
      'http://169.254.169.254/latest/meta-data',
      'http://user:word@example.com/x.png',
      'http://example.com:22/x.png',
    ]
    const html = urls.map((url) => `<img src="${url}">`).join('')
    const headers = ['MIME-Version: 1.0', 'Content-Type: text/html']
    await world.send({
      to: inbox.address,
      raw: plainMail({ to: inbox.address, headers, body: html }),
    })
    const [message] = (await world.client.messages.list(inbox.id).page()).data
    const page = await world.client.messages.html(message?.id ?? '', { images: 'show' })
    const sources = [...page.matchAll(/ src="([^"]*)"/g)].map(([, source = '']) => source)
    assert.equal(sources.length, urls.length)
    for (const source of sources) {
      const outcome = await outcomeOf(fetch(`${world.baseUrl}${source}`))
      assert.equal(outcome, '502 image_unavailable', source)
    }
    assert.equal(far.requests.length, 0)
  })
})
