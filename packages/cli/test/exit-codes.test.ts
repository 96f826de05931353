import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, test } from 'node:test'
import { opened } from '@mailroom/server/test/world.ts'
import { CliWorld, KEY } from '#test/cli-world.ts'

const world = opened(() => CliWorld.open())
before(async () => {
  await world.client.inboxes.create()
})

test('wrong usage ends with 2 and names the help to read', async () => {
  const wrong = [
    ['no-such-command'],
    ['inbox'],
    ['inbox', 'list', '--no-such-option'],
    ['inbox', 'get'],
    ['inbox', 'list', '--limit', 'many'],
    ['messages', 'list', '--direction', 'sideways'],
    ['wait', '--timeout', 'long'],
    ['listen', '--events', 'message.read'],
    ['completion', 'tcsh'],
    ['api', 'no.such'],
    ['status', '--url', 'ftp://x'],
    ['status', '--url', 'http://somebody:secret@127.0.0.1'],
    ['listen', '--forward', 'http://somebody:secret@127.0.0.1'],
  ]
  for (const args of wrong) {
    const { code, stdout, stderr } = await world.run(args)
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`)
    assert.equal(stdout, '')
    assert.doesNotMatch(stderr, /^ {4}at |secret/m)
    assert.notEqual(stderr, '')
  }
})

test('an unknown command lists the existing ones, or suggests the most similar one', async () => {
  const bogus = await world.run(['bogus'])
  assert.equal(bogus.code, 2)
  assert.match(
    bogus.stderr,
    /^mailroom: unknown command 'bogus'\nCommands: inbox, use, send, .*admin/,
  )
  assert.doesNotMatch(bogus.stderr, /Did you mean/)
  const near = await world.run(['lgoout'])
  assert.match(near.stderr, /unknown command 'lgoout'\n\(Did you mean logout\?\)/)
  const below = await world.run(['inbox', 'lst'])
  assert.match(below.stderr, /unknown command 'lst'\n\(Did you mean list\?\)/)
})

test("options of all commands may stand before or after the command's name", async () => {
  const other = { MAILROOM_BASE_URL: 'http://127.0.0.1:9' }
  const url = ['--url', world.baseUrl]
  for (const args of [
    [...url, '--json', '--no-color', 'inbox', 'list'],
    ['inbox', ...url, '--json', '--no-color', 'list'],
    ['inbox', 'list', ...url, '--json', '--no-color'],
    [...url, 'inbox', '--no-color', 'list', '--json'],
    ['--url', 'http://127.0.0.1:9', 'inbox', 'list', ...url, '--json'],
  ]) {
    const { code, stdout, stderr } = await world.run(args, { env: other })
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    assert.equal(JSON.parse(stdout).total, 1)
  }
  for (const args of [
    ['completion', 'bash'],
    ['admin', 'dkim', 'list', '--help'],
    ['admin', 'doctor', '--help'],
  ]) {
    for (const all of [
      ['--no-color', ...args],
      [...args, '--no-color'],
    ]) {
      assert.equal((await world.run(all)).code, 0, all.join(' '))
    }
  }
  const { code, stderr } = await world.run(['--url', 'http://127.0.0.1:9', 'completion', 'bash'])
  assert.equal(code, 2)
  assert.match(stderr, /"completion" has no option --url/)
})

test('without a key a command ends with 3 and says where the first key was printed', async () => {
  for (const args of [['inbox', 'list'], ['status'], ['mcp'], ['listen']]) {
    const { code, stderr } = await world.run(args, { isSignedOut: true })
    assert.equal(code, 3, stderr)
    assert.match(stderr, /mailroom login/)
    assert.match(stderr, /first start of a service prints its key once/)
  }
  const env = { MAILROOM_API_KEY: 'mr_wrong' }
  const { code, stderr } = await world.run(['inbox', 'list'], { env })
  assert.equal(code, 3)
  assert.match(
    stderr,
    /\(unauthorized\)\n[\s\S]*is from MAILROOM_API_KEY[\s\S]*mailroom login[\s\S]*\n {2}Request req_/,
  )
  assert.ok(!stderr.includes('mr_wrong'))
})

test('not found ends with 4, refused with 5, each with the id of the request', async () => {
  const missing = await world.run(['messages', 'get', 'msg_none'])
  assert.equal(missing.code, 4)
  assert.match(missing.stderr, /\(not_found\)\n[\s\S]*Request req_/)
  assert.equal((await world.run(['inbox', 'get', 'nobody@mailroom.localhost'])).code, 4)
  const refused = await world.run(['inbox', 'create', 'UPPER'])
  assert.equal(refused.code, 5)
  assert.match(refused.stderr, /\(invalid_mailbox_name\)\n {2}Use 3 to 30 lower-case letters/)
})

test('a command that needs one of several inboxes ends with 2 and lists them', async () => {
  const other = await world.client.inboxes.create()
  const { code, stderr } = await world.run(['threads', 'list'])
  assert.equal(code, 2)
  assert.ok(stderr.includes(other.address) && stderr.includes('--inbox'), stderr)
  await world.client.inboxes.delete(other.id)
})

test('too many requests end with 6 and say when to try again', async () => {
  const limited = await CliWorld.open({ MAILROOM_LIMIT_INBOXES_PER_DAY: '1' })
  try {
    assert.equal((await limited.run(['inbox', 'create'])).code, 0)
    const { code, stderr } = await limited.run(['inbox', 'create'])
    assert.equal(code, 6, stderr)
    assert.match(stderr, /\(rate_limit_exceeded\)[\s\S]*Try again in \d+ seconds\./)
  } finally {
    await limited.close()
  }
})

test('a command ends with 7 when no service answers, and says how to start one', async () => {
  const gone = createServer()
  const port = await listening(gone)
  gone.close()
  await once(gone, 'close')
  const url = `http://127.0.0.1:${port}`
  const { code, stderr } = await world.run(['status'], { env: { MAILROOM_BASE_URL: url } })
  assert.equal(code, 7)
  assert.ok(stderr.startsWith(`mailroom: Cannot connect to ${url}: `), stderr)
  assert.match(stderr, /\(ECONNREFUSED\)$/m)
  assert.match(stderr, /npm start/)
})

test('a service that is not ready ends with 7', async () => {
  const away = createServer((request, response) => {
    response.setHeader('x-request-id', 'req_away')
    response.statusCode = request.url === '/health' ? 200 : 503
    response.end(request.url === '/health' ? '{"status":"ok"}' : '{"error":"service_unavailable"}')
  })
  const port = await listening(away)
  const env = { MAILROOM_BASE_URL: `http://127.0.0.1:${port}` }
  try {
    assert.equal((await world.run(['status'], { env })).code, 7)
  } finally {
    away.closeAllConnections()
    away.close()
  }
})

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

test('a fault of the command itself ends with 1', async () => {
  const { code, stderr } = await world.run([
    'send',
    '--to',
    'a@b.example',
    '--subject',
    'x',
    '--file',
    'no-such-file',
  ])
  assert.equal(code, 1)
  assert.match(stderr, /^mailroom: no-such-file cannot be read/m)
})

test('a wait that times out ends with 124, an interrupted one with 130', async () => {
  const over = await world.run(['wait', '--timeout', '1s'])
  assert.equal(over.code, 124)
  assert.match(over.stderr, /No message arrived within 1s\./)
  const running = world.start(['listen'])
  await running.until(/Listening to/)
  running.child.kill('SIGINT')
  assert.equal((await running.ended).code, 130)
})

test('a reader that closes the pipe early causes no error', async () => {
  const running = world.start(['listen', '--json'])
  await running.until(/Listening to/)
  running.child.stdout.destroy()
  const [inbox] = (await world.client.inboxes.list().page()).data
  const mail = { from: 'a@b.example', to: inbox?.address ?? '', subject: 'x', text: 'y' }
  await world.client.sandbox.receive(mail)
  const { code, stderr } = await running.ended
  assert.equal(code, 0, stderr)
})

test('no output shows the key', async () => {
  const outputs = await Promise.all(
    [
      ['status'],
      ['status', '--json'],
      ['whoami'],
      ['keys', 'list', '--json'],
      ['inbox', 'get', 'x'],
    ].map((args) => world.run(args)),
  )
  for (const { stdout, stderr } of outputs) assert.ok(!(stdout + stderr).includes(KEY))
})
