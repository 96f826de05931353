import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openWorld, type World } from '@mailroom/server/test/world.ts'

const run = promisify(execFile)
const BUILD = fileURLToPath(import.meta.resolve('#build.ts'))
const TYPES = {
  'mailroom-sdk.tgz': 'application/gzip',
  'mailroom-tools.tgz': 'application/gzip',
  'mailroom-cli.tgz': 'application/gzip',
  'mailroom-python.whl': 'application/zip',
}

let world: World
let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mailroom-clients-'))
  await run(process.execPath, [BUILD])
  world = await openWorld('sqlite')
})
after(async () => {
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

const get = (path: string, init: RequestInit = {}) => fetch(`${world.baseUrl}${path}`, init)
const urlOf = (name: keyof typeof TYPES) => `${world.baseUrl}/clients/${name}`

/** npm with a cache of its own, and without a registry: a package must be complete. */
function npmEnv(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'))
  const registry = 'http://127.0.0.1:9/'
  const settings = { npm_config_cache: join(folder, 'cache'), npm_config_registry: registry }
  return { ...Object.fromEntries(own), ...settings, npm_config_update_notifier: 'false' }
}

test('the service sends each client without a key, and only once to a reader that keeps it', async () => {
  for (const [name, type] of Object.entries(TYPES)) {
    const answer = await get(`/clients/${name}`)
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, type])
    const { length } = Buffer.from(await answer.arrayBuffer())
    assert.ok(length > 10_000 && length < 1_000_000, `${name}: ${length}`)
    const etag = answer.headers.get('etag') ?? ''
    const again = await get(`/clients/${name}`, { headers: { 'if-none-match': etag } })
    assert.deepEqual([again.status, again.headers.get('etag')], [304, etag])
    const head = await get(`/clients/${name}`, { method: 'HEAD' })
    assert.equal(head.headers.get('content-length'), String(length))
    assert.equal((await get(`/clients/${name}`, { method: 'POST' })).status, 405)
  }
})

test('an unknown client is not found, and the list names the known ones with the URL of the service', async () => {
  for (const name of ['mailroom-ruby.gem', 'package.json', '..%2Fpackage.json', '.dist']) {
    assert.equal((await get(`/clients/${name}`)).status, 404, name)
  }
  const list = await (await get('/clients')).text()
  for (const name of ['mailroom-sdk.tgz', 'mailroom-tools.tgz', 'mailroom-cli.tgz'] as const) {
    assert.ok(list.includes(urlOf(name)), list)
  }
})

test('npx runs the command line from the URL of the service, with nothing else installed', async () => {
  const args = ['--yes', urlOf('mailroom-cli.tgz'), 'whoami', '--json']
  const env = { ...npmEnv(), MAILROOM_BASE_URL: world.baseUrl, MAILROOM_API_KEY: world.key }
  const { stdout } = await run('npx', args, { cwd: folder, env: { ...env, HOME: folder } })
  assert.match(stdout, /"id": "acc_/)
})

test('npm installs the SDK from the URL of the service', async () => {
  const program = `
    import { Mailroom } from '@mailroom/sdk'
    const [baseUrl, apiKey] = process.argv.slice(2)
    console.log((await new Mailroom({ baseUrl, apiKey }).account.get()).id)
  `
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeFile(join(folder, 'me.js'), program)
  const options = { cwd: folder, env: npmEnv() }
  await run('npm', ['install', '--no-audit', '--no-fund', urlOf('mailroom-sdk.tgz')], options)
  const { stdout } = await run('node', ['me.js', world.baseUrl, world.key], options)
  assert.match(stdout, /^acc_/)
})

test('pip installs the Python client from the line that the service gives', async (t) => {
  const python = process.env.PYTHON ?? 'python3'
  const hasPip = await run(python, ['-m', 'pip', '--version']).catch(() => null)
  if (hasPip === null) return t.skip('there is no pip')
  const list = await (await get('/clients')).text()
  const [, requirement = ''] = /pip install '([^']+)'/.exec(list) ?? []
  const target = join(folder, 'python')
  const args = ['-m', 'pip', 'install', '--no-deps', '--no-index', '--target', target, requirement]
  await run(python, args, { cwd: folder })
  const program = `
import sys
from mailroom import Mailroom
with Mailroom(sys.argv[1], sys.argv[2]) as mailroom:
    print(mailroom.account.get()["id"])
`
  const env = { ...process.env, PYTHONPATH: target }
  const { stdout } = await run(python, ['-c', program, world.baseUrl, world.key], { env })
  assert.match(stdout, /^acc_/)
})
