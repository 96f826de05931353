// The protocol's own client signs in by OAuth, in both eras of the protocol.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { opened, openWorld } from '@mailroom/server/test/world.ts'
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { consent, memoryProvider, type Provider } from '#test/oauth-provider.ts'

const LIMIT = { timeout: 60_000 }

for (const mode of ['auto', 'legacy'] as const) {
  suite(`a client without a key (${mode})`, () => {
    const world = opened(() => openWorld('sqlite'))
    const provider = memoryProvider()
    // The resource of the metadata has no query, and clients accept that.
    const url = () => new URL('/mcp?tools=core', world.baseUrl)

    async function connect(authProvider: Provider): Promise<Client> {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      await client.connect(new StreamableHTTPClientTransport(url(), { authProvider }))
      return client
    }

    /** The person allows what is asked, or only some verbs of it. */
    async function signIn(authProvider: Provider, scopes?: string[]): Promise<void> {
      await assert.rejects(connect(authProvider), UnauthorizedError)
      assert.ok(authProvider.asked !== null)
      const back = await consent(world, authProvider.asked, scopes)
      authProvider.asked = null
      await new StreamableHTTPClientTransport(url(), { authProvider }).finishAuth(back.searchParams)
    }

    test(
      'registers itself, sends the person to the consent page, and calls tools',
      LIMIT,
      async () => {
        await world.inbox('agent')
        await signIn(provider)
        const client = await connect(provider)
        const { content } = await client.callTool({ name: 'list_inboxes', arguments: {} })
        assert.match(JSON.stringify(content), /agent@/)
        await client.close()
        const { data } = await world.client.connections.list().page()
        assert.deepEqual(
          data.map(({ clientName, lastUsedAt }) => [clientName, lastUsedAt === null]),
          [['A client of the protocol', false]],
        )
      },
    )

    test('refreshes an expired token without the person', LIMIT, async () => {
      world.clock.advance(2 * 60 * 60_000)
      const client = await connect(provider)
      assert.ok((await client.listTools()).tools.length > 5)
      await client.close()
      assert.equal(provider.asked, null)
    })

    test(
      'gets the tools of the verbs that the person allowed, and can ask for more',
      LIMIT,
      async () => {
        const reader = memoryProvider()
        await signIn(reader, ['mail:read'])
        const client = await connect(reader)
        const names = (await client.listTools()).tools.map(({ name }) => name)
        assert.ok(names.includes('read_thread') && !names.includes('send_mail'), String(names))
        const sending = client.callTool({ name: 'send_mail', arguments: {} })
        await assert.rejects(sending, UnauthorizedError)
        assert.equal(reader.asked?.searchParams.get('scope'), 'mail:read mail:send')
        await client.close()
      },
    )

    test('asks the person again once the connection is revoked', LIMIT, async () => {
      for (const { id } of (await world.client.connections.list().page()).data) {
        await world.client.connections.delete(id)
      }
      await assert.rejects(connect(provider), UnauthorizedError)
      assert.ok(provider.asked !== null)
    })
  })
}
