// The program that `npm pack` makes, installed alone, on the oldest Node.js of this machine, with a real service.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import {
  type Inbox,
  type Message,
  type SentMessage,
  type Thread,
  verifyWebhook,
} from '@mailroom/sdk'
import { oldestNode } from '@mailroom/sdk/test/oldest-node.ts'
import { packCopy } from '@mailroom/sdk/test/pack-copy.ts'
import { addOperatorCommands } from '@mailroom/server/commands/command-line.ts'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Command } from 'commander'
import { CliWorld, type Ended, type Program, type RunOptions } from '#test/cli-world.ts'

const SIZE_BYTES_MAX = 400_000
const UNPACKED_BYTES_MAX = 1_600_000

/** What Node.js 20 does not have. */
const NEWER =
  /\b(?:Map|Object)\.groupBy\b|\bPromise\.(?:withResolvers|try)\b|\bArray\.fromAsync\b|\bURL\.parse\b|\bRegExp\.escape\b|\bUint8Array\.from(?:Base64|Hex)\b|\.(?:values|keys|entries)\(\)\.(?:map|filter|some|every|find|reduce|toArray|take|drop|flatMap)\(/g

const node = oldestNode()
let folder: string
let tarball: string
let world: CliWorld
let program: Program
let inbox: Inbox

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mailroom-packed-'))
  tarball = await packCopy('cli', folder)
  const empty = join(folder, 'empty')
  await mkdir(empty)
  const args = ['install', '--offline', '--no-audit', '--no-fund', '--prefix', empty, tarball]
  await promisify(execFile)('npm', args, { cwd: empty })
  program = { node, main: join(empty, 'node_modules/.bin/mailroom') }
  world = await CliWorld.open()
  inbox = await json<Inbox>('inbox', 'create', 'packed')
})
after(async () => {
  await world?.close()
  await rm(folder, { recursive: true, force: true })
})

function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return world.run(args, { ...options, program })
}

async function good(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args)
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
  return stdout
}

async function json<Body>(...args: string[]): Promise<Body> {
  return JSON.parse(await good(...args, '--json'))
}

function receive(subject: string, text = 'A text.') {
  return world.client.sandbox.receive({ from: 'ann@far.example', to: inbox.address, subject, text })
}

test('it is one small package of JavaScript, without dependencies and without the server', async (t) => {
  const modules = join(folder, 'empty/node_modules')
  assert.deepEqual(
    (await readdir(modules)).filter((name) => !name.startsWith('.')),
    ['@mailroom'],
  )
  assert.deepEqual(await readdir(join(modules, '@mailroom')), ['cli'])
  const installed = join(modules, '@mailroom/cli')
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  for (const name of ['dependencies', 'scripts', 'private']) assert.ok(!(name in manifest), name)
  const files = globSync('**/*.*', { cwd: installed })
  for (const name of files) assert.match(name, /(\.js|^package\.json|^README\.md|LICENSES\.txt)$/)
  const sizes = await Promise.all(
    files.map(async (name) => (await stat(join(installed, name))).size),
  )
  const unpacked = sizes.reduce((sum, size) => sum + size, 0)
  const { size } = await stat(tarball)
  t.diagnostic(`${size} bytes packed, ${unpacked} unpacked, on ${node}`)
  assert.ok(size < SIZE_BYTES_MAX && unpacked < UNPACKED_BYTES_MAX)
  const texts = files.map((name) => readFile(join(installed, name), 'utf8'))
  const all = (await Promise.all(texts)).join('\n')
  for (const part of ['fastify', 'node:sqlite', 'create table', 'node:net"']) {
    assert.ok(!all.includes(part), part)
  }
  assert.deepEqual(all.match(NEWER), null)
  const licences = await readFile(join(installed, 'dist/LICENSES.txt'), 'utf8')
  for (const name of ['commander', 'zod', 'ws', '@modelcontextprotocol/server', 'string-width']) {
    assert.match(licences, new RegExp(`^${name} \\d.*\\((MIT|Apache-2\\.0|ISC)\\)\n\n.{20}`, 'ms'))
  }
})

test('it sends, receives, reads, answers and finds mail', async () => {
  const file = join(world.home, 'notes.txt')
  await writeFile(file, 'Some notes.')
  const args = ['--from', 'ann@far.example', '--to', inbox.address, '--subject', 'A question']
  const injected = await json<{ data: Message[] }>(
    ...['sandbox', 'inject', ...args, '--text', 'How are you?', '--attach', file],
  )
  const [message] = injected.data
  assert.ok(message)
  const listed = await json<{ data: Thread[] }>('threads', 'list', '--unread')
  assert.equal(listed.data[0]?.id, message.threadId)
  assert.match(await good('messages', 'get', message.id), /^Subject: A question$/m)
  assert.match(await good('threads', 'get', message.threadId, '--view'), /How are you\?/)
  assert.equal(await good('attachments', 'get', message.id, 'notes.txt', '-o', '-'), 'Some notes.')
  const sent = await json<SentMessage>('reply', message.threadId, '--text', 'Fine, thank you.')
  assert.equal(sent.threadId, message.threadId)
  await good('threads', 'label', message.threadId, '--add', 'answered')
  assert.deepEqual((await world.client.threads.get(message.threadId)).labels, ['answered'])
  const mbox = join(world.home, 'all.mbox')
  await good('export', '--inbox', inbox.address, '-o', mbox)
  const other = await json<Inbox>('inbox', 'create', 'other')
  assert.match(await good('import', mbox, '--inbox', other.address), /^imported\t2$/m)
  assert.equal((await run(['messages', 'get', 'msg_none'])).code, 4)
  assert.match(await good('status'), /packed|account|ready/i)
})

test('it waits for a code', async () => {
  const waiting = run(['wait', '--inbox', inbox.id, '--code', '--since', '1m', '--timeout', '60s'])
  await receive('Your verification code', 'Your verification code is 482913.')
  assert.deepEqual(await waiting, { code: 0, stdout: '482913\n', stderr: '' })
})

test('listen --forward posts events to a server on this machine, over a WebSocket that reconnects', async () => {
  const told: { headers: IncomingHttpHeaders; body: string }[] = []
  const receiver = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += piece
    told.push({ headers: request.headers, body })
    response.end()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const { port } = receiver.address() as AddressInfo
  const args = ['--forward', `http://127.0.0.1:${port}/hook`, '--events', 'message.received']
  const running = world.start(['listen', ...args], { program })
  try {
    const [, secret = ''] = await running.until(/Signing secret: (whsec_\S+)/)
    await running.until(/Listening to/)
    await receive('Forwarded')
    await running.until(/^200 \d+ ms\t.*\tForwarded$/m)
    const [first] = told
    assert.ok(first)
    const event = await verifyWebhook(first.body, first.headers, secret)
    assert.equal(event.message?.subject, 'Forwarded')
    await world.stopService()
    await running.until(/Connection lost/)
    await world.startService()
    await receive('Behind the break')
    await running.until(/^200 \d+ ms\t.*\tBehind the break$/m)
    running.child.kill('SIGINT')
    assert.equal((await running.ended).code, 130)
  } finally {
    running.child.kill('SIGKILL')
    receiver.closeAllConnections()
    receiver.close()
  }
})

test('mcp serves the account over standard input and output', async () => {
  await receive('For a model', 'Read me.')
  for (const mode of ['auto', 'legacy'] as const) {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    const { node: command, main } = program
    const transport = new StdioClientTransport({ command, args: [main, 'mcp'], env: world.envOf() })
    await client.connect(transport)
    try {
      const names = (await client.listTools()).tools.map(({ name }) => name)
      assert.ok(names.includes('send_mail') && names.includes('read_thread'), String(names))
      const { content } = await client.callTool({ name: 'list_unread', arguments: {} })
      assert.match(JSON.stringify(content), /For a model/)
    } finally {
      await client.close()
    }
  }
})

test('every command that needs the server says where it is, whatever it is given', async () => {
  const whole = new Command().helpCommand(false)
  addOperatorCommands(whole)
  const names = whole.commands.map((command) => command.name())
  assert.ok(names.includes('serve') && names.includes('admin') && names.includes('doctor'))
  const help = await good('--help')
  for (const name of names) {
    const { code, stdout, stderr } = await run([name, 'create', '--name', 'x', '--bucket'])
    assert.deepEqual([code, stdout], [1, ''], name)
    assert.match(
      stderr,
      new RegExp(`^mailroom: "mailroom ${name}" is only available in the full repository`),
    )
    assert.match(await good(name, '--help'), /only available in the full repository/)
    assert.doesNotMatch(help, new RegExp(`^  ${name} `, 'm'))
  }
  assert.match(help, /"serve" and "admin" are only available in the full repository/)
  assert.equal((await run(['no-such-command'])).code, 2)
})

test('a Node.js that is too old is told so', async () => {
  const code = `Object.defineProperty(process, 'versions', { value: { node: '18.20.0' } })`
  const old = `data:text/javascript,${encodeURIComponent(code)}`
  const args = ['--import', old, program.main, '--version']
  const failed = await promisify(execFile)(node, args).catch((error) => error)
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /requires Node\.js 20 or newer/)
})
