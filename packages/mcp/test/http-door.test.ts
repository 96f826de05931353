import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { OPERATOR_TOKEN, opened, openTenant, openWorld } from '@mailroom/server/test/world.ts'
import { connect, type Tools } from './mcp-world.ts'

const LIMIT = { timeout: 30_000 }
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

suite('the MCP endpoint', () => {
  const world = opened(() => openTenant('sqlite'))
  before(async () => {
    await world.inbox('agent')
  })

  function post(
    body: unknown,
    headers: Record<string, string> = {},
    path = '/mcp',
  ): Promise<Response> {
    return fetch(`${world.baseUrl}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${world.key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  }

  const errorOf = async (response: Response) => {
    const body = (await response.json()) as { error: string | { message: string } }
    return `${response.status} ${typeof body.error === 'string' ? body.error : body.error.message}`
  }

  test('asks clients without a valid key for one', LIMIT, async () => {
    for (const authorization of ['', 'Bearer mr_wrong', `Bearer ${OPERATOR_TOKEN}`, 'Basic YTpi']) {
      const response = await post(LIST, { authorization })
      assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer/)
      assert.equal(await errorOf(response), '401 unauthorized')
    }
    await assert.rejects(connect('http', world.baseUrl, 'mr_wrong'))
  })

  test('does not accept a console session instead of a key', LIMIT, async () => {
    const signedIn = await fetch(`${world.baseUrl}/auth/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiKey: world.key }),
    })
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    assert.match(cookie, /^mailroom_session=./)
    const { csrfToken } = (await signedIn.json()) as { csrfToken: string }
    const response = await fetch(`${world.baseUrl}/mcp`, {
      method: 'POST',
      headers: { cookie, 'x-csrf-token': csrfToken, 'content-type': 'application/json' },
      body: JSON.stringify(LIST),
    })
    assert.equal(await errorOf(response), '401 unauthorized')
  })

  test('refuses pages of other origins, including those with DNS rebinding', LIMIT, async () => {
    const rebound = 'evil.example'
    for (const origin of [`http://${rebound}`, `http://${rebound}:8080`, 'null', 'file://']) {
      assert.match(await errorOf(await post(LIST, { origin })), /^403 /, origin)
    }
    assert.equal((await post(LIST, { origin: world.baseUrl })).status, 200)
    assert.equal((await post(LIST, { origin: 'http://localhost:6274' })).status, 200)
  })

  test('reads only JSON, of at most 4 MiB', LIMIT, async () => {
    assert.equal(await errorOf(await post('{')), '400 bad_request')
    assert.equal(await errorOf(await post('{"id":1,"id":2}')), '400 bad_request')
    const text = { 'content-type': 'text/plain' }
    assert.equal(await errorOf(await post(LIST, text)), '415 unsupported_media_type')
    const large = JSON.stringify({ ...LIST, params: { x: 'x'.repeat(4 * 1024 * 1024) } })
    assert.equal(await errorOf(await post(large)), '413 payload_too_large')
    const fitting = JSON.stringify({ ...LIST, params: { x: 'x'.repeat(3 * 1024 * 1024) } })
    assert.equal((await post(fitting)).status, 200)
  })

  test('refuses a restriction that it does not understand', LIMIT, async () => {
    for (const query of ['readonly=true', 'read_only=maybe', 'inbox=']) {
      assert.equal(await errorOf(await post(LIST, {}, `/mcp?${query}`)), '400 bad_request', query)
    }
  })

  test('supports only POST', LIMIT, async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const response = await world.fetch('/mcp', { method })
      assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST'], method)
    }
    assert.equal((await world.fetch('/mcp/x', { method: 'POST' })).status, 404)
  })

  test('answers messages that are no tool calls', LIMIT, async () => {
    assert.equal((await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202)
    assert.match(await (await post({ ...LIST, method: 'nothing/here' })).text(), /-32601/)
    assert.match(await (await post('[]')).text(), /error/)
    assert.match(await (await post('7')).text(), /error/)
    const unknown = { ...LIST, method: 'tools/call', params: { name: 'no_tool' } }
    assert.match(await (await post(unknown)).text(), /Tool no_tool not found/)
  })

  test('gives the tools of one account no data of another', LIMIT, async () => {
    const { key, client } = await world.newAccount()
    const inbox = await client.inboxes.create({ mailboxName: 'stranger' })
    const { threadId } = await client.inboxes.send(inbox.id, {
      to: 'ann@firm.example',
      subject: 'Secret',
      body: 'Hidden',
    })
    const tools = await connect('http', world.baseUrl, world.key)
    const others = await connect('http', world.baseUrl, key)
    try {
      assert.match(await tools.refusal('read_thread', { thread_id: threadId }), /^No thread/)
      assert.match(await others.call('read_thread', { thread_id: threadId }), /Hidden/)
      assert.doesNotMatch(await tools.call('list_inboxes'), /stranger/)
      assert.match(await tools.refusal('list_sent', { inbox: inbox.address }), /^No inbox/)
    } finally {
      await Promise.all([tools.close(), others.close()])
    }
  })

  test(
    'tells a model how to continue when its key is revoked during a session',
    LIMIT,
    async () => {
      const { token, id } = await world.client.apiKeys.create()
      const tools: Tools = await connect('http', world.baseUrl, token)
      try {
        await tools.call('list_inboxes')
        await world.client.apiKeys.delete(id)
        await assert.rejects(tools.result('list_inboxes'), /401|[Uu]nauthorized/)
      } finally {
        await tools.close()
      }
      await using stdio = await connect('stdio', world.baseUrl, 'mr_wrong')
      assert.match(await stdio.refusal('list_inboxes'), /refused the API key.*Tell the person/)
    },
  )

  test('a tool says when it cannot reach its service', LIMIT, async () => {
    await using stdio = await connect('stdio', 'http://127.0.0.1:9', world.key)
    assert.match(await stdio.refusal('list_inboxes'), /could not be reached.*call again/)
  })
})

suite('the limit of requests', () => {
  test(
    'counts messages to the endpoint, each of a batch, and the requests of their tools',
    LIMIT,
    async () => {
      await using world = await openWorld('sqlite', {
        env: { MAILROOM_LIMIT_API_PER_MINUTE: '30' },
      })
      const remaining = async () => {
        const response = await world.fetch('/v1/inboxes')
        return Number(response.headers.get('ratelimit-remaining'))
      }
      const start = await remaining()
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      }
      const call = {
        ...LIST,
        method: 'tools/call',
        params: { name: 'list_inboxes', arguments: {} },
      }
      const send = (body: unknown) =>
        world.fetch('/mcp', { method: 'POST', headers, body: JSON.stringify(body) })
      await (await send(call)).text()
      assert.equal(await remaining(), start - 3)
      await (await send([LIST, { ...LIST, id: 2 }, { ...LIST, id: 3 }])).text()
      assert.equal(await remaining(), start - 7)
      const statuses: number[] = []
      for (let count = 0; count < 30; count += 1) {
        const response = await send(call)
        statuses.push(response.status)
        const text = await response.text()
        if (response.status === 200 && text.includes('isError')) {
          assert.match(text, /requests a minute.*Wait \d+ seconds/)
        }
      }
      assert.equal(statuses.at(-1), 429)
    },
  )
})
