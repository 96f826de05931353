import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { clientOperationIds } from '@mailroom/contract/operations.ts'
import { CliWorld, KEY, MAIN } from '#test/cli-world.ts'

const run = promisify(execFile)

let folder: string
let world: CliWorld
/** With the program in the PATH, a key and a service. */
let env: NodeJS.ProcessEnv
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mailroom-completion-'))
  const program = `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`
  await writeFile(join(folder, 'mailroom'), program, { mode: 0o755 })
  world = await CliWorld.open()
  env = {
    ...process.env,
    PATH: `${folder}:${process.env.PATH}`,
    XDG_CONFIG_HOME: folder,
    MAILROOM_API_KEY: KEY,
    MAILROOM_BASE_URL: world.baseUrl,
  }
  await world.client.inboxes.create({ mailboxName: 'support' })
  const { id } = await world.client.inboxes.create({ mailboxName: 'sales' })
  await world.client.pods.create({ clientId: 'customer-7' })
  await world.client.domains.create({ domain: 'mail.example.net' })
  const sent = await world.client.inboxes.send(id, {
    to: 'ann@example.com',
    subject: 'Hello',
    body: 'Hello.',
  })
  await world.client.threads.update(sent.threadId, { addLabels: ['needs-reply'] })
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await run(process.execPath, [MAIN, 'completion', shell])
    await writeFile(join(folder, shell), stdout)
  }
})
after(async () => {
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

const QUESTIONS: [string, string[], string[]][] = [
  ['mailroom in', ['inbox'], ['threads']],
  ['mailroom inbox ', ['create', 'list', 'get', 'update', 'delete'], ['send']],
  ['mailroom inbox create --d', ['--display-name', '--domain'], ['--inbox']],
  ['mailroom send --', ['--to', '--subject', '--attach', '--idempotency-key'], ['--code']],
  [
    'mailroom api inboxes.',
    clientOperationIds.filter((id) => id.startsWith('inboxes.')),
    ['pods.list'],
  ],
  ['mailroom messages list --direction ', ['inbound', 'outbound'], ['--limit']],
  ['mailroom completion ', ['bash', 'zsh', 'fish'], ['inbox']],
  ['mailroom sender-rules create ', ['allow', 'block'], ['list']],
  ['mailroom admin dkim ', ['list', 'rotate'], ['create']],
  ['mailroom threads list --inbox ', ['support', 'support@mailroom.localhost', 'sales'], ['zsh']],
  ['mailroom inbox get support@', ['support@mailroom.localhost'], ['sales@mailroom.localhost']],
  ['mailroom use sa', ['sales', 'sales@mailroom.localhost'], ['support']],
  ['mailroom inbox list --pod ', ['customer-7'], ['zsh']],
  ['mailroom domains get ', ['mail.example.net'], ['zsh']],
  ['mailroom threads label --add ', ['needs-reply'], ['zsh']],
]

async function isInstalled(shell: string): Promise<boolean> {
  return run(shell, ['--version']).then(
    () => true,
    () => false,
  )
}

function check(line: string, found: string[], wanted: string[], others: string[]): void {
  for (const word of wanted) assert.ok(found.includes(word), `${line}: ${word} in ${found}`)
  for (const word of others) assert.ok(!found.includes(word), `${line}: no ${word} in ${found}`)
}

test('bash completes commands, options, values and operations', async (t) => {
  if (!(await isInstalled('bash'))) return t.skip('bash is not installed')
  for (const [line, wanted, others] of QUESTIONS) {
    const words = line.split(' ')
    const quoted = words.map((word) => `'${word}'`).join(' ')
    const script = `source '${folder}/bash'; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _mailroom; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout, stderr } = await run('bash', ['--norc', '-c', script], { env })
    assert.equal(stderr, '')
    check(line, stdout.split('\n'), wanted, others)
  }
})

test('zsh accepts the completion, and its lists hold the commands', async (t) => {
  if (!(await isInstalled('zsh'))) return t.skip('zsh is not installed')
  // _describe needs the line editor, so the test checks its arguments.
  const double = `_describe() { print -l -- "\${(@P)2}" }; _files() { : }`
  for (const [line, wanted, others] of QUESTIONS) {
    const words = line.split(' ')
    const quoted = words.map((word) => `'${word}'`).join(' ')
    const script = `compdef() { : }; source '${folder}/zsh'; ${double}; words=(${quoted}); CURRENT=${words.length}; _mailroom`
    const { stdout, stderr } = await run('zsh', ['-f', '-c', script], { env })
    assert.equal(stderr, '')
    const prefix = words.at(-1) ?? ''
    const found = stdout.split('\n').map((text) => text.split(':')[0] ?? '')
    check(
      line,
      found.filter((word) => word.startsWith(prefix)),
      wanted,
      others,
    )
  }
})

test('fish completes commands, options, values and operations', async (t) => {
  if (!(await isInstalled('fish'))) return t.skip('fish is not installed')
  for (const [line, wanted, others] of QUESTIONS) {
    const script = `source '${folder}/fish'; complete -C '${line}'`
    const { stdout, stderr } = await run('fish', ['--no-config', '-c', script], { env })
    assert.equal(stderr, '')
    const found = stdout.split('\n').map((text) => text.split('\t')[0] ?? '')
    check(line, found, wanted, others)
  }
})

test('without a service, a completion of names is empty and prints nothing', async () => {
  for (const MAILROOM_BASE_URL of ['http://127.0.0.1:9', 'nonsense']) {
    const { stdout, stderr } = await run(join(folder, 'mailroom'), ['complete', 'inbox'], {
      env: { ...env, MAILROOM_BASE_URL },
    })
    assert.equal(stdout + stderr, '')
  }
})
