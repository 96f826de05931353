import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { opened } from '@mailroom/server/test/world.ts'
import { CliWorld, KEY } from '#test/cli-world.ts'

const world = opened(() => CliWorld.open())
const AGENT = 'agent@mailroom.localhost'

before(async () => {
  for (const name of ['agent', 'support']) await world.good('inbox', 'create', name)
})

test('without a choice between several inboxes, the error says the three ways to make one', async () => {
  const { code, stderr } = await world.run(['messages', 'list'])
  assert.equal(code, 2)
  assert.match(stderr, /The account has 2 inboxes; choose one\./)
  assert.match(stderr, /--inbox.*MAILROOM_INBOX.*"mailroom use <inbox>".*agent@mailroom\.localhost/)
})

test('an inbox is named by the part of its address before the @', async () => {
  const { address } = await world.json<{ address: string }>('inbox', 'get', 'Agent')
  assert.equal(address, AGENT)
  const { code, stderr } = await world.run(['messages', 'list', '--inbox', 'agnet'])
  assert.equal(code, 4)
  assert.match(
    stderr,
    /^mailroom: There is no inbox agnet in this account\.\n {2}"mailroom inbox list"/,
  )
})

test('a chosen inbox is used without --inbox, after MAILROOM_INBOX and --inbox', async () => {
  assert.equal(await world.good('use', 'agent'), '')
  assert.equal(await world.good('use'), `${AGENT}\n`)
  const path = join(world.home, 'config/mailroom/config.json')
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  assert.ok(
    !(await readFile(path, 'utf8')).includes('apiKey'),
    'a key from the environment is stored',
  )

  const senderOf = async (args: string[], env: Record<string, string> = {}) => {
    const send = ['send', '--to', 'ann@example.com', '--subject', 'S', '--text', 'T', '--json']
    const { code, stdout, stderr } = await world.run([...send, ...args], { env })
    assert.equal(code, 0, stderr)
    return (await world.client.messages.get(JSON.parse(stdout).messageId)).fromAddr
  }
  const env = { MAILROOM_INBOX: 'support' }
  assert.equal(await senderOf([]), AGENT)
  assert.equal(await senderOf([], env), 'support@mailroom.localhost')
  assert.equal(await senderOf(['--inbox', 'agent'], env), AGENT)

  const unknown = await world.run(['messages', 'list'], { env: { MAILROOM_INBOX: 'gone' } })
  assert.equal(unknown.code, 4)
  assert.match(
    unknown.stderr,
    /no inbox gone in this account\. The inbox was set by MAILROOM_INBOX\./,
  )
})

test('an unknown inbox is not chosen, and the choice is cleared', async () => {
  await world.good('use', AGENT)
  assert.equal((await world.run(['use', 'agnet'])).code, 4)
  assert.equal(await world.good('use'), `${AGENT}\n`)
  await world.good('use', '--clear')
  assert.equal(await world.good('use'), '')
  assert.equal((await world.run(['messages', 'list'])).code, 2)
})

test('the choice is for one service, and a login keeps it', async () => {
  await world.good('use', 'support')
  const { code } = await world.run(['login', '--key', '-'], { input: KEY })
  assert.equal(code, 0)
  assert.equal(await world.good('use'), 'support@mailroom.localhost\n')
  const other = await world.run(['use'], { env: { MAILROOM_BASE_URL: 'http://127.0.0.1:9' } })
  assert.equal(other.stdout, '')
})
