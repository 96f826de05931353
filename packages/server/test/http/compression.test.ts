import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { after, before, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { AppError } from '#platform/problem.ts'
import { GOOD_KEY, GOOD_SESSION, openTestServer, type TestServer } from '#test/http/test-server.ts'

const LONG = 'the same words again and again '.repeat(1_000)
const SHORT = 'a few words'

let server: TestServer
let readItems = 0
before(async () => {
  server = await openTestServer({
    answers: {
      'pods.list': async () => ({ data: [], total: 0, filler: LONG }) as never,
      'threads.list': async () => ({ data: many(), total: 1 }) as never,
      'events.list': async () => ({ data: failing(), total: 1 }) as never,
      'messages.raw': () => ({ headers: { 'content-type': 'text/plain' }, content: LONG }),
      'attachments.get': () => ({
        headers: { 'content-type': 'text/plain' },
        content: { stream: Readable.from([LONG]), holdsBytes: 0 },
      }),
      'pods.get': async () => ({ id: SHORT }) as never,
    },
  })
})
after(() => server.close(0))

async function* many() {
  for (readItems = 0; readItems < 3_000; readItems += 1) yield { text: randomText() }
}

/** Some 85 KiB that do not compress well. */
function randomText(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(64 * 1024))).toString('base64')
}

const failing = (): AsyncIterable<unknown> =>
  Readable.from([1]).map(() => {
    throw new AppError('service_unavailable', 'The store is away.')
  })

/** Without decompression, which `fetch` does by itself. */
function get(path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const sent = { authorization: `Bearer ${GOOD_KEY}`, 'accept-encoding': 'gzip', ...headers }
  return new Promise((resolve, reject) => {
    httpRequest(`${server.address}${path}`, { headers: sent }, resolve).on('error', reject).end()
  })
}

async function bytesOf(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk)
  return Buffer.concat(chunks)
}

test('a long answer is compressed for a client that accepts gzip, with its length', async () => {
  const answer = await get('/v1/pods')
  const bytes = await bytesOf(answer)
  assert.equal(answer.headers['content-encoding'], 'gzip')
  assert.equal(answer.headers.vary, 'accept-encoding')
  assert.equal(Number(answer.headers['content-length']), bytes.length)
  assert.ok(bytes.length < LONG.length / 10)
  assert.equal(JSON.parse(gunzipSync(bytes).toString()).filler, LONG)
})

test('short answers, files, HEAD and encodings that a client does not accept are not compressed', async () => {
  const plain: [string, Record<string, string>][] = [
    ['/v1/pods', { 'accept-encoding': 'identity' }],
    ['/v1/pods', { 'accept-encoding': 'gzip;q=0' }],
    ['/v1/pods/one', {}],
    ['/v1/messages/one/raw', {}],
    ['/v1/attachments/one/two.txt', {}],
  ]
  for (const [path, headers] of plain) {
    const answer = await get(path, headers)
    assert.equal(answer.statusCode, 200)
    assert.equal(
      answer.headers['content-encoding'],
      undefined,
      `${path} ${JSON.stringify(headers)}`,
    )
    await bytesOf(answer)
  }
  const head = await server.request('/v1/pods', { method: 'HEAD' })
  assert.equal(head.headers.get('content-encoding'), null)
})

test('an answer to a session of the console is never compressed', async () => {
  const { cookie } = GOOD_SESSION
  for (const path of ['/v1/pods', '/v1/inboxes/one/threads']) {
    const headers = { 'accept-encoding': 'gzip', cookie, 'sec-fetch-site': 'same-origin' }
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      httpRequest(`${server.address}${path}`, { headers }, resolve).on('error', reject).end()
    })
    assert.equal(answer.statusCode, 200)
    assert.equal(answer.headers['content-encoding'], undefined, path)
    answer.destroy()
  }
})

test('a client that does not read a compressed list stops reads of the store', async () => {
  const answer = await get('/v1/inboxes/one/threads')
  assert.equal(answer.headers['content-encoding'], 'gzip')
  answer.pause()
  // Reads of the store stop once all buffers are full; 3,000 items are some 190 MiB.
  let before = -1
  while (readItems !== before) {
    before = readItems
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  assert.ok(readItems > 0 && readItems < 1_500, `${readItems} items were read`)
  answer.destroy()
})

test('a list that fails before its first byte is a readable error', async () => {
  const answer = await get('/v1/events')
  assert.equal(answer.statusCode, 503)
  assert.equal(answer.headers['content-encoding'], undefined)
  assert.equal(JSON.parse((await bytesOf(answer)).toString()).error, 'service_unavailable')
})

test('the descriptions of the API are served in Brotli, gzip and uncompressed', async () => {
  for (const path of ['/openapi.json', '/docs', '/llms.txt', '/llms-full.txt']) {
    const whole = await bytesOf(await get(path, { 'accept-encoding': 'identity' }))
    const unpack = { br: brotliDecompressSync, gzip: gunzipSync }
    for (const accepted of ['br', 'gzip'] as const) {
      const answer = await get(path, { 'accept-encoding': accepted })
      assert.equal(answer.headers['content-encoding'], accepted, path)
      assert.equal(answer.headers.vary, 'accept-encoding')
      const bytes = await bytesOf(answer)
      assert.ok(bytes.length < whole.length / 2)
      assert.ok(unpack[accepted](bytes).equals(whole), path)
    }
  }
})
