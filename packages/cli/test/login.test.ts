import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { opened } from '@mailroom/server/test/world.ts'
import { CliWorld, KEY } from '#test/cli-world.ts'

const world = opened(() => CliWorld.open())

const signedOut = { isSignedOut: true, env: { MAILROOM_BASE_URL: '' } }
const file = () => join(world.home, 'config', 'mailroom', 'config.json')
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

test('a key from standard input is checked, stored for its owner alone, and used', async () => {
  const { code, stdout, stderr } = await world.run(
    ['login', '--key', '-', '--url', `${world.baseUrl}/`],
    { ...signedOut, input: `${KEY}\n` },
  )
  assert.equal(code, 0, stderr)
  assert.ok(!(stdout + stderr).includes(KEY))
  assert.match(stderr, /^Signed in to http/m)
  assert.equal(await modeOf(file()), '600')
  assert.equal(await modeOf(join(file(), '..')), '700')
  const { profiles } = JSON.parse(await readFile(file(), 'utf8'))
  assert.deepEqual(profiles, { default: { baseUrl: world.baseUrl, apiKey: KEY } })
  assert.equal((await world.run(['whoami'], signedOut)).code, 0)
})

test('a key that the service refuses is not stored', async () => {
  const before = await readFile(file(), 'utf8')
  const { code, stderr } = await world.run(['login', '--key', '-', '--url', world.baseUrl], {
    ...signedOut,
    input: 'mr_wrong',
  })
  assert.equal(code, 3)
  assert.match(stderr, /does not accept this key\.\n {2}Nothing was stored\./)
  assert.equal(await readFile(file(), 'utf8'), before)
})

test('a stored key is not sent to another service', async () => {
  const { code, stderr } = await world.run(['whoami', '--url', 'http://127.0.0.1:9'], signedOut)
  assert.equal(code, 3)
  assert.match(stderr, /no key for http:\/\/127\.0\.0\.1:9\./)
  const env = { MAILROOM_BASE_URL: 'http://127.0.0.1:9' }
  assert.equal((await world.run(['whoami'], { isSignedOut: true, env })).code, 3)
})

test('a named profile has precedence over the environment, and logout forgets it', async () => {
  const other = await world.client.apiKeys.create({ name: 'other' })
  const login = ['login', '--key', '-', '--url', world.baseUrl, '--profile', 'work']
  assert.equal((await world.run(login, { ...signedOut, input: other.token })).code, 0)
  const env = { MAILROOM_API_KEY: 'mr_wrong' }
  assert.equal((await world.run(['whoami'], { env })).code, 3)
  assert.equal((await world.run(['whoami', '--profile', 'work'], { env })).code, 0)
  assert.equal((await world.run(['logout', '--profile', 'work'], signedOut)).code, 0)
  const gone = await world.run(['whoami', '--profile', 'work'], signedOut)
  assert.equal(gone.code, 3)
  assert.match(gone.stderr, /Existing profiles: default\./)
  assert.equal((await world.run(['whoami'], signedOut)).code, 0)
  assert.equal((await world.run(['logout'], signedOut)).code, 0)
  assert.equal((await world.run(['whoami', '--url', world.baseUrl], signedOut)).code, 3)
})

test('without a terminal and a key, login says that it cannot ask for one', async () => {
  const { code, stderr } = await world.run(['login'], { isSignedOut: true })
  assert.equal(code, 2)
  assert.match(stderr, /--key -/)
})

test('a key typed at a terminal is not shown', async () => {
  const running = world.atTerminal(['login', '--url', world.baseUrl], 80, signedOut)
  await running.until(/API key for/)
  running.child.stdin.write(`${KEY.slice(0, -2)}xx\x7f\x7f${KEY.slice(-2)}\r`)
  const { code, stdout } = await running.ended
  assert.equal(code, 0, stdout)
  assert.match(stdout, /Signed in to/)
  assert.ok(!stdout.includes(KEY.slice(0, 12)))
})

test('Ctrl-C at the prompt for a key ends with 130', async () => {
  const running = world.atTerminal(['login', '--url', world.baseUrl], 80, signedOut)
  await running.until(/API key for/)
  running.child.stdin.write('mr_some\x03')
  const { code, stdout } = await running.ended
  assert.equal(code, 130, stdout)
  assert.ok(!stdout.includes('mr_some'))
})

test('a terminal is signed in when a signed-in user approves it', async () => {
  const args = ['login', '--pair', '--url', world.baseUrl, '--profile', 'paired']
  const running = world.start(args, signedOut)
  const [, userCode = ''] = await running.until(/shows the code (\S{4}-\S{4})/)
  assert.match(running.stderr(), /^Open http\S+\/console\/pair\?code=/m)
  await world.client.pairing.approve(userCode)
  const { code, stderr } = await running.ended
  assert.equal(code, 0, stderr)
  assert.equal((await world.run(['whoami', '--profile', 'paired'], signedOut)).code, 0)
})

test('a denied pairing ends at once', async () => {
  const running = world.start(['login', '--pair', '--url', world.baseUrl], signedOut)
  const [, userCode = ''] = await running.until(/shows the code (\S{4}-\S{4})/)
  await world.client.pairing.deny(userCode)
  const { code, stderr } = await running.ended
  assert.equal(code, 5)
  assert.match(stderr, /denied or has expired/)
})
