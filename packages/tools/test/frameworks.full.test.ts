import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { packCopy } from '@mailroom/sdk/test/pack-copy.ts'
import { opened, openWorld } from '@mailroom/server/test/world.ts'
import { openOpenAiPeer, type Script } from '#test/openai-peer.ts'

const LIMIT = { timeout: 120_000 }
const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** The folder into which the frameworks were installed; see `.ci/run`. */
const { TEST_MAILROOM_FRAMEWORKS: installed = '' } = process.env
const skip = installed === '' && 'TEST_MAILROOM_FRAMEWORKS is not set'
if (skip) console.error(`${skip}: the programs of docs/frameworks.md are NOT TESTED.`)

const page = readFileSync(join(ROOT, 'docs/frameworks.md'), 'utf8')
const programs = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = '']) => text)
const readme = readFileSync(join(ROOT, 'packages/tools/README.md'), 'utf8')

const SCRIPT: Script = [
  () => ({ tool: 'list_unread', given: {} }),
  (conversation) => {
    const [thread_id] = /thr_\w+/.exec(conversation) ?? []
    return { tool: 'reply', given: { thread_id, body: 'At nine.' } }
  },
  (conversation) => ({
    text: /Sent to the reply address/.test(conversation) ? 'Answered.' : conversation,
  }),
]

suite('the programs of docs/frameworks.md', { skip }, () => {
  const world = opened(() => openWorld('sqlite'))
  let project: string

  before(async () => {
    project = await mkdtemp(join(tmpdir(), 'mailroom-frameworks-'))
    const modules = join(project, 'node_modules')
    mkdirSync(join(modules, '@mailroom'), { recursive: true })
    for (const name of ['sdk', 'tools'] as const) {
      const folder = join(modules, '@mailroom', name)
      mkdirSync(folder)
      const tarball = await packCopy(name, await mkdtemp(join(project, 'pack-')))
      await run('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'])
    }
    for (const name of readdirSync(join(installed, 'node_modules'))) {
      symlinkSync(join(installed, 'node_modules', name), join(modules, name))
    }
    writeFileSync(join(project, 'package.json'), '{"type":"module"}')
    for (const [index, text] of programs.entries()) {
      writeFileSync(join(project, `program-${index}.ts`), text)
    }
  })
  after(() => rm(project, { recursive: true, force: true }))

  test('are accepted by a strict compiler', LIMIT, async () => {
    const compilerOptions = {
      target: 'es2024',
      module: 'nodenext',
      typeRoots: [join(ROOT, 'node_modules/@types')],
      types: ['node'],
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
    }
    const files = programs.map((_, index) => `program-${index}.ts`)
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    const args = [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', project]
    const checked = await run(process.execPath, args).catch((error) => error)
    assert.equal(checked.stdout, '')
  })

  test('answer mail, each with a scripted model', LIMIT, async () => {
    assert.equal(programs.length, 6)
    assert.ok(readme.includes(programs[0] ?? ''), 'the README has the first program')
    const inbox = await world.inbox('agent')
    for (const [index, text] of programs.entries()) {
      const subject = `Question ${index}`
      const mail = { from: 'Ann <ann@firm.example>', to: inbox.address, subject, text: 'When?' }
      await world.client.sandbox.receive(mail)
      await using model = await openOpenAiPeer(SCRIPT)
      const name = `program-${index}.ts`
      writeFileSync(
        join(project, name),
        text
          .replaceAll('http://127.0.0.1:8080', world.baseUrl)
          .replaceAll('agent@mailroom.localhost', inbox.address),
      )
      const env = {
        PATH: process.env.PATH,
        MAILROOM_API_KEY: world.key,
        MAILROOM_BASE_URL: world.baseUrl,
        OPENAI_API_KEY: 'sk-scripted',
        OPENAI_BASE_URL: model.baseUrl,
        OPENAI_AGENTS_DISABLE_TRACING: '1',
      }
      const { stdout } = await run(process.execPath, [name], { cwd: project, env })
      assert.equal(stdout, 'Answered.\n', text)
      assert.ok(!model.offered.has('create_inbox'), 'the program reaches one inbox')
      const sent = world.client.messages.list(inbox.id, { direction: 'outbound' })
      assert.equal((await sent.page()).data[0]?.subject, `Re: ${subject}`)
    }
  })
})
