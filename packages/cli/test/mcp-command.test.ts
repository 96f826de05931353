import assert from 'node:assert/strict'
import { test } from 'node:test'
import { opened } from '@mailroom/server/test/world.ts'
import { CliWorld } from '#test/cli-world.ts'

const world = opened(() => CliWorld.open())

const REQUESTS = [
  {
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list' },
]

async function toolsOf(args: string[], env: Record<string, string> = {}): Promise<string[]> {
  const running = world.start(['mcp', ...args], { env, isInputOpen: true })
  for (const request of REQUESTS) {
    running.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...request })}\n`)
  }
  await running.until(/"id":2\b.*\n|\n.*"id":2\b.*\n/)
  running.child.stdin.end()
  const { code, stdout, stderr } = await running.ended
  assert.equal(code, 0, stderr)
  const answers = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const { result } = answers.find(({ id }) => id === 2)
  return result.tools.map(({ name }: { name: string }) => name)
}

test('the tools are listed, and the command ends when the client disconnects', async () => {
  const tools = await toolsOf([])
  assert.ok(tools.includes('send_mail') && tools.includes('read_thread'), String(tools))
})

test('requests are answered before the command ends with its input', async () => {
  const calls = [1, 2, 3].map((id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'list_inboxes', arguments: {} },
  }))
  const input = calls.map((call) => `${JSON.stringify(call)}\n`).join('')
  const { code, stdout, stderr } = await world.run(['mcp'], { input })
  assert.equal(code, 0, stderr)
  const answers = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(answers.map(({ id }) => id).sort(), [1, 2, 3])
  for (const { result } of answers) assert.notEqual(result.isError, true)
})

test('the option and the setting each remove the tools that change anything', async () => {
  for (const tools of [
    await toolsOf(['--read-only']),
    await toolsOf([], { MAILROOM_MCP_READ_ONLY: 'true' }),
  ]) {
    assert.ok(!tools.includes('send_mail') && tools.includes('read_thread'), String(tools))
  }
})

test('a restriction that cannot be read is refused, not ignored', async () => {
  const unread = await world.run(['mcp'], { env: { MAILROOM_MCP_READ_ONLY: 'yes' } })
  assert.equal(unread.code, 2)
  assert.match(unread.stderr, /MAILROOM_MCP_READ_ONLY must be true or false/)
  const env = { MAILROOM_MCP_INBOX: 'inb_1' }
  assert.equal((await world.run(['mcp', '--inbox', 'inb_2'], { env })).code, 2)
})
