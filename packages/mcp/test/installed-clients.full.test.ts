// Programs from the npm registry sign in by OAuth. TEST_MAILROOM_MCP_CLIENTS is a folder in which npm has installed
// them: mcp-remote, @modelcontextprotocol/sdk 1 and @modelcontextprotocol/inspector.

import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { opened, openWorld } from '@mailroom/server/test/world.ts'
import type * as Protocol from '@modelcontextprotocol/client'
import { consent, memoryProvider } from '#test/oauth-provider.ts'

const { TEST_MAILROOM_MCP_CLIENTS: folder } = process.env
const LIMIT = { timeout: 120_000, skip: folder === undefined && 'no clients are installed' }
/** A person is slower than the listener of a client, which starts after the URL is shown. */
const PERSON_MS = 3_000
const INSTALLED = join(folder ?? '.', 'node_modules')

suite('installed clients', () => {
  const world = opened(() => openWorld('sqlite'))
  const home = opened(async () => {
    const path = await mkdtemp(join(tmpdir(), 'mailroom-clients-'))
    return { path, close: () => rm(path, { recursive: true, force: true }) }
  })
  const environment = () => ({ PATH: '/usr/bin:/bin', HOME: home.path, BROWSER: 'none' })

  /** Waits for the URL in what the program prints, consents, and opens the address it leads to. */
  async function play(output: () => string): Promise<void> {
    const seen = () => /http:\/\/[\d.:]+\/oauth\/authorize\?[^\s\p{Cc}]+/u.exec(output())?.[0]
    while (seen() === undefined) await sleep(50)
    await sleep(PERSON_MS)
    const back = await consent(world, seen() ?? '')
    assert.equal((await fetch(back)).status, 200)
  }

  function collect(child: ChildProcessWithoutNullStreams) {
    const texts = { out: '', err: '' }
    child.stdout.setEncoding('utf8').on('data', (text) => {
      texts.out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      texts.err += text
    })
    return texts
  }

  test('mcp-remote without a header asks once, and never again', LIMIT, async () => {
    const main = join(INSTALLED, '.bin/mcp-remote')
    for (const isFirst of [true, false]) {
      const child = spawn(process.execPath, [main, `${world.baseUrl}/mcp`], { env: environment() })
      try {
        const texts = collect(child)
        const say = (message: object) =>
          child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
        const clientInfo = { name: 'test', version: '1' }
        const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
        say({ id: 1, method: 'initialize', params })
        if (isFirst) await play(() => texts.err)
        while (!texts.out.includes('"id":1')) await sleep(50)
        say({ method: 'notifications/initialized' })
        say({ id: 2, method: 'tools/list' })
        while (!texts.out.includes('"id":2')) await sleep(50)
        assert.match(texts.out, /"read_thread"/)
        assert.equal(/oauth\/authorize\?/.test(texts.err), isFirst)
      } finally {
        child.kill()
      }
    }
  })

  test('the SDK of the first era signs in with a provider', LIMIT, async () => {
    const load = async (path: string) =>
      (await import(
        pathToFileURL(join(INSTALLED, '@modelcontextprotocol/sdk/dist/esm/client', path)).href
      )) as typeof Protocol
    const { Client } = await load('index.js')
    const { StreamableHTTPClientTransport } = await load('streamableHttp.js')
    const url = new URL('/mcp', world.baseUrl)
    const authProvider = memoryProvider()
    const transport = new StreamableHTTPClientTransport(url, { authProvider })
    await assert.rejects(new Client({ name: 'test', version: '1' }).connect(transport), /Unauthor/)
    const back = await consent(world, authProvider.asked ?? '')
    await transport.finishAuth(back.searchParams.get('code') ?? '')
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider }))
    assert.ok((await client.listTools()).tools.some(({ name }) => name === 'read_thread'))
    await client.close()
  })

  test('the inspector signs in on a terminal', LIMIT, async () => {
    const main = join(INSTALLED, '.bin/mcp-inspector')
    const words = [
      process.execPath,
      main,
      '--cli',
      `${world.baseUrl}/mcp`,
      '--method',
      'tools/list',
    ]
    // It refuses to sign in without a terminal, which `script` gives it.
    const child = spawn('script', ['-qec', words.join(' '), '/dev/null'], { env: environment() })
    try {
      const texts = collect(child)
      await play(() => texts.out)
      while (!texts.out.includes('"read_thread"') && child.exitCode === null) await sleep(50)
      assert.match(texts.out, /"read_thread"/)
    } finally {
      child.kill()
    }
  })
})
