import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { openPeer } from './peer.ts'

const run = promisify(execFile)
const sdk = new URL('../', import.meta.url).pathname
const compiler = new URL('../../../node_modules/typescript/bin/tsc', import.meta.url).pathname

let project: string
let installed: string

before(async () => {
  project = await mkdtemp(join(tmpdir(), 'mailroom-sdk-'))
  const dist = join(project, 'dist')
  await run(process.execPath, [`${sdk}build.ts`, dist])
  const { stdout } = await run('npm', ['pack', '--silent', dist], { cwd: project })
  installed = join(project, 'node_modules/@mailroom/sdk')
  mkdirSync(installed, { recursive: true })
  const tarball = join(project, stdout.trim())
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed])
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
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
  const { stdout } = await run(process.execPath, ['send.js', peer.baseUrl], { cwd: project })
  assert.equal(stdout.trim(), 'msg_1 function')
  assert.equal(peer.requests[0]?.url, '/v1/inboxes/inb_1/send')
})

const PROGRAM = `
import {
  type Event,
  type Inbox,
  Mailroom,
  MailroomError,
  type SentMessage,
  verifyWebhook,
  WebhookVerificationError,
} from '@mailroom/sdk'

const mailroom = new Mailroom({ baseUrl: 'http://a.example', apiKey: 'key' })
const inbox: Inbox = await mailroom.inboxes.create({ displayName: 'Ada' })
const message = { to: 'ann@example.com', subject: 'A subject', body: 'A body.' }
const sent: SentMessage = await mailroom.inboxes.send(inbox.id, message)
const status: 'pending' | 'sent' | 'failed' = sent.status
for await (const thread of mailroom.threads.list(inbox.id, { is_read: false })) {
  const { data } = await mailroom.threads.messages(thread.id)
  const text: string | undefined = data[0]?.extractedText
  const role: 'to' | 'cc' | null | undefined = data[0]?.deliveryRole
  console.log(text, role, status)
}
for await (const event of mailroom.events.follow({ eventTypes: ['message.received'], WebSocket })) {
  const subject: string | undefined = event.message?.subject
  console.log(subject)
}
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
  mailroom.threads.list(inbox.id, { isRead: true })
  // @ts-expect-error: unknown kind of event
  mailroom.events.follow({ eventTypes: ['message.read'] })
  // @ts-expect-error: the type of the response is known
  console.log(sent.nothing)
} catch (error) {
  if (error instanceof MailroomError && error.code === 'bad_request') console.log(error.fix)
}
`

test("a strict compiler accepts the package's types, and finds mistakes by them", async () => {
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    lib: ['es2022', 'dom', 'esnext.disposable'],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: false,
    noEmit: true,
    skipLibCheck: false,
  }
  writeFileSync(join(project, 'program.ts'), PROGRAM)
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['program.ts'] }),
  )
  const checked = await run(process.execPath, [compiler, '-p', project]).catch((error) => error)
  assert.equal(checked.stdout, '')
})

test('the package is complete without other files', () => {
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  assert.equal(manifest.dependencies, undefined)
  const names = globSync('**/*.{js,ts}', { cwd: installed })
  assert.ok(names.length > 10)
  for (const name of names) {
    const text = readFileSync(join(installed, name), 'utf8')
    for (const [, specifier = ''] of text.matchAll(/(?:\sfrom\s+|import\()['"]([^'"]+)['"]/g)) {
      assert.match(specifier, /^\.\/[a-z-]+\.js$/, `${name}: ${specifier}`)
    }
  }
})
