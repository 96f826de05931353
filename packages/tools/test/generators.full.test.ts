import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { opened, openWorld } from '@mailroom/server/test/world.ts'
import { build } from 'esbuild'

const LIMIT = { timeout: 120_000 }
const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** The folder into which the generators and a compiler were installed; see `.ci/run`. */
const { TEST_MAILROOM_GENERATORS: installed = '' } = process.env
const skip = installed === '' && 'TEST_MAILROOM_GENERATORS is not set'
if (skip) console.error(`${skip}: clients generated from the OpenAPI document are NOT TESTED.`)

const page = readFileSync(join(ROOT, 'docs/migrating.md'), 'utf8')
const [, section = ''] = page.split('## Clients from the OpenAPI document')
const [, commands = ''] = /^```sh\n(.*?)^```$/ms.exec(section) ?? []
const [, configuration = ''] = /^```js\n(.*?)^```$/ms.exec(section) ?? []

const BEGIN = `
const [baseUrl = '', inboxId = '', key = ''] = process.argv.slice(2)
const authorization = \`Bearer \${key}\`
const message = { to: 'ann@firm.example', subject: 'From a generated client', body: 'Hello.' }
const sent = (status: number | undefined): void => console.log(status)
`
const PROGRAMS = {
  'openapi-typescript': `
    import createClient from 'openapi-fetch'
    import type { components, paths } from './mailroom.js'
    ${BEGIN}
    type Event = components['schemas']['Event']
    const client = createClient<paths>({ baseUrl, headers: { authorization } })
    const { data } = await client.GET('/v1/events')
    data?.data.forEach(tell)
    const header = { 'Idempotency-Key': 'openapi-typescript' }
    const params = { path: { id: inboxId }, header }
    const { response } = await client.POST('/v1/inboxes/{id}/send', { params, body: message })
    sent(response.status)
  `,
  'openapi-ts': `
    import { client } from './mailroom/client.gen'
    import { type Event, eventsList, inboxesSend } from './mailroom'
    ${BEGIN}
    client.setConfig({ baseUrl, headers: { authorization } })
    const { data } = await eventsList({ throwOnError: true })
    data.data.forEach(tell)
    const headers = { 'Idempotency-Key': 'openapi-ts' }
    const { response } = await inboxesSend({ path: { id: inboxId }, headers, body: message })
    sent(response?.status)
  `,
  orval: `
    import { type Event, eventsList, inboxesSend } from './mailroom'
    ${BEGIN}
    const answer = await eventsList({}, { headers: { authorization } })
    if (answer.status === 200) answer.data.data.forEach(tell)
    const headers = { authorization, 'Idempotency-Key': 'orval' }
    const { status } = await inboxesSend(inboxId, message, { headers })
    sent(status)
  `,
}
const TELL = `
function tell(event: Event): void {
  if (event.event === 'message.received') {
    const subject: string = event.message.subject
    console.log(subject)
  }
  // @ts-expect-error: a message that bounced has no such part
  if (event.event === 'message.bounced') console.log(event.quarantined)
}
`

suite('clients generated from the OpenAPI document', { skip }, () => {
  const world = opened(() => openWorld('sqlite'))
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mailroom-generators-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  for (const [name, program] of Object.entries(PROGRAMS)) {
    test(`the code of ${name} compiles, reads events and sends`, LIMIT, async () => {
      const inbox = await world.inbox(name)
      await world.client.sandbox.receive({
        from: 'Ann <ann@firm.example>',
        to: inbox.address,
        subject: `For ${name}`,
      })
      const project = await mkdtemp(join(folder, `${name}-`))
      const here = (text: string) => text.replaceAll('http://127.0.0.1:8080', world.baseUrl)
      symlinkSync(join(installed, 'node_modules'), join(project, 'node_modules'))
      writeFileSync(join(project, 'package.json'), '{"type":"module"}')
      writeFileSync(join(project, 'orval.config.mjs'), here(configuration))
      writeFileSync(join(project, 'program.ts'), program + TELL)

      const [, command = ''] =
        new RegExp(`^npx (?:@[a-z-]+/)?(${name} .*)$`, 'm').exec(commands) ?? []
      const bin = join(installed, 'node_modules/.bin')
      const path = [bin, dirname(process.execPath), process.env.PATH].join(delimiter)
      const options = { cwd: project, env: { ...process.env, PATH: path } }
      await run('sh', ['-c', here(command)], options)

      const compilerOptions = {
        target: 'es2022',
        module: 'esnext',
        moduleResolution: 'bundler',
        lib: ['es2023', 'dom', 'dom.iterable'],
        typeRoots: [join(ROOT, 'node_modules/@types')],
        types: ['node'],
        strict: true,
        noEmit: true,
        skipLibCheck: true,
      }
      writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
      const compiler = join(installed, 'node_modules/typescript/bin/tsc')
      const checked = await run(process.execPath, [compiler, '-p', project]).catch((error) => error)
      assert.equal(checked.stdout, '')

      const outfile = join(project, 'program.js')
      const entryPoints = [join(project, 'program.ts')]
      await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'esm' })
      const args = [outfile, world.baseUrl, inbox.id, world.key]
      const { stdout } = await run(process.execPath, args)
      assert.equal(stdout.split('\n').at(-2), '200', stdout)
      assert.ok(stdout.includes(`For ${name}\n`), stdout)
    })
  }
})
