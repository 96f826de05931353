import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { RequestPorts } from '#api/routes.ts'
import { errorOf, openTestServer, type TestServerOptions } from '#test/http/test-server.ts'
import { exchange } from '#test/http/wire.ts'

const PATH = '/v1/inboxes/inb_1/send'
const JSON_TYPE = { 'content-type': 'application/json' }
const good = { to: 'ann@example.com', subject: 'A subject', body: 'A body.' }

type Asked = Parameters<RequestPorts['findReplay']>[0]
let asked: Asked[] = []
let sent: { idempotencyKey: string; requestHash: Uint8Array }[] = []
beforeEach(() => {
  asked = []
  sent = []
})

type SendingServer = Awaited<ReturnType<typeof openSendingServer>>

/** A server that records idempotent lookups and sends. */
async function openSendingServer(options: TestServerOptions = {}) {
  const server = await openTestServer({
    ...options,
    ports: {
      findReplay: async (question) => {
        asked.push(question)
        return null
      },
      ...options.ports,
    },
    answers: {
      'inboxes.send': (_input, { idempotencyKey, requestHash }) => {
        sent.push({ idempotencyKey, requestHash })
        return { isReplay: false, body: { messageId: 'msg_1' } as never }
      },
      ...options.answers,
    },
  })
  const send = (body: RequestInit['body'], headers: Record<string, string> = {}, path = PATH) =>
    server.request(path, { method: 'POST', body, headers: { 'idempotency-key': 'k', ...headers } })
  return { ...server, send }
}

const sendJson = (server: SendingServer, body: object, headers = {}) =>
  server.send(JSON.stringify(body), { ...JSON_TYPE, ...headers })

async function codeOf(response: Response): Promise<string> {
  return `${response.status} ${(await errorOf(response)).error}`
}

test('a send without a key is refused before its body is checked', async () => {
  await using server = await openSendingServer()
  for (const body of ['{}', '{"to":', 'x'.repeat(2_000_000)]) {
    for (const headers of [{}, { 'idempotency-key': '' }, { 'idempotency-key': '  ' }]) {
      const init = { method: 'POST', body, headers: { ...JSON_TYPE, ...headers } }
      assert.equal(await codeOf(await server.request(PATH, init)), '400 missing_idempotency_key')
    }
  }
  assert.deepEqual([asked, sent], [[], []])
})

test('a key has 1 to 255 printable characters and is given once', async () => {
  await using server = await openSendingServer()
  for (const key of ['a', 'a'.repeat(255), 'a b', '"quoted"', "!#$%&'*+,;=~"]) {
    assert.equal((await sendJson(server, good, { 'idempotency-key': key })).status, 200, key)
    assert.equal(sent.at(-1)?.idempotencyKey, key)
  }
  for (const key of ['a'.repeat(256), 'a'.repeat(10_000), 'a\tb', 'caf\xe9', 'a\x80']) {
    const response = await sendJson(server, good, { 'idempotency-key': key })
    const { error, details } = await errorOf(response)
    assert.deepEqual([response.status, error], [400, 'bad_request'], key)
    assert.equal((details as { path: string }[])[0]?.path, 'Idempotency-Key')
  }
  assert.equal(asked.length, 5)
  const head = `POST ${PATH} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer mr_good0000000000000000000000000000000000000\r\n`
  const twice = 'Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 0\r\n\r\n'
  const { status, body } = await exchange(server.port, head + twice)
  assert.equal(status, 400)
  assert.match(body, /must occur only once/)
})

test('an earlier answer is returned before the body is checked, and is marked as one', async () => {
  const ports = { findReplay: async () => ({ messageId: 'msg_earlier' }) }
  await using server = await openSendingServer({ ports })
  for (const body of [good, { nonsense: true }]) {
    const response = await sendJson(server, body)
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('idempotency-replayed'), 'true')
    assert.deepEqual(await response.json(), { messageId: 'msg_earlier' })
  }
  assert.deepEqual(sent, [])
  assert.equal(await codeOf(await server.send('{"to":', JSON_TYPE)), '400 bad_request')
  assert.equal(await codeOf(await server.send(undefined)), '400 bad_request')
})

async function hashOf(server: SendingServer, body: RequestInit['body'], type = {}, path = PATH) {
  asked = []
  await (await server.send(body, type, path)).arrayBuffer()
  return Buffer.from(asked[0]?.requestHash ?? []).toString('hex')
}

function formOf(fields: [string, string | File][]): FormData {
  const form = new FormData()
  for (const [name, value] of fields) form.append(name, value)
  return form
}

test('the same request in another spelling is the same, even as a form', async () => {
  await using server = await openSendingServer()
  const attachments = [{ filename: 'a.bin', contentType: 'image/png', data: 'AAEC/w==' }]
  const body = { ...good, cc: ['b@c.example'], includeQuote: false, attachments }
  const plain = await hashOf(server, JSON.stringify(body), JSON_TYPE)
  const reversed = Object.fromEntries(Object.entries(body).reverse())
  const spaced = JSON.stringify(reversed, null, 2).replace('A subject', '\\u0041 subject')
  assert.equal(await hashOf(server, spaced, JSON_TYPE), plain)
  const file = new File([new Uint8Array([0, 1, 2, 255])], 'a.bin', { type: 'image/png' })
  const form = formOf([
    ['includeQuote', 'false'],
    ['attachments', file],
    ['cc', 'b@c.example'],
    ...Object.entries(good),
  ])
  assert.equal(await hashOf(server, form), plain)
})

test('an explicit default equals a missing field', async () => {
  await using server = await openSendingServer()
  const plain = await hashOf(server, JSON.stringify(good), JSON_TYPE)
  const lists = { cc: [], attachments: [] }
  const written = { ...good, ...lists, includeQuote: true, bodyHtml: '', unsubscribe: false }
  assert.equal(await hashOf(server, JSON.stringify(written), JSON_TYPE), plain)
  const nulls = { ...good, cc: null, replyTo: null, threadId: null, includeQuote: null }
  assert.equal(await hashOf(server, JSON.stringify(nulls), JSON_TYPE), plain)
  const form = formOf([
    ...Object.entries(good),
    ['includeQuote', 'true'],
    ['unsubscribe', 'false'],
    ['cc', ''],
    ['attachments', new File([], '')],
  ])
  assert.equal(await hashOf(server, form), plain)
})

test('different requests have different hashes', async () => {
  await using server = await openSendingServer()
  const hashes = new Set<string>()
  const bodies = [
    good,
    { ...good, body: 'A body' },
    { ...good, subject: 'A subjectA', body: ' body.' },
    // Without the lengths of texts these would be equal.
    { ...good, body: 'a', subject: 'bksubjectsc' },
    { ...good, body: 'aksubjectsb', subject: 'c' },
    { ...good, includeQuote: false },
    { ...good, unsubscribe: true },
    { ...good, includeQuote: 'true' },
    { ...good, cc: ['a@b.example'] },
    { ...good, cc: ['a@b.example', 'c@d.example'] },
    { ...good, cc: ['c@d.example', 'a@b.example'] },
    { ...good, cc: 'a@b.example' },
    { ...good, cc: 'null' },
    { ...good, cc: 1 },
    { ...good, cc: '1' },
    { ...good, attachments: [{ filename: 'a', contentType: 'b/c', data: 'AA==' }] },
    { ...good, attachments: [{ filename: 'a', contentType: 'b/c', data: 'AQ==' }] },
    [],
    {},
    null,
  ]
  for (const body of bodies) hashes.add(await hashOf(server, JSON.stringify(body), JSON_TYPE))
  hashes.add(await hashOf(server, JSON.stringify(good), JSON_TYPE, '/v1/inboxes/inb_2/send'))
  assert.equal(hashes.size, bodies.length + 1)
})
