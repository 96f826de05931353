import assert from 'node:assert/strict'
import { once } from 'node:events'
import { BlockList, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { openResolver, type ResolverOptions } from '#platform/dns/resolver.ts'
import {
  type HttpPosterOptions,
  type HttpPostOutcome,
  openHttpPoster,
  WEBHOOK_ANSWER_BYTES_KEPT,
} from '#platform/egress/http-post.ts'
import { type Certificate, makeSelfSignedCertificate } from '#platform/tls/server-tls.ts'
import { openDns, type Zone } from '#test/peers/dns.ts'
import { type Answer, openReceiver } from '#test/peers/receiver.ts'
import { until } from '#test/scenarios/outcomes.ts'

const TOTAL_MS = 2_500
const CONNECT_MS = 1_000
const IDLE_MS = 150
const BUSY_MS = 4_000
const BODY = '{"event":"webhook.test","subject":"Grüße"}'

async function openWorld(
  t: TestContext,
  options: Partial<HttpPosterOptions> & { zone?: Zone; tries?: Partial<ResolverOptions> },
) {
  const { zone, tries = { timeoutMs: 500 }, ...others } = options
  const dns = await openDns(zone)
  const resolver = openResolver({ servers: [dns.server], ...tries })
  const poster = openHttpPoster({
    resolver,
    allowPrivate: true,
    patience: { connectMs: CONNECT_MS, totalMs: TOTAL_MS },
    idleMs: IDLE_MS,
    ...others,
  })
  t.after(async () => {
    await poster.close()
    resolver.close()
    await dns.close()
  })
  const post = (url: string, signal?: AbortSignal) =>
    poster.post({ url, headers: { 'x-event-id': 'evt_1' }, body: BODY, signal })
  return { dns, poster, post }
}

async function openFarEnd(t: TestContext, options: Parameters<typeof openReceiver>[0] = {}) {
  const receiver = await openReceiver(options)
  t.after(() => receiver.close())
  return receiver
}

function textOf(outcome: HttpPostOutcome): string {
  return outcome.kind === 'answered' ? String(outcome.status) : outcome.error
}

test('a receiver gets the body unchanged, and its answer is returned', async (t) => {
  const { post } = await openWorld(t, {})
  const receiver = await openFarEnd(t)
  receiver.answer = { status: 202, body: 'thank you', headers: { 'content-type': 'text/plain' } }
  const outcome = await post(`${receiver.origin}/a/b?c=d%20e&f=ü#g`)
  assert.equal(outcome.kind, 'answered')
  assert.deepEqual(outcome, { ...outcome, status: 202, body: 'thank you' })
  const [request] = receiver.requests
  assert.equal(request?.path, '/a/b?c=d%20e&f=%C3%BC')
  assert.equal(request?.body.toString('utf8'), BODY)
  const { headers } = request ?? {}
  assert.equal(headers?.['x-event-id'], 'evt_1')
  assert.equal(headers?.['content-length'], String(Buffer.byteLength(BODY)))
  assert.equal(headers?.['accept-encoding'], undefined)
  assert.equal(headers?.host, `127.0.0.1:${receiver.port}`)
})

test('no name and no literal leads to a special address while private egress is blocked', async (t) => {
  const receiver = await openFarEnd(t)
  const { post } = await openWorld(t, {
    allowPrivate: false,
    zone: {
      'four.example': { A: ['127.0.0.1'] },
      'six.example': { AAAA: ['::1'] },
      'mapped.example': { AAAA: ['::ffff:127.0.0.1'] },
      'alias.example': { CNAME: 'four.example' },
      'nat.example': { AAAA: ['64:ff9b::7f00:1'] },
      'zero.example': { A: ['0.0.0.0'] },
    },
  })
  const names = ['four', 'six', 'mapped', 'alias', 'nat', 'zero'].map((name) => `${name}.example`)
  const literals = ['127.0.0.1', '2130706433', '127.1', '0', '[::1]', '[::ffff:7f00:1]', '0x7f.1']
  for (const host of [...names, ...literals, 'localhost', 'a.localhost.']) {
    const outcome = await post(`http://${host}:${receiver.port}/`)
    assert.equal(textOf(outcome), 'forbidden_address', host)
  }
  assert.equal(receiver.connections.opened, 0)
})

test('a name whose addresses change is connected to at the checked address', async (t) => {
  const receiver = await openFarEnd(t)
  const { post, dns } = await openWorld(t, {
    allowPrivate: false,
    // No question is sent twice, and no post ends before its questions are answered, on a slow machine.
    tries: { timeoutMs: 5_000, firstTryMs: 60_000 },
    patience: { connectMs: CONNECT_MS, totalMs: 60_000 },
  })
  for (let round = 0; round < 3; round++) {
    const before = dns.asked.length
    dns.zone = {
      // Unused since 2006: the answer to the first lookup, and our own address to all others.
      get 'rebinding.example'() {
        const isFirst = dns.asked.length - before <= 2
        return isFirst ? { AAAA: ['3ffe::1'], ttlSeconds: 0 } : { A: ['127.0.0.1'], ttlSeconds: 0 }
      },
    }
    const outcome = await post(`http://rebinding.example:${receiver.port}/`)
    assert.equal(outcome.kind, 'failed')
    assert.equal(dns.asked.length - before, 2)
  }
  assert.equal(receiver.connections.opened, 0)
})

test('a special address that passed the lookup is refused at the connection', async (t) => {
  const certificate = await makeSelfSignedCertificate('a.example', Date.now())
  const receiver = await openFarEnd(t)
  const tlsReceiver = await openFarEnd(t, { certificate })
  const { post } = await openWorld(t, {
    allowPrivate: false,
    ownAddresses: () => [],
    ca: certificate.certificatePem,
    zone: { 'a.example': { A: ['127.0.0.1'] } },
  })
  for (const [scheme, { port, connections, requests }] of [
    ['http', receiver],
    ['https', tlsReceiver],
  ] as const) {
    t.mock.method(BlockList.prototype, 'check', () => false, { times: 1 })
    assert.equal(textOf(await post(`${scheme}://a.example:${port}/`)), 'forbidden_address')
    assert.deepEqual([connections.opened, requests.length], [1, 0])
  }
})

test('neither the machine’s own addresses nor the names of the service are reached', async (t) => {
  const receiver = await openFarEnd(t)
  const { post } = await openWorld(t, {
    allowPrivate: false,
    // Assigned to nobody and not special: it stands for a public address of the machine.
    ownAddresses: () => ['3ffe::9%eth0', '9.9.9.9'],
    ownNames: ['mail.example'],
    zone: {
      'a.example': { AAAA: ['3ffe::9'] },
      'b.example': { A: ['9.9.9.9'] },
      'mail.example': { A: ['127.0.0.1'] },
    },
  })
  const hosts = ['a.example', 'b.example', '[3ffe::9]', '9.9.9.9', '[::ffff:909:909]']
  for (const host of [...hosts, 'mail.example', 'MAIL.example.']) {
    assert.equal(textOf(await post(`http://${host}:${receiver.port}/`)), 'forbidden_address', host)
  }
})

test('no redirect is followed', async (t) => {
  const { post } = await openWorld(t, {})
  const [receiver, target] = [await openFarEnd(t), await openFarEnd(t)]
  for (const status of [301, 302, 303, 307, 308]) {
    receiver.answer = { status, headers: { location: `${target.origin}/` } }
    assert.equal(textOf(await post(receiver.origin)), String(status))
  }
  assert.equal(target.connections.opened, 0)
})

const BAD: [string, Answer, string][] = [
  ['does not answer', 'hang', 'timeout'],
  ['sends an octet now and then', 'trickle', 'timeout'],
  ['sends an octet of its header now and then', 'trickle-header', 'timeout'],
  ['sends a header without an end', 'endless-header', 'protocol_error'],
  ['resets the connection', 'reset', 'connection_failed'],
  ['resets the connection in its header', 'reset-in-header', 'connection_failed'],
  ['resets the connection in its body', 'reset-in-body', 'connection_failed'],
  ['closes the connection', 'close', 'connection_failed'],
  [
    'ends before its body',
    { raw: 'HTTP/1.1 200 A\r\nContent-Length: 9\r\n\r\nx' },
    'connection_failed',
  ],
  ['speaks SMTP', { raw: '220 mail.example ESMTP\r\n' }, 'protocol_error'],
  ['switches protocols', { raw: 'HTTP/1.1 101 A\r\nUpgrade: x\r\n\r\n' }, 'protocol_error'],
  ['switches protocols to none', { raw: 'HTTP/1.1 101 A\r\n\r\n' }, 'protocol_error'],
  ['has no such status', { raw: 'HTTP/1.1 099 A\r\nContent-Length: 0\r\n\r\n' }, 'protocol_error'],
  [
    'has two lengths',
    { raw: 'HTTP/1.1 200 A\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc' },
    'protocol_error',
  ],
  [
    'breaks its chunks',
    { raw: 'HTTP/1.1 200 A\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n' },
    'protocol_error',
  ],
  ['says early that it is too large', 'early', '413'],
  ['sends a body without an end', 'endless', '200'],
  ['sends a body that unpacks to a thousand times its size', 'gzip-bomb', '200'],
  ['has a body where none may be', { raw: 'HTTP/1.1 204 A\r\nContent-Length: 1\r\n\r\nx' }, '204'],
  ['speaks HTTP/1.0', { raw: 'HTTP/1.0 200 A\r\n\r\nx' }, '200'],
  [
    'gives hints first',
    { raw: 'HTTP/1.1 103 A\r\n\r\nHTTP/1.1 200 A\r\nContent-Length: 0\r\n\r\n' },
    '200',
  ],
  ['answers twice', { raw: 'HTTP/1.1 500 A\r\nContent-Length: 0\r\n\r\n'.repeat(2) }, '500'],
]

test('each fault of a receiver has a name, and does not affect the next post', async (t) => {
  const { post } = await openWorld(t, {})
  const receiver = await openFarEnd(t)
  for (const [name, answer, expected] of BAD) {
    receiver.answer = answer
    const outcome = await post(receiver.origin)
    assert.equal(textOf(outcome), expected, name)
    assert.ok(outcome.latencyMs <= TOTAL_MS + 10_000, `${name}: ${outcome.latencyMs} ms`)
    receiver.answer = {}
    assert.equal(textOf(await post(receiver.origin)), '200', `after one that ${name}`)
  }
  await receiver.waitForQuiet()
})

test('the beginning of a large answer is kept, without half characters and NUL', async (t) => {
  const { post } = await openWorld(t, {})
  const receiver = await openFarEnd(t)
  receiver.answer = 'endless'
  const outcome = await post(receiver.origin)
  assert.ok(outcome.kind === 'answered')
  assert.equal(outcome.body, 'x'.repeat(WEBHOOK_ANSWER_BYTES_KEPT))
  await receiver.waitForQuiet()
  // Octets that the kernel had accepted before the connection was dropped.
  assert.ok(receiver.bytesWritten < 10_000_000, `${receiver.bytesWritten} octets`)
  for (const [body, kept] of [
    [`x${'€'.repeat(2_000)}`, `x${'€'.repeat(1_365)}`],
    ['a\0b', 'ab'],
    [Buffer.from([0x61, 0xff, 0xe2]), 'a\ufffd\ufffd'],
  ] as const) {
    receiver.answer = { status: 500, body }
    const answered = await post(receiver.origin)
    assert.equal(answered.kind === 'answered' && answered.body, kept)
  }
})

test('the cause of a missing answer has a name, too', async (t) => {
  const silent = createServer(() => {})
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => silent.close())
  const address = silent.address()
  const silentPort = typeof address === 'object' ? address?.port : 0
  const receiver = await openFarEnd(t)
  const { post } = await openWorld(t, {
    zone: { 'none.example': { MX: [] }, 'failing.example': 'servfail', 'mute.example': 'silent' },
  })
  for (const [url, expected] of [
    ['http://none.example/', 'dns_failed'],
    ['http://failing.example/', 'dns_failed'],
    ['http://mute.example/', 'dns_failed'],
    ['http://127.0.0.1:1/', 'connection_failed'],
    ['http://localhost:1/', 'connection_failed'],
    [`https://127.0.0.1:${receiver.port}/`, 'tls_failed'],
    ['ftp://example.com/', 'protocol_error'],
    ['no URL', 'protocol_error'],
  ] as const) {
    assert.equal(textOf(await post(url)), expected, url)
  }
  const patient = await openWorld(t, { patience: { connectMs: CONNECT_MS, totalMs: 60_000 } })
  const outcome = await patient.post(`https://127.0.0.1:${silentPort}/`)
  assert.equal(textOf(outcome), 'timeout')
  assert.ok(outcome.latencyMs < 30_000, 'the time to connect is shorter than the whole')
})

test('certificates are verified, including their name', async (t) => {
  const certificate = await makeSelfSignedCertificate('localhost', Date.now())
  const receiver = await openFarEnd(t, { certificate })
  const stranger = await openWorld(t, {})
  assert.equal(textOf(await stranger.post(receiver.origin)), 'tls_failed')
  const { post } = await openWorld(t, { ca: certificate.certificatePem })
  assert.equal(textOf(await post(receiver.origin)), '200')
  assert.equal(textOf(await post(`https://a.localhost:${receiver.port}/`)), 'tls_failed')
  assert.equal(textOf(await post(`https://127.0.0.1:${receiver.port}/`)), 'tls_failed')
  assert.equal(receiver.requests.length, 1)
})

test('if private egress is allowed, localhost is this machine whatever DNS says', async (t) => {
  const { post, dns } = await openWorld(t, { zone: { localhost: { A: ['192.0.2.1'] } } })
  const receiver = await openFarEnd(t)
  for (const host of ['localhost', 'LOCALHOST', 'a.localhost', 'localhost.', '127.1']) {
    assert.equal(textOf(await post(`http://${host}:${receiver.port}/`)), '200', host)
  }
  assert.equal(dns.asked.length, 0)
})

test('an aborted post ends at once, while it connects, waits or reads', async (t) => {
  const { post, poster } = await openWorld(t, { zone: { 'slow.example': { delayMs: 150 } } })
  const receiver = await openFarEnd(t)
  assert.equal(textOf(await post(receiver.origin, AbortSignal.abort())), 'cut')
  const dnsCut = new AbortController()
  const connecting = post(`http://slow.example:${receiver.port}/`, dnsCut.signal)
  dnsCut.abort()
  assert.equal(textOf(await connecting), 'cut')
  for (const answer of ['hang', 'trickle'] as const) {
    receiver.answer = answer
    const cut = new AbortController()
    const posted = post(receiver.origin, cut.signal)
    await receiver.waitForCount(receiver.requests.length + 1)
    cut.abort()
    assert.equal(textOf(await posted), 'cut')
  }
  const last = post(receiver.origin)
  await receiver.waitForCount(receiver.requests.length + 1)
  await poster.close()
  assert.equal(textOf(await last), 'cut')
  assert.equal(textOf(await post(receiver.origin)), 'cut')
  await receiver.waitForQuiet()
})

test('connections are reused for a while and then closed', async (t) => {
  const { post } = await openWorld(t, {})
  const receiver = await openFarEnd(t)
  receiver.answer = { headers: { 'keep-alive': 'timeout=3600' } }
  for (let index = 0; index < 20; index++) await post(receiver.origin)
  assert.ok(receiver.connections.opened <= 2, `${receiver.connections.opened} were opened`)
  // Sooner than the receiver itself would close them, unless the machine is busy.
  const tookMs: number[] = []
  while (tookMs.length < 5 && !tookMs.some((ms) => ms < 4_000)) {
    await post(receiver.origin)
    const startMs = performance.now()
    await receiver.waitForQuiet()
    tookMs.push(performance.now() - startMs)
  }
  assert.ok(Math.min(...tookMs) < 4_000, `${tookMs}`)
})

test('an idle connection that was closed costs no post, one that breaks at once does', async (t) => {
  const { post } = await openWorld(t, { idleMs: 60_000 })
  let [connections, posts] = [0, 0]
  let answersOfEach = 1
  const server = createServer((socket) => {
    connections += 1
    let answers = 0
    socket.on('error', () => {})
    socket.on('data', () => {
      posts += 1
      answers += 1
      if (answers > answersOfEach) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 A\r\nContent-Length: 0\r\n\r\n')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`
  assert.equal(textOf(await post(url)), '200')
  await new Promise(setImmediate)
  assert.equal(textOf(await post(url)), '200')
  assert.deepEqual([connections, posts], [2, 3])
  answersOfEach = 0
  assert.equal(textOf(await post(url)), 'connection_failed')
  assert.deepEqual([connections, posts], [3, 4])
})

/** A server that counts posts; `answer` gets their number on this connection. */
async function openCounting(
  t: TestContext,
  answer: (socket: Socket, ofConnection: number) => void,
  certificate?: Certificate,
) {
  const seen = { connections: 0, posts: 0 }
  const serve = (socket: Socket) => {
    seen.connections += 1
    let ofConnection = 0
    let open = 0
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      // A post may arrive in pieces, and ends with its body.
      open += chunk.toString().includes('POST ') ? 1 : 0
      if (open === 0 || !chunk.toString().endsWith('}')) return
      open = 0
      seen.posts += 1
      ofConnection += 1
      answer(socket, ofConnection)
    })
  }
  const server =
    certificate === undefined
      ? createServer(serve)
      : createTlsServer({ cert: certificate.certificatePem, key: certificate.privateKeyPem }, serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  const scheme = certificate === undefined ? 'http' : 'https'
  const port = typeof address === 'object' ? address?.port : 0
  return { seen, url: `${scheme}://localhost:${port}/` }
}

const NOTHING_MORE = 'HTTP/1.1 200 A\r\nContent-Length: 0\r\n\r\n'
const BROKEN: [string, (socket: Socket) => void, string][] = [
  ['a banner of SSH', (socket) => socket.end('SSH-2.0-x\r\n'), 'protocol_error'],
  [
    'half a header and the end',
    (socket) => socket.end('HTTP/1.1 200 A\r\nContent-Le'),
    'connection_failed',
  ],
  [
    'a header of 40 KB',
    (socket) => socket.write(`HTTP/1.1 200 A\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`),
    'protocol_error',
  ],
  [
    'two lengths',
    (socket) => socket.write('HTTP/1.1 200 A\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'),
    'protocol_error',
  ],
  [
    'going on, many times',
    (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(50)),
    'protocol_error',
  ],
]

for (const [name, send, error] of BROKEN) {
  test(`${name} as an answer costs one post, on a new connection and on a reused one`, async (t) => {
    const { post } = await openWorld(t, { idleMs: 60_000 })
    const fresh = await openCounting(t, send)
    assert.equal(textOf(await post(fresh.url)), error)
    assert.deepEqual(fresh.seen, { connections: 1, posts: 1 })
    const used = await openCounting(t, (socket, ofConnection) => {
      if (ofConnection === 1) socket.write(NOTHING_MORE)
      else send(socket)
    })
    assert.equal(textOf(await post(used.url)), '200')
    await new Promise(setImmediate)
    assert.equal(textOf(await post(used.url)), error)
    assert.deepEqual(used.seen, { connections: 1, posts: 2 })
  })
}

test('over TLS, too, a post on a dropped connection is repeated once', async (t) => {
  const certificate = await makeSelfSignedCertificate('localhost', Date.now())
  const { post } = await openWorld(t, { idleMs: 60_000, ca: certificate.certificatePem })
  let isGivenUp = true
  const { seen, url } = await openCounting(
    t,
    (socket, ofConnection) => {
      if (ofConnection === 1 && isGivenUp) socket.write(NOTHING_MORE)
      else socket.end()
    },
    certificate,
  )
  assert.equal(textOf(await post(url)), '200')
  await new Promise(setImmediate)
  isGivenUp = false
  assert.equal(textOf(await post(url)), 'connection_failed')
  assert.deepEqual(seen, { connections: 2, posts: 3 })
})

test('an answer that stalls or is cut is returned as far as it arrived', async (t) => {
  const { post } = await openWorld(t, {})
  const receiver = await openFarEnd(t)
  const begun = async (answer: Answer) => {
    receiver.answer = answer
    const outcome = await post(receiver.origin)
    return outcome.kind === 'failed' && [outcome.error, outcome.answer]
  }
  assert.deepEqual(await begun('reset-in-body'), ['connection_failed', { status: 200, body: 'x' }])
  const trickled = await begun('trickle')
  assert.ok(trickled && typeof trickled[1] === 'object')
  assert.deepEqual([trickled[0], trickled[1].status], ['timeout', 200])
  assert.match(trickled[1].body, /^x{2,}$/)
  assert.deepEqual(await begun('trickle-header'), ['timeout', undefined])
  assert.deepEqual(await begun('hang'), ['timeout', undefined])
})

test('the measured time of an answer is only the receiver’s', async (t) => {
  const patience = { connectMs: 60_000, totalMs: 60_000 }
  const { poster, post } = await openWorld(t, { patience })
  const receiver = await openFarEnd(t)
  // The process is busy between the call and the first octet, as with loading modules.
  const posted = poster.post({ url: receiver.origin, headers: {}, body: BODY })
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_MS)
  assert.ok((await posted).latencyMs < BUSY_MS)
  assert.equal(textOf(await post(receiver.origin)), '200')
})

test('concurrent posts to many receivers do not leave their connections open', async (t) => {
  const { post } = await openWorld(t, {
    idleMs: 60_000,
    patience: { connectMs: 60_000, totalMs: 60_000 },
  })
  const receiver = await openFarEnd(t)
  const posts = Array.from({ length: 500 }, (_, index) =>
    post(`http://n${index}.localhost:${receiver.port}/`),
  )
  const outcomes = new Set((await Promise.all(posts)).map(textOf))
  assert.deepEqual([...outcomes], ['200'])
  // It notices the end of the others a moment later.
  await until(async () => receiver.connections.open <= 200)
})
