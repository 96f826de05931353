import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { until } from '@mailroom/server/test/scenarios/outcomes.ts'
import { openWorld, type World } from '@mailroom/server/test/world.ts'

const LIMIT = { timeout: 60_000 }
const ROOT = new URL('../../../', import.meta.url)
const SDK = import.meta.resolve('@mailroom/sdk')

const page = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')
const blocks = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, code = '']) => code,
  )

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** The reader's key, the service's start command, and the commands that the tests run. */
const NOT_RUN = /mr_…|npm ci|docker|npx mailroom/

const skip = hasCurl() ? false : 'curl is not installed'

suite('the first pages for new users', () => {
  let world: World
  let folder: string
  before(async () => {
    world = await openWorld('sqlite')
    folder = mkdtempSync(join(tmpdir(), 'mailroom-test-'))
  })
  after(async () => {
    rmSync(folder, { recursive: true, force: true })
    await world.close()
  })

  const here = (code: string, { baseUrl, smtpPort }: Pick<World, 'baseUrl' | 'smtpPort'> = world) =>
    code
      .replaceAll('http://127.0.0.1:8080', baseUrl)
      .replaceAll('127.0.0.1:2525', `127.0.0.1:${smtpPort}`)
      .replaceAll("'@mailroom/sdk'", `'${SDK}'`)

  /** Returns the output of the commands; fails if one of them fails or the API refuses a request. */
  async function runShell(commands: readonly string[]): Promise<string> {
    const script = commands
      .filter((code) => !NOT_RUN.test(code))
      .map((code) => here(code))
      .join('\n')
    const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', script], {
      cwd: folder,
      env: {
        PATH: `${join(process.execPath, '..')}:${process.env.PATH ?? ''}`,
        MAILROOM_API_KEY: world.key,
      },
    })
    assert.doesNotMatch(stdout, /"error":/)
    return stdout
  }

  /** The output of the program; `onOutput` is called with each piece. */
  async function runProgram(
    code: string,
    onOutput?: (output: string) => void,
    { baseUrl, smtpPort, key } = world,
  ): Promise<string> {
    const path = join(folder, 'agent.ts')
    writeFileSync(path, here(code, { baseUrl, smtpPort }))
    const env = { PATH: process.env.PATH ?? '', MAILROOM_API_KEY: key }
    const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit']
    const child = spawn(process.execPath, [path], { cwd: folder, env, stdio })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      onOutput?.(output)
    })
    const [exitCode] = await once(child, 'close')
    assert.equal(exitCode, 0, output)
    return output
  }

  test('the commands of the README receive a message and find it', { ...LIMIT, skip }, async () => {
    const output = await runShell(blocks(page('README.md'), 'sh'))
    assert.match(output, /"total":1,.*"subject":"Hello"|"subject":"Hello".*"total":1/)
    const { data } = await world.client.inboxes.list().page()
    for (const { id } of data) await world.client.inboxes.delete(id)
  })

  test('the program of the README answers every sender', LIMIT, async () => {
    let writing: NodeJS.Timeout | undefined
    const [code = ''] = blocks(page('README.md'), 'ts')
    const output = await runProgram(code, (soFar) => {
      const to = /^Write to (\S+)$/m.exec(soFar)?.[1]
      if (to === undefined || writing !== undefined) return
      // Sent repeatedly, because mail that arrives before the program waits does not end its wait.
      const mail = { from: 'ann@example.com', to, subject: 'Hello', text: 'Are you there?' }
      writing = setInterval(() => void world.client.sandbox.receive(mail), 300)
    })
    clearInterval(writing)
    assert.match(output, /^ann@example\.com Are you there\?$/m)
  })

  test('a person lets the agent of the README write to a stranger', LIMIT, async () => {
    const [, code = ''] = blocks(page('README.md'), 'ts')
    const own = await openWorld('sqlite')
    try {
      const output = await runProgram(code, undefined, own)
      assert.match(output, /^pending \[\s*\{\s*guard: 'newRecipients'/)
      const captured = async () => (await own.client.sandbox.list().page()).data
      await until(async () => (await captured()).length > 0)
      assert.deepEqual(
        (await captured()).map(({ to, subject }) => [to, subject]),
        [[['stranger@example.org'], 'Hello']],
      )
    } finally {
      await own.close()
    }
  })

  test('the commands of the quickstart work as described, from top to bottom', {
    ...LIMIT,
    skip,
  }, async () => {
    const output = await runShell(blocks(page('docs/quickstart.md'), 'sh'))
    assert.match(output, /"address":"agent@mailroom\.localhost"/)
    assert.match(output, /Can you read this\?/)
    assert.match(output, /^482913$/m)
    assert.match(output, /"secret":"whsec_/)
    assert.match(output, /^event: message\.|"event":"message\./m)
  })

  test('the program of the quickstart gets its answer and replies', LIMIT, async () => {
    const [code = ''] = blocks(page('docs/quickstart.md'), 'ts')
    const output = await runProgram(code)
    assert.match(output, /^bob@example\.com Gladly\.$/m)
    assert.match(output, /^Re: Hello, Bob 3$|^Hello, Bob 3$/m)
    assert.match(output, /^bad_request .+$/m)
  })
})
