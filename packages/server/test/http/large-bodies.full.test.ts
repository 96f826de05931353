import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, before, test } from 'node:test'
import { FILES_BYTES_MAX } from '@mailroom/contract/sending.ts'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { JSON_BODY_BYTES_MAX } from '#http/collect-body.ts'
import type { GivenFile } from '#http/handler.ts'
import { LARGE_BODY_BYTES_MAX } from '#http/read-body.ts'
import { errorOf, GOOD_KEY, openTestServer, type TestServer } from '#test/http/test-server.ts'
import { exchange, readAnswer } from '#test/http/wire.ts'

const PATH = '/v1/inboxes/inb_1/send'
const HEADERS = { 'content-type': 'application/json', 'idempotency-key': 'k' }
const HEAD = `POST ${PATH} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${GOOD_KEY}\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n`

let server: TestServer
let sizes: number[] = []
const answers = {
  'inboxes.send': ({ body }: { body: { attachments: readonly GivenFile[] } }) => {
    sizes.push(...body.attachments.map((file) => ('content' in file ? file.content.length : 0)))
    return { isReplay: false, body: {} as never }
  },
}
before(async () => {
  server = await openTestServer({ answers })
})
after(() => server.close(0))

function post(body: string | Uint8Array, headers: Record<string, string> = HEADERS, path = PATH) {
  sizes = []
  return server.request(path, { method: 'POST', body, headers })
}

async function assertError(response: Response, status: number, code: string) {
  const body = await errorOf(response)
  assert.equal(response.status, status, JSON.stringify(body))
  assert.equal(body.error, code)
  return body
}

function mail(...contents: Uint8Array[]): string {
  const attachments = contents.map((content, index) => ({
    filename: `${index}.bin`,
    contentType: 'application/octet-stream',
    data: Buffer.from(content).toString('base64'),
  }))
  return JSON.stringify({ to: 'a@b.example', subject: 'a', body: 'b', attachments })
}

test('a send of exactly the limit is read, and one byte more is 413 payload_too_large', async () => {
  const padded = (length: number) => mail().padEnd(length, ' ')
  assert.equal((await post(padded(LARGE_BODY_BYTES_MAX))).status, 200)
  const response = await post(padded(LARGE_BODY_BYTES_MAX + 1))
  await assertError(response, 413, 'payload_too_large')
})

test('routes without files keep their limit', async () => {
  const headers = { 'content-type': 'application/json' }
  for (const path of ['/v1/pods', '/v1/suppressions']) {
    const response = await post(' '.repeat(JSON_BODY_BYTES_MAX + 1), headers, path)
    await assertError(response, 413, 'payload_too_large')
  }
})

test('files of 25 MiB together are sent, and one octet more is 413 that names the limit', async () => {
  const half = new Uint8Array(FILES_BYTES_MAX / 2)
  assert.equal((await post(mail(half, half))).status, 200)
  assert.deepEqual(sizes, [half.length, half.length])
  const response = await post(mail(half, half, new Uint8Array(1)))
  const { message } = await assertError(response, 413, 'payload_too_large')
  assert.match(String(message), new RegExp(String(FILES_BYTES_MAX)))
  assert.deepEqual(sizes, [])
})

test('a form has the same limits', async () => {
  const send = async (bytes: number) => {
    const form = new FormData()
    for (const [name, text] of Object.entries({ to: 'a@b.example', subject: 'a', body: 'b' })) {
      form.append(name, text)
    }
    form.append('attachments', new File([new Uint8Array(bytes)], 'a.bin'))
    sizes = []
    const headers = { 'idempotency-key': 'k' }
    return server.request(PATH, { method: 'POST', body: form, headers })
  }
  assert.equal((await send(FILES_BYTES_MAX)).status, 200)
  assert.deepEqual(sizes, [FILES_BYTES_MAX])
  await assertError(await send(FILES_BYTES_MAX + 1), 413, 'payload_too_large')
  await assertError(await send(LARGE_BODY_BYTES_MAX), 413, 'payload_too_large')
})

test('the sandbox accepts raw messages, with or without an envelope', async () => {
  const seen: unknown[] = []
  const sandbox = await openTestServer({
    answers: {
      'sandbox.receive': ({ body, query }) => {
        seen.push([body, query])
        return { data: [], total: 0 }
      },
    },
  })
  const headers = { 'content-type': 'message/rfc822' }
  const raw = Buffer.from('From: a@b.example\r\n\r\n\xff', 'latin1')
  for (const query of ['', '?from=a@b.example&to=c@d.example', '?to=c@d.example&to=e@f.example']) {
    const init = { method: 'POST', body: raw, headers }
    assert.equal((await sandbox.request(`/v1/sandbox/inbound${query}`, init)).status, 201)
  }
  assert.deepEqual(seen, [
    [raw, {}],
    [raw, { from: 'a@b.example', to: ['c@d.example'] }],
    [raw, { to: ['c@d.example', 'e@f.example'] }],
  ])
  for (const query of ['?from=a', '?to=', '?to=c@d.example&to=x', '?from=a@b.c&from=a@b.c']) {
    const init = { method: 'POST', body: raw, headers }
    const response = await sandbox.request(`/v1/sandbox/inbound${query}`, init)
    await assertError(response, 400, 'bad_request')
  }
  const empty = { method: 'POST', body: '', headers }
  const response = await sandbox.request('/v1/sandbox/inbound', empty)
  assert.equal(response.status, 400)
  const { details } = await errorOf(response)
  assert.deepEqual(details, [{ path: '', message: 'must not be empty' }])
  await sandbox.close(0)
})

/** Inputs for which a method that is not linear takes minutes. */
const LENGTH = sizeOf('TEST_MAILROOM_HOSTILE_BODY_BYTES', { usual: 6_000_000, long: 34_900_000 })
const inField = (name: string, text: string) => mail().replace('{', `{"${name}":"${text}",`)
const times = (text: string) => text.repeat(Math.floor(LENGTH / Buffer.byteLength(text)))

const hostile: [string, () => string | Uint8Array, number][] = [
  ['brackets', () => times('['), 400],
  ['quotes', () => times('"'), 400],
  ['objects', () => times('{"a":'), 400],
  ['commas', () => times('1,'), 400],
  ['digits', () => `{"a":${times('1')}}`, 400],
  ['escapes', () => inField('bodyHtml', times('\\n')), 400],
  ['escaped slashes', () => inField('threadId', times('\\/')), 200],
  ['escaped letters', () => inField('bodyHtml', times('\\u0041')), 400],
  ['letters outside ASCII', () => inField('bodyHtml', times('é')), 400],
  ['one long address', () => mail().replace('a@b.example', times('a.')), 400],
  ['one long subject', () => mail().replace('"subject":"a"', `"subject":"${times('é')}"`), 400],
  ['one long key', () => inField(times('k'), ''), 400],
  ['a byte order mark', () => `\ufeff${times(' ')}`, 400],
  ['invalid UTF-8', () => Buffer.alloc(LENGTH, 0xff), 400],
  ['rubbish for base64', () => mail(Buffer.from('x')).replace('eA==', times('!')), 400],
]

for (const [name, make, status] of hostile) {
  test(`${Math.round(LENGTH / 1e6)} MB of ${name} is answered ${status} without delaying others for long`, async (t) => {
    const body = make()
    const delay = monitorEventLoopDelay({ resolution: 10 })
    delay.enable()
    const response = await post(body)
    delay.disable()
    await response.arrayBuffer()
    assert.equal(response.status, status)
    t.diagnostic(`others waited ${Math.round(delay.max / 1e6)} ms at most`)
    // A fraction of a second on an idle machine.
    assert.ok(delay.max < 30e9, `${Math.round(delay.max / 1e6)} ms`)
  })
}

test('large bodies together have a limit, small ones are still accepted, and room is freed', async (context) => {
  const bounded = await openTestServer({ answers, largeBodiesBytesMax: 5_000_000 })
  context.after(() => bounded.close(0))
  const open = async (head: string, first = '') => {
    const socket = connect({ port: bounded.port, host: '127.0.0.1' })
    await once(socket, 'connect')
    socket.on('error', () => {})
    const answered = readAnswer(socket)
    socket.write(`${HEAD}${head}\r\n\r\n${first}`)
    return { socket, answered }
  }
  const chunk = `${(65_536).toString(16)}\r\n${' '.repeat(65_536)}\r\n`
  const declared = await open('Content-Length: 3000000')
  // The second's answer shows that the first was received.
  const second = await exchange(bounded.port, `${HEAD}Content-Length: 2500000\r\n\r\n`)
  assert.equal(second.status, 503)
  assert.equal(JSON.parse(second.body).error, 'service_unavailable')
  assert.ok(Number(second.headers.get('retry-after')) >= 1)
  const chunked = await open('Transfer-Encoding: chunked', chunk.repeat(40))
  assert.equal((await chunked.answered).status, 503)
  chunked.socket.destroy()
  const small = { method: 'POST', body: mail().padEnd(JSON_BODY_BYTES_MAX), headers: HEADERS }
  assert.equal((await bounded.request(PATH, small)).status, 200)
  const cut = once(declared.socket, 'close')
  declared.socket.destroy()
  await cut
  const large = { ...small, body: mail().padEnd(4_900_000) }
  for (let round = 0; round < 3; round += 1) {
    let response = await bounded.request(PATH, large)
    // The server may notice the closed connection a moment later.
    for (let tries = 0; tries < 100 && response.status === 503; tries += 1) {
      response = await bounded.request(PATH, large)
    }
    assert.equal(response.status, 200)
  }
})

test('two large sends are processed at once, and others wait with only their bodies', async (context) => {
  const gates: (() => void)[] = []
  let arrived = Promise.withResolvers<void>()
  const gated = await openTestServer({
    answers: {
      'inboxes.send': async ({ body }) => {
        if (body.attachments.length > 0) {
          await new Promise<void>((resolve) => {
            gates.push(resolve)
            arrived.resolve()
          })
        }
        return { isReplay: false, body: {} as never }
      },
    },
  })
  context.after(() => gated.close(0))
  const large = mail(new Uint8Array(JSON_BODY_BYTES_MAX))
  const send = (body: string, signal: AbortSignal | null = null) =>
    gated.request(PATH, { method: 'POST', body, headers: HEADERS, signal })
  const leaving = new AbortController()
  const untilArrived = async (count: number) => {
    while (gates.length < count) {
      arrived = Promise.withResolvers()
      await arrived.promise
    }
  }
  const left = send(large, leaving.signal).catch(() => 'left')
  // They are sent together, so any two of them may be the first.
  await untilArrived(1)
  const others = Array.from({ length: 4 }, () => send(large))
  await untilArrived(2)
  assert.equal((await send(mail())).status, 200)
  assert.equal(gates.length, 2)
  leaving.abort()
  assert.equal(await left, 'left')
  assert.equal((await send(mail())).status, 200)
  // The work for a client that left continues; its end frees a slot, as does that of the others.
  assert.equal(gates.length, 2)
  for (let seen = 0; seen < 5; seen += 1) {
    await untilArrived(seen + 1)
    assert.ok(gates.length <= seen + 2)
    gates[seen]?.()
  }
  for (const response of await Promise.all(others)) assert.equal(response.status, 200)
})

test('base64 is accepted only if encoding it again gives the same', async () => {
  const good = ['', 'eA==', 'eHk=', 'eHl6', 'eHl6eA==', '+/+/']
  const bad = [
    'eA',
    'eA=',
    'eB==',
    'eHl=',
    '=',
    '====',
    '-_-_',
    'eH l6',
    'eHl6\\n',
    'eA==eA==',
    'eŁl6',
  ]
  const large = Buffer.alloc(100_002, 'abc').toString('base64')
  const cases = [
    ...[...good, large].map((data) => [data, 200] as const),
    ...[...bad, `${large.slice(0, -4)}eB==`, large.replace('Y', '-'), large.replace('Y', 'Ł')].map(
      (data) => [data, 400] as const,
    ),
  ]
  for (const [data, status] of cases) {
    const response = await post(mail(Buffer.from('x')).replace('eA==', data))
    assert.equal(response.status, status, data.slice(0, 20))
    const [size] = sizes
    if (status === 200) assert.equal(size, Buffer.from(data, 'base64').length)
  }
})
