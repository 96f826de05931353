import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { MAIN } from '#test/cli-world.ts'

let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mailroom-cli-start-'))
})
after(() => rm(folder, { recursive: true, force: true }))

/** Makes the program believe that it runs on an old version of Node.js. */
const OLD = `data:text/javascript,${encodeURIComponent(
  "if (!process.env.MAILROOM_STARTED_AGAIN) Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } })",
)}`

type Ran = { code: number | null; stdout: string; stderr: string }

function run(args: string[], env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: { PATH: process.env.PATH ?? '', HOME: folder, ...env } }
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr })
    })
  })
}

test('an old Node.js starts the one in the checkout, and returns its exit code', async () => {
  const version = await run(['--import', OLD, MAIN, '--version'])
  assert.equal(version.code, 0, version.stderr)
  const manifest = new URL('../package.json', import.meta.url)
  assert.equal(version.stdout.trim(), JSON.parse(await readFile(manifest, 'utf8')).version)
  const unknown = await run(['--import', OLD, MAIN, 'no-such-command'])
  assert.equal(unknown.code, 2)
})

test('an old Node.js without a newer one says what is missing', async () => {
  const alone = join(folder, 'packages', 'cli', 'src', 'main.mjs')
  await cp(MAIN, alone)
  const { code, stderr } = await run(['--import', OLD, alone, '--version'])
  assert.equal(code, 1)
  assert.match(stderr, /requires Node\.js 24 or newer.*\n.*npm ci/)
})

test('signals are passed on to the Node.js that was started', async () => {
  const env = { PATH: process.env.PATH ?? '', HOME: folder, MAILROOM_API_KEY: 'mr_some_key' }
  const args = ['--import', OLD, MAIN, 'login', '--key', '-', '--url', 'http://127.0.0.1:9']
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] })
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  child.kill('SIGTERM')
  const [, signal] = await once(child, 'close')
  assert.equal(signal, 'SIGTERM')
})

test('the help groups the commands and names the exit codes', async () => {
  const { code, stdout } = await run([MAIN, '--help'])
  assert.equal(code, 0)
  for (const part of ['Your mail:', 'Account:', 'This machine:', 'Exit codes:']) {
    assert.ok(stdout.includes(part), part)
  }
  assert.match(stdout, /^ {2}send .*Send a message from an inbox/m)
  assert.match(stdout, /^ {2}124 +Timeout\./m)
  assert.doesNotMatch(stdout, /warm-up|generate|reference/)
})

test('the former names of the machine’s commands work, with a notice, and are not listed', async () => {
  const env = { MAILROOM_DATA_DIR: join(folder, 'former') }
  await run([MAIN, 'admin', 'migrate'], env)
  const { code, stdout, stderr } = await run([MAIN, 'account', 'create', '--name', 'Old'], env)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^key +mr_\w{40}$/m)
  assert.equal(stderr, '"mailroom account create" is now "mailroom admin account create".\n')
  const { stderr: checked } = await run([MAIN, 'migrate', '--check'], env)
  assert.equal(checked, '"mailroom migrate" is now "mailroom admin migrate".\n')
  const { stdout: help } = await run([MAIN, '--help'])
  assert.doesNotMatch(help, /^ {2}(account|key|approver|dkim|dns|doctor|backup|migrate) /m)
})

test('the operator’s commands are the server’s', async () => {
  const env = { MAILROOM_DATA_DIR: join(folder, 'data') }
  const migrated = await run([MAIN, 'admin', 'migrate'], env)
  assert.equal(migrated.code, 0, migrated.stderr)
  const made = await run([MAIN, 'admin', 'account', 'create', '--name', 'By hand'], env)
  assert.match(made.stdout, /^key +mr_\w{40}$/m)
  const wrong = await run([MAIN, 'admin', 'migrate'], { ...env, MAILROOM_HTTP_PORT: 'x' })
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /^mailroom: these settings are wrong:\n {2}MAILROOM_HTTP_PORT/m)
})
