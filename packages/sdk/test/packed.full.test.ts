import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { guidesOf } from '@mailroom/contract/guides.ts'
import { clientOperationIds, describedOperationIds } from '@mailroom/contract/operations.ts'
import { typeScriptSample } from '@mailroom/contract/samples.ts'
import { oldestNode } from './oldest-node.ts'
import { packCopy } from './pack-copy.ts'
import { openPeer } from './peer.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const TYPESCRIPT = join(ROOT, 'node_modules/typescript')
/** Folders of further versions of TypeScript, separated by colons. */
const { TEST_MAILROOM_TYPESCRIPT: given = '' } = process.env
const compilers = [TYPESCRIPT, ...given.split(':').filter((folder) => folder !== '')]

let project: string
let installed: string

before(async () => {
  project = await mkdtemp(join(tmpdir(), 'mailroom-sdk-'))
  const tarball = await packCopy('sdk', project)
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: project })
  installed = join(project, 'node_modules/@mailroom/sdk')
})
after(() => rm(project, { recursive: true, force: true }))

test('plain JavaScript imports the package and sends with it', async () => {
  await using peer = await openPeer({ body: { messageId: 'msg_1' } })
  const program = `
    import { Mailroom, MailroomError } from '@mailroom/sdk'
    const mailroom = new Mailroom({ baseUrl: process.argv[2], apiKey: 'key' })
    const message = { to: 'ann@example.com', subject: 'A subject', body: 'A body.' }
    const { messageId } = await mailroom.inboxes.send('inb_1', message)
    console.log(messageId, typeof MailroomError)
  `
  writeFileSync(join(project, 'send.js'), program)
  for (const node of [process.execPath, oldestNode()]) {
    const { stdout } = await run(node, ['send.js', peer.baseUrl], { cwd: project })
    assert.equal(stdout.trim(), 'msg_1 function')
  }
  assert.equal(peer.requests[0]?.url, '/v1/inboxes/inb_1/send')
})

test('a file in CommonJS can require the package', async () => {
  const program = "console.log(typeof require('@mailroom/sdk').Mailroom)"
  writeFileSync(join(project, 'required.cjs'), program)
  for (const node of [process.execPath, oldestNode()]) {
    const { stdout } = await run(node, ['required.cjs'], { cwd: project })
    assert.equal(stdout.trim(), 'function')
  }
})

const PROGRAM = `
import {
  type Event,
  type EventOf,
  type Inbox,
  Mailroom,
  MailroomError,
  type SentMessage,
  verifyWebhook,
  WebhookVerificationError,
} from '@mailroom/sdk'

const mailroom = new Mailroom()
const inbox: Inbox = await mailroom.inboxes.create({ displayName: 'Ada' })
const message = { to: 'ann@example.com', subject: 'A subject', body: 'A body.' }
const sent: SentMessage = await mailroom.inboxes.send(inbox.id, message)
const status: 'pending' | 'sent' | 'failed' = sent.status
const team: string | undefined = inbox.metadata.team
const { data: threads, total } = await mailroom.threads.list(inbox.id, { is_read: true, limit: 2 })
const { data: again, response } = await mailroom.inboxes.get(inbox.id).withResponse()
console.log(team, threads[0]?.metadata.team, total + 1, again.address, response.headers.get('etag'))
for await (const thread of mailroom.threads.list(inbox.id, { isRead: false })) {
  const { data } = await mailroom.threads.messages(thread.id)
  const text: string | undefined = data[0]?.extractedText
  const role: 'to' | 'cc' | null | undefined = data[0]?.deliveryRole
  console.log(text, role, status)
}
for await (const event of mailroom.events.follow({ eventTypes: ['message.received'], WebSocket })) {
  const maybe: string | undefined = event.message?.subject
  if (event.event === 'message.received') {
    const subject: string = event.message.subject
    console.log(subject, maybe)
  }
}
const received = (event: EventOf<'message.bounced'>): string => event.bounce.class
console.log(received)
const request = new Request('http://a.example')
const told: Event = await verifyWebhook(await request.text(), request.headers, ['a', 'b'])
const waited: string | undefined = (await mailroom.inboxes.waitForMessage(inbox.id))?.extractedText
console.log(told.event_id, waited, WebhookVerificationError.name)
await mailroom.sandbox.receive({ from: 'a@b.example', to: [inbox.address], subject: 'x' })
try {
  // @ts-expect-error: unknown field
  await mailroom.inboxes.send(inbox.id, { ...message, bcc: 'x' })
  // @ts-expect-error: a number is no address
  await mailroom.inboxes.send(inbox.id, { ...message, to: 5 })
  // @ts-expect-error: unknown filter
  mailroom.threads.list(inbox.id, { isReadd: true })
  // @ts-expect-error: unknown kind of event
  mailroom.events.follow({ eventTypes: ['message.read'] })
  // @ts-expect-error: the type of the response is known
  console.log(sent.nothing)
} catch (error) {
  if (error instanceof MailroomError && error.code === 'bad_request') console.log(error.fix)
}
`

test("strict compilers accept the package's types in each resolution, and find mistakes by them", async () => {
  writeFileSync(join(project, 'program.ts'), PROGRAM)
  // A CommonJS file has no await at its top level.
  const imports = PROGRAM.slice(0, PROGRAM.indexOf('const mailroom'))
  const rest = PROGRAM.slice(imports.length)
  const common = `${imports}async function main(): Promise<void> {${rest}}\nvoid main()\n`
  writeFileSync(join(project, 'program.cts'), common)
  for (const compiler of compilers) {
    for (const [module, moduleResolution] of [
      ['node16', 'node16'],
      ['nodenext', 'nodenext'],
      ['esnext', 'bundler'],
    ]) {
      const compilerOptions = {
        target: 'es2022',
        module,
        moduleResolution,
        lib: ['es2022', 'dom'],
        types: [],
        strict: true,
        exactOptionalPropertyTypes: false,
        noEmit: true,
        skipLibCheck: false,
      }
      writeFileSync(
        join(project, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: ['program.ts', 'program.cts'] }),
      )
      const args = [`${compiler}/bin/tsc`, '-p', project]
      const checked = await run(process.execPath, args).catch((error) => error)
      assert.equal(checked.stdout, '', `${compiler} ${moduleResolution}`)
    }
  }
})

/** What the fragments in the documentation leave out. */
const SURROUNDINGS = `
declare const client: import('@mailroom/sdk').Mailroom
declare const mailroom: import('@mailroom/sdk').Mailroom
declare const message: import('@mailroom/sdk').Message
declare const request: Request
declare const rawBody: string
declare const secret: string | undefined
declare function answer(message: import('@mailroom/sdk').Message): Promise<void>
declare function enter(code: string): Promise<void>
`

/** The programs and fragments in TypeScript in the documentation, by the path of a file. */
function documentedCode(): Map<string, string> {
  const code = new Map<string, string>()
  const pages = ['README.md', 'docs/*.md', 'packages/sdk/README.md', 'skills/*/*.md']
  for (const page of globSync(pages, { cwd: ROOT })) {
    // Its programs need more packages, and `frameworks.full.test.ts` compiles them.
    if (page === 'docs/frameworks.md') continue
    const text = readFileSync(join(ROOT, page), 'utf8')
    for (const [, block = ''] of text.matchAll(/^```ts\n(.*?)^```$/gms)) {
      code.set(`${page.replaceAll('/', '-')}-${code.size}.ts`, block)
    }
  }
  for (const { id, sample = '' } of guidesOf('http://a.example')) {
    if (!sample.startsWith('curl')) code.set(`reference-${id}.ts`, sample)
  }
  const imports = `import { openAsBlob } from 'node:fs'\nimport { Mailroom } from '@mailroom/sdk'\n`
  for (const id of clientOperationIds.filter((one) => describedOperationIds.includes(one))) {
    code.set(`reference-${id}.ts`, `${imports}${typeScriptSample(id, 'http://a.example')}`)
  }
  return code
}

test('strict compilers accept every program in the documentation as it is printed', async () => {
  const code = documentedCode()
  assert.ok(code.size > 120)
  const folder = join(project, 'documented')
  mkdirSync(folder)
  writeFileSync(join(folder, 'surroundings.d.ts'), SURROUNDINGS)
  for (const [name, text] of code) writeFileSync(join(folder, name), `${text}\nexport {}\n`)
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    lib: ['es2023', 'esnext.disposable', 'dom', 'dom.iterable'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  for (const compiler of compilers) {
    const args = [`${compiler}/bin/tsc`, '-p', folder]
    const checked = await run(process.execPath, args).catch((error) => error)
    assert.equal(checked.stdout, '', compiler)
  }
})

test('no type needs a TypeScript newer than 5.4', () => {
  for (const name of globSync('dist/**/*.d.ts', { cwd: installed })) {
    // Arrays of bytes have a parameter from 5.7 on.
    assert.ok(!/\d(?:Clamped)?Array</.test(readFileSync(join(installed, name), 'utf8')), name)
  }
})

test('the package is complete without other files', () => {
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  assert.equal(manifest.dependencies, undefined)
  assert.equal(manifest.license, 'MIT')
  for (const name of ['README.md', 'LICENSE']) assert.ok(readFileSync(join(installed, name)).length)
  const names = globSync('**/*.{js,ts}', { cwd: installed })
  assert.ok(names.length > 10)
  for (const name of names) {
    const text = readFileSync(join(installed, name), 'utf8')
    const specifiers = /(?:\sfrom\s+|import\(|require\()['"]([^'"]+)['"]/g
    for (const [, specifier = ''] of text.matchAll(specifiers)) {
      assert.match(specifier, /^\.\/[a-z-]+\.js$/, `${name}: ${specifier}`)
    }
  }
})
