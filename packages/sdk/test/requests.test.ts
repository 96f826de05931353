import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  Mailroom,
  MailroomConnectionError,
  MailroomError,
  MailroomTimeoutError,
  type ReceivedResponse,
  type SentRequest,
} from '@mailroom/sdk'
import { VERSION } from '@mailroom/sdk/user-agent.ts'
import { openPeer } from './peer.ts'

const HERE = { baseUrl: 'http://a.example', apiKey: 'mr_key' }

/** Runs `read` with these variables in the environment. */
function withEnvironment<Result>(
  variables: Record<string, string | undefined>,
  read: () => Result,
): Result {
  const before = { ...process.env }
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
  try {
    return read()
  } finally {
    for (const name of Object.keys(variables)) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  }
}

const NONE = { MAILROOM_BASE_URL: undefined, MAILROOM_API_KEY: undefined }

test('a client without options takes the URL and the key from the environment', async () => {
  await using peer = await openPeer({ body: { id: 'acc_1' } })
  const client = withEnvironment(
    { MAILROOM_BASE_URL: peer.baseUrl, MAILROOM_API_KEY: 'mr_env' },
    () => new Mailroom(),
  )
  await client.account.get()
  assert.equal(peer.requests[0]?.headers.authorization, 'Bearer mr_env')
})

test('a missing or wrong URL is refused at once with what to do', () => {
  const refused = (baseUrl: string | undefined, message: RegExp, env: object = {}) =>
    withEnvironment({ ...NONE, ...env }, () =>
      assert.throws(() => new Mailroom({ ...HERE, baseUrl }), { name: 'TypeError', message }),
    )
  refused(undefined, /^The URL of the service is missing\. Set .*MAILROOM_BASE_URL or the option/)
  refused('', /^baseUrl is empty\. Set/)
  refused('localhost:8080', /but is "localhost:8080"\. Did you mean http:\/\/localhost:8080\?$/)
  refused('127.0.0.1:8080', /Did you mean http:\/\/127\.0\.0\.1:8080\?$/)
  refused('mail.example.com', /Did you mean https:\/\/mail\.example\.com\?$/)
  refused('ftp://mail.example.com', /Only http and https are possible\.$/)
  refused('https://', /^baseUrl is not a URL/)
  refused('https://me:secret@mail.example.com', /^baseUrl must not contain a user name or password/)
  refused('https://mail.example.com/?a=b', /must not contain "\?" or "#"/)
  refused(undefined, /^MAILROOM_BASE_URL must begin with http/, { MAILROOM_BASE_URL: 'localhost' })
})

test('a missing or wrong key is refused at once, and never repeated', () => {
  const refused = (apiKey: string | undefined, message: RegExp) =>
    withEnvironment(NONE, () =>
      assert.throws(
        () => new Mailroom({ ...HERE, apiKey }),
        (error: Error) => {
          assert.match(error.message, message)
          assert.doesNotMatch(error.message, /mr_secret/)
          return true
        },
      ),
    )
  refused(undefined, /^The API key is missing\. Set .*MAILROOM_API_KEY or the option apiKey\.$/)
  refused('', /^apiKey is empty\. Set/)
  refused('mr_secret\n', /^apiKey contains a space, a line break/)
  refused('mr_secretü', /^apiKey contains/)
})

test('a request names the client and its runtime', async () => {
  await using peer = await openPeer({})
  await new Mailroom({ ...HERE, baseUrl: peer.baseUrl }).account.get()
  const expected = `mailroom-sdk/${VERSION} node/${process.versions.node}`
  assert.equal(peer.requests[0]?.headers['user-agent'], expected)
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  assert.equal(VERSION, JSON.parse(manifest).version)
})

test('a result has its response, too', async () => {
  await using peer = await openPeer(
    { headers: { 'ratelimit-remaining': '99' }, body: { id: 'inb_1' } },
    { status: 404, body: { error: 'not_found', message: 'No.' } },
  )
  const client = new Mailroom({ ...HERE, baseUrl: peer.baseUrl })
  const { data, response } = await client.inboxes.get('inb_1').withResponse()
  assert.deepEqual([data.id, response.status, response.requestId], ['inb_1', 200, 'req_1'])
  assert.equal(response.headers.get('ratelimit-remaining'), '99')
  await assert.rejects(client.inboxes.get('inb_2').withResponse(), MailroomError)
  await assert.rejects(client.inboxes.get('inb_2'), MailroomError)
})

test('hooks see each attempt, without the secrets, and can add fields', async () => {
  await using peer = await openPeer({ status: 503, body: {} }, { body: { id: 'inb_1' } })
  const sent: SentRequest[] = []
  const received: ReceivedResponse[] = []
  const client = new Mailroom({
    ...{ ...HERE, baseUrl: peer.baseUrl, leaseToken: 'lease_secret' },
    onRequest: (request) => {
      sent.push({ ...request, headers: new Headers(request.headers) })
      request.headers.set('traceparent', '00-1')
    },
    onResponse: (response) => received.push(response),
  })
  await client.inboxes.get('inb_1')
  assert.deepEqual(
    sent.map(({ operation, method, attempt }) => [operation, method, attempt]),
    [
      ['inboxes.get', 'GET', 1],
      ['inboxes.get', 'GET', 2],
    ],
  )
  assert.deepEqual(
    received.map(({ status, requestId, attempt }) => [status, requestId, attempt]),
    [
      [503, 'req_1', 1],
      [200, 'req_1', 2],
    ],
  )
  assert.ok(received.every(({ durationMs, url }) => durationMs > 0 && url.endsWith('/inb_1')))
  for (const { headers } of sent)
    assert.doesNotMatch(JSON.stringify([...headers]), /mr_key|lease_s/)
  for (const { headers } of peer.requests) {
    assert.deepEqual([headers.traceparent, headers.authorization], ['00-1', 'Bearer mr_key'])
  }
})

test('an attempt without a response is reported with its error', async () => {
  await using peer = await openPeer('hang-up')
  const received: ReceivedResponse[] = []
  const onResponse = (response: ReceivedResponse) => received.push(response)
  const client = new Mailroom({ ...HERE, baseUrl: peer.baseUrl, maxRetries: 0, onResponse })
  await assert.rejects(client.account.get(), (error) => {
    assert.ok(error instanceof MailroomConnectionError && !(error instanceof MailroomTimeoutError))
    assert.ok(error.message.includes(peer.baseUrl))
    return true
  })
  assert.deepEqual([received[0]?.status, received[0]?.error instanceof Error], [null, true])
})

test('a time-out has a class of its own, which is a connection error', async () => {
  await using peer = await openPeer('wait')
  const client = new Mailroom({ ...HERE, baseUrl: peer.baseUrl, maxRetries: 0, timeoutMs: 20 })
  await assert.rejects(client.account.get(), (error) => {
    assert.ok(error instanceof MailroomTimeoutError && error instanceof MailroomConnectionError)
    assert.equal(error.name, 'MailroomTimeoutError')
    assert.match(error.message, /within 20 ms/)
    return true
  })
})

test('options are in camelCase, and the spelling of the API still works', async () => {
  await using peer = await openPeer({ body: { data: [], total: 0 } })
  const client = new Mailroom({ ...HERE, baseUrl: peer.baseUrl })
  await client.threads.list('inb_1', { isRead: false, hasAttachment: true })
  await client.threads.list('inb_1', { is_read: false })
  await client.events.list({ eventTypes: 'message.sent', inboxId: 'inb_1' })
  await client.inboxes.wait('inb_1', { threadId: 'thr_1', timeout: 1 })
  assert.deepEqual(
    peer.requests.map(({ url }) => url.replace(/^.*\?/, '')),
    [
      'isRead=false&hasAttachment=true',
      'is_read=false',
      'eventTypes=message.sent&inboxId=inb_1',
      'threadId=thr_1&timeout=1',
    ],
  )
})
