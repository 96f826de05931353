import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { checkAssistants } from '#commands/doctor/check-assistants.ts'
import { onAnyEngine, opened, openWorld } from '#test/world.ts'

onAnyEngine('the doctor and assistants', (engine) => {
  const world = opened(() => openWorld(engine))
  const ask = (publicUrl: string | null) =>
    checkAssistants({ ...world.settings, publicUrl }, AbortSignal.timeout(5_000))

  /** A proxy in front of the service that breaks something. */
  async function askThrough(listener: RequestListener): Promise<string> {
    const server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const { verdict, found } = await ask(`http://127.0.0.1:${port}`)
    server.close()
    server.closeAllConnections()
    return `${verdict}: ${found}`
  }

  test('a service at its public URL is found as an assistant finds it', async () => {
    const { verdict, found } = await ask(world.baseUrl)
    assert.equal(verdict, 'ok', found)
  })

  test('without a public URL, or with one without https, the finding says who can connect', async () => {
    assert.equal((await ask(null)).verdict, 'not needed')
    const plain = await ask('http://mail.example.com')
    assert.deepEqual([plain.verdict, /not https/.test(plain.found)], ['advice', true])
  })

  test('a closed port is unknown, because the address may be reachable from elsewhere', async () => {
    const { verdict, fix } = await ask('http://127.0.0.1:9')
    assert.deepEqual([verdict, /on another machine/.test(fix ?? '')], ['unknown', true])
  })

  test('a proxy that drops the challenge, or answers for /.well-known/ itself, is named', async () => {
    assert.match(
      await askThrough((_request, response) => response.writeHead(401).end()),
      /^advice: .*\/mcp answers 401 without WWW-Authenticate/,
    )
    const other = await askThrough((request, response) => {
      const base = `http://${request.headers.host}`
      const challenge = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp", scope="mail:read mail:draft mail:send mail:organise"`
      if (request.url === '/mcp') response.writeHead(401, { 'www-authenticate': challenge })
      else response.writeHead(404)
      response.end()
    })
    assert.match(
      other,
      /^advice: .*oauth-protected-resource\/mcp answers 404 with resource missing/,
    )
  })
})
