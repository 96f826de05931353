import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Mailroom, MailroomConnectionError, MailroomError } from '@mailroom/sdk/client.ts'
import type { MailroomOptions } from '@mailroom/sdk/transport.ts'
import { openPeer, type Peer, type Step } from './peer.ts'

type Run = (client: Mailroom, peer: Peer) => Promise<void>

async function withPeer(steps: Step[], run: Run, options: Partial<MailroomOptions> = {}) {
  await using peer = await openPeer(...steps)
  await run(new Mailroom({ baseUrl: peer.baseUrl, apiKey: 'key', ...options }), peer)
}

const refused = (status: number, headers: Record<string, string> = {}): Step => ({
  status,
  headers,
  body: { error: status === 429 ? 'rate_limit_exceeded' : 'internal_error', message: 'No.' },
})
const created: Step = { status: 201, body: { id: 'pod_1' } }

for (const status of [429, 500, 503]) {
  test(`a POST that the service answered with ${status} is repeated with the same body`, async () => {
    await withPeer([refused(status), created], async (client, peer) => {
      assert.deepEqual(await client.pods.create({ name: 'a' }), { id: 'pod_1' })
      assert.deepEqual(
        peer.requests.map(({ method, url, body }) => [method, url, body]),
        Array(2).fill(['POST', '/v1/pods', '{"name":"a"}']),
      )
    })
  })
}

test('a failed test of a webhook is returned as a result, and not repeated', async () => {
  const failed: Step = { status: 502, body: { error: 'webhook_failed', message: 'No.' } }
  const calls: ((client: Mailroom) => Promise<unknown>)[] = [
    (client) => client.webhooks.test('whk_1'),
    (client) => client.inboxes.testWebhook('inb_1'),
  ]
  for (const call of calls) {
    await withPeer([failed, {}], async (client, peer) => {
      await assert.rejects(call(client), { status: 502, code: 'webhook_failed' })
      assert.equal(peer.requests.length, 1)
    })
  }
})

test('a POST that a gateway answered with 502 is not repeated, a GET is', async () => {
  // Responses of a gateway have no request id.
  const peer = await openPeer()
  const answers = [new Response('Bad gateway', { status: 502 }), Response.json({ id: 'pod_1' })]
  let requests = 0
  const gateway = async () => answers[requests++ % 2] ?? Response.error()
  const client = new Mailroom({ baseUrl: peer.baseUrl, apiKey: 'key', fetch: gateway })
  await assert.rejects(client.pods.create(), { status: 502, code: 'service_unavailable' })
  assert.equal(requests, 1)
  requests = 0
  answers[0] = new Response('Bad gateway', { status: 502 })
  answers[1] = Response.json({ id: 'pod_1' })
  await client.pods.get('pod_1')
  assert.equal(requests, 2)
  await peer.close()
})

test('GET, PATCH and DELETE are repeated after a broken connection', async () => {
  const calls: ((client: Mailroom) => Promise<unknown>)[] = [
    (client) => client.pods.get('a'),
    (client) => client.pods.update('a', {}),
    (client) => client.pods.delete('a'),
  ]
  for (const call of calls) {
    await withPeer(['hang-up', {}], async (client, peer) => {
      await call(client)
      assert.equal(peer.requests.length, 2)
    })
  }
})

test('a POST whose connection broke is not repeated, because it may have been carried out', async () => {
  await withPeer(['hang-up', created], async (client, peer) => {
    await assert.rejects(client.pods.create(), (error) => {
      assert.ok(error instanceof MailroomConnectionError)
      assert.ok(error.cause instanceof Error)
      return true
    })
    assert.equal(peer.requests.length, 1)
  })
})

test('a request that the caller got wrong is not repeated', async () => {
  const body = {
    error: 'bad_request',
    message: 'The field "name" must be a string.',
    requestId: 'req_9',
    fix: 'Correct it.',
    details: [{ path: 'name', message: 'must be a string' }],
  }
  await withPeer([{ status: 400, body }], async (client, peer) => {
    await assert.rejects(client.pods.create(), (error) => {
      assert.ok(error instanceof MailroomError)
      assert.equal(error.status, 400)
      assert.equal(error.code, 'bad_request')
      assert.equal(error.message, body.message)
      assert.equal(error.requestId, 'req_9')
      assert.equal(error.fix, 'Correct it.')
      assert.deepEqual(error.details, body.details)
      assert.equal(error.retryAfterSeconds, null)
      assert.deepEqual(error.body, body)
      return true
    })
    assert.equal(peer.requests.length, 1)
  })
})

test('a retry waits for Retry-After', async () => {
  await withPeer([refused(429, { 'retry-after': '1' }), {}], async (client) => {
    const startMs = performance.now()
    await client.pods.get('a')
    const tookMs = performance.now() - startMs
    assert.ok(tookMs >= 990 && tookMs < 30_000, `${tookMs} ms`)
  })
})

test('a Retry-After of hours is passed on to the caller', async () => {
  await withPeer([refused(429, { 'retry-after': '7200' })], async (client, peer) => {
    await assert.rejects(client.pods.get('a'), { retryAfterSeconds: 7_200, status: 429 })
    assert.equal(peer.requests.length, 1)
  })
})

test('after the last retry the last refusal is thrown', async () => {
  await withPeer(
    [refused(500)],
    async (client, peer) => {
      await assert.rejects(client.pods.get('a'), { status: 500 })
      assert.equal(peer.requests.length, 3)
      await assert.rejects(client.pods.get('a', { maxRetries: 0 }), { status: 500 })
      assert.equal(peer.requests.length, 4)
    },
    { maxRetries: 2 },
  )
})

test('a request to a silent service ends at its timeout', async () => {
  await withPeer(
    ['wait'],
    async (client) => {
      await assert.rejects(client.pods.get('a', { timeoutMs: 50 }), {
        name: 'MailroomTimeoutError',
        message: 'The service did not respond within 50 ms.',
      })
    },
    { maxRetries: 0 },
  )
})

test('the caller’s signal ends a request, and the wait between two', async () => {
  const reason = new Error('enough')
  for (const step of ['wait', refused(429, { 'retry-after': '30' })] as const) {
    await withPeer([step], async (client, peer) => {
      const controller = new AbortController()
      const call = client.pods.get('a', { signal: controller.signal })
      while (peer.requests.length === 0) await new Promise(setImmediate)
      setTimeout(() => controller.abort(reason), 50)
      await assert.rejects(call, reason)
      assert.equal(peer.requests.length, 1)
    })
  }
})

test('a signal that was already aborted keeps the request from being sent', async () => {
  await withPeer([{}], async (client, peer) => {
    await assert.rejects(client.pods.get('a', { signal: AbortSignal.abort(new Error('no')) }), {
      message: 'no',
    })
    assert.equal(peer.requests.length, 0)
  })
})

test('a response that is no JSON is an error', async () => {
  const fetchPage = async () => new Response('<html>')
  const client = new Mailroom({ baseUrl: 'http://a.example', apiKey: 'k', fetch: fetchPage })
  await assert.rejects(client.pods.get('a'), MailroomConnectionError)
})
