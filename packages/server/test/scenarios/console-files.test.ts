import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { request as requestRaw } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { openWorld, type World } from '#test/world.ts'

const PAGE = '<!doctype html><title>Mailroom</title>'
const SCRIPT = 'console.log(1)'

suite('the console is served', () => {
  let world: World
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mailroom-console-'))
    world = await openWorld('sqlite', { consoleFolder: join(folder, 'dist') })
  })
  after(async () => {
    await world.close()
    await rm(folder, { recursive: true, force: true })
  })

  const get = (path: string, init: RequestInit = {}) =>
    fetch(`${world.baseUrl}${path}`, { redirect: 'manual', ...init })

  /** The path as written, which fetch would normalise. */
  function statusOf(path: string): Promise<number | undefined> {
    const { port, hostname } = new URL(world.baseUrl)
    return new Promise((resolve, reject) => {
      const request = requestRaw({ host: hostname, port, path, agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.on('error', reject).end()
    })
  }

  test('and is reported as missing until it is built', async () => {
    const answer = await get('/console/')
    assert.equal(answer.headers.get('retry-after'), '1')
    assert.equal(await outcomeOf(answer), '503 service_unavailable')
    const page = await get('/console/', { headers: { accept: 'text/html' } })
    assert.equal(page.status, 503)
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
    const root = await get('/')
    assert.deepEqual([root.status, root.headers.get('location')], [302, '/docs'])
  })

  test('and appears once built, without a restart', async () => {
    const assets = join(folder, 'dist', 'assets')
    await mkdir(assets, { recursive: true })
    await writeFile(join(folder, 'secret.txt'), 'kept out')
    await writeFile(join(folder, 'dist', 'index.html'), PAGE)
    await writeFile(join(assets, 'app-0A1B2C3D.js'), SCRIPT)
    await writeFile(join(assets, 'app-0A1B2C3D.js.br'), brotliCompressSync(SCRIPT))
    await writeFile(join(assets, 'app-0A1B2C3D.js.gz'), gzipSync(SCRIPT))
    await writeFile(join(assets, 'plain.css'), 'a {}')
    await writeFile(join(assets, 'app-0A1B2C3D.js.map'), '{}')
    await writeFile(join(folder, 'dist', '.hidden.txt'), 'unseen')
    await symlink(join(folder, 'secret.txt'), join(folder, 'dist', 'linked.txt'))
    const answer = await get('/console/')
    assert.equal(answer.status, 200)
    assert.equal(await answer.text(), PAGE)
  })

  test('as its page for every path that is no file, but never instead of a script', async () => {
    for (const path of ['', 'inboxes', 'inboxes/inb_1/threads/thr_1', 'pair?code=BCDF-GHJK']) {
      const answer = await get(`/console/${path}`)
      assert.equal(answer.status, 200, path)
      assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
      assert.equal(answer.headers.get('cache-control'), 'no-cache')
      assert.equal(await answer.text(), PAGE)
    }
    assert.equal(await outcomeOf(get('/console/assets/none-00000000.js')), '404 not_found')
  })

  test('with a policy that blocks other hosts and scripts within the page', async () => {
    for (const path of ['/console/', '/console/assets/app-0A1B2C3D.js']) {
      const { headers } = await get(path)
      const policy = headers.get('content-security-policy') ?? ''
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
      assert.match(policy, /base-uri 'none'; frame-ancestors 'none'$/)
      assert.doesNotMatch(policy, /unsafe|http|\*/)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
      assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
    }
  })

  test('compressed as the browser accepts it, and cached for good where the name has a hash', async () => {
    const path = '/console/assets/app-0A1B2C3D.js'
    const encodings = new Map([
      ['gzip, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
      ['identity', null],
    ])
    const etags = new Set<string | null>()
    for (const [accepted, encoding] of encodings) {
      const answer = await get(path, { headers: { 'accept-encoding': accepted } })
      assert.equal(answer.headers.get('content-encoding'), encoding)
      assert.equal(answer.headers.get('vary'), 'accept-encoding')
      assert.equal(answer.headers.get('content-type'), 'text/javascript; charset=utf-8')
      assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable')
      assert.equal(await answer.text(), SCRIPT)
      etags.add(answer.headers.get('etag'))
    }
    assert.equal(etags.size, 3)
    const plain = await get('/console/assets/plain.css')
    assert.equal(plain.headers.get('cache-control'), 'no-cache')
    assert.equal(plain.headers.get('content-type'), 'text/css; charset=utf-8')
  })

  test('with an ETag that changes with the content', async () => {
    const first = await get('/console/')
    const etag = first.headers.get('etag') ?? ''
    const again = await get('/console/', { headers: { 'if-none-match': etag } })
    assert.equal(again.status, 304)
    assert.equal(await again.text(), '')
    const page = join(folder, 'dist', 'index.html')
    await writeFile(page, PAGE.replace('Mailroom', 'Mailbox!'))
    await utimes(page, 1, 1)
    const changed = await get('/console/', { headers: { 'if-none-match': etag } })
    assert.equal(changed.status, 200)
    assert.match(await changed.text(), /Mailbox!/)
  })

  test('without content for HEAD, and not for other methods', async () => {
    const head = await get('/console/assets/plain.css', { method: 'HEAD' })
    assert.equal(head.status, 200)
    assert.equal(head.headers.get('content-length'), '4')
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const answer = await get('/console/', { method })
      assert.equal(answer.headers.get('allow'), 'GET, HEAD')
      assert.equal(await outcomeOf(answer), '405 method_not_allowed')
    }
  })

  test('without files beside it and hidden files', async () => {
    const paths = [
      '../secret.txt',
      '..%2fsecret.txt',
      'assets/../../secret.txt',
      'assets/%2e%2e/%2e%2e/secret.txt',
      '..\\secret.txt',
      '%00secret.txt',
      '.hidden.txt',
      'linked.txt',
      'assets/app-0A1B2C3D.js.map',
      'assets',
      `${'a/'.repeat(500)}x.js`,
    ]
    for (const path of paths) {
      const answer = await get(`/console/${path}`)
      const text = await answer.text()
      assert.doesNotMatch(text, /kept out|unseen|\{\}/, path)
      assert.ok([200, 404, 414].includes((await statusOf(`/console/${path}`)) ?? 0), path)
    }
  })

  test('to a browser that opens the root of the service', async () => {
    for (const path of ['/', '/?from=somewhere', '/console']) {
      for (const accept of ['text/html,*/*', '*/*', 'application/json']) {
        for (const method of ['GET', 'HEAD']) {
          const answer = await get(path, { method, headers: { accept } })
          assert.equal(answer.status, 302)
          assert.equal(answer.headers.get('location'), '/console/')
        }
      }
    }
    const posted = await get('/', { method: 'POST' })
    assert.equal(posted.headers.get('allow'), 'GET, HEAD')
    assert.equal(await outcomeOf(posted), '405 method_not_allowed')
  })
})
