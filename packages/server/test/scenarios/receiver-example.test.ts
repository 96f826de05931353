import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Inbox, WebhookWithSecret } from '@mailroom/sdk'
import { deliver } from '#test/scenarios/deliver.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { openWorld, plainMail, type World } from '#test/world.ts'

const LIMIT = { timeout: 120_000 }
const PAGE = new URL('../../../../docs/events.md', import.meta.url)
const PRINTED = /`receiver\.mjs`:\n\n```js\n(?<program>.*?)```/s
const LINES_MAX = 25
const FORGED = '{"event":"message.received","event_id":"evt_forged","message":{"subject":"Forged"}}'

let world: World
let inbox: Inbox
let webhook: WebhookWithSecret
let program = ''
let folder = ''
let receiver: ChildProcess
/** The running receivers; one that outlived the tests would keep their process alive. */
const running = new Set<ChildProcess>()
let origin = ''
/** The output of the receiver on both streams. */
let output = ''

before(async () => {
  program = PRINTED.exec(await readFile(PAGE, 'utf8'))?.groups?.program ?? ''
  folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  await writeFile(join(folder, 'receiver.mjs'), program)
  world = await openWorld('sqlite', { env: { MAILROOM_ALLOW_PRIVATE_EGRESS: 'true' } })
  inbox = await world.inbox('agent')
  const port = await freePort()
  origin = `http://127.0.0.1:${port}`
  webhook = await world.client.webhooks.create({ url: `${origin}/` })
  receiver = run({ WEBHOOK_SECRET: webhook.secret, PORT: String(port) })
  receiver.stdout?.on('data', (text) => (output += text))
  receiver.stderr?.on('data', (text) => (output += text))
  await until(async () => {
    assert.equal(receiver.exitCode, null, output)
    return fetch(origin).then(
      () => true,
      () => false,
    )
  })
})
after(async () => {
  for (const child of running) {
    child.kill()
    await once(child, 'close')
  }
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

function run(env: Record<string, string>): ChildProcess {
  const file = join(folder, 'receiver.mjs')
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  return child.once('close', () => running.delete(child))
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

/** Resolves with the line when the receiver has printed an event of mail with this subject. */
async function printed(subject: string): Promise<string> {
  const isOf = (line: string) => line.endsWith(` ${subject}`)
  await until(async () => output.split('\n').slice(0, -1).some(isOf))
  return output.split('\n').find(isOf) ?? ''
}

/** The newest delivery, once it has succeeded: its number of attempts and its event. */
async function newestSuccess(): Promise<string> {
  const newest = async () => (await world.client.webhooks.deliveries(webhook.id).page()).data[0]
  await until(async () => (await newest())?.status === 'succeeded')
  const delivery = await newest()
  return `${delivery?.attempts} ${delivery?.eventId}`
}

/** The status of a request with a body, a time in seconds since the Unix epoch and a signature. */
async function post(body: string, seconds: string, signature: string): Promise<number> {
  const headers = { 'x-timestamp': seconds, 'x-signature': signature }
  return (await fetch(origin, { method: 'POST', body, headers })).status
}

function signed(body: string, seconds: string, secret: string): string {
  return createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
}

test('the page prints a short receiver', () => {
  assert.match(program, /createServer/)
  const count = program.trimEnd().split('\n').length
  assert.ok(count <= LINES_MAX, `It has ${count} lines.`)
})

test('the printed receiver accepts and prints mail events', LIMIT, async () => {
  await deliver(world, inbox, plainMail({ subject: 'Hello, agent' }))
  const line = await printed('Hello, agent')
  const { data } = await world.client.events.list({ event_types: 'message.received' }).page()
  assert.equal(line, `message.received ${data[0]?.event_id} ${inbox.id} Hello, agent`)
  assert.equal(await newestSuccess(), `1 ${data[0]?.event_id}`)
})

test('the printed receiver refuses forged, altered and old requests', LIMIT, async () => {
  const before = output
  const now = String(Math.floor(Date.now() / 1000))
  const old = String(Number(now) - 301)
  const { secret } = webhook
  const refused = [
    post(FORGED, now, '0'.repeat(64)),
    post(FORGED, now, ''),
    post(FORGED, now, 'no hexadecimal digits'),
    post(FORGED, now, signed(FORGED, now, '')),
    post(FORGED, now, signed(FORGED, now, `${secret}x`)),
    post(`${FORGED} `, now, signed(FORGED, now, secret)),
    post(FORGED, now, signed(FORGED, old, secret)),
    post(FORGED, old, signed(FORGED, old, secret)),
    fetch(origin, { method: 'POST', body: FORGED }).then(({ status }) => status),
  ]
  assert.deepEqual(
    await Promise.all(refused),
    refused.map(() => 401),
  )
  assert.equal(output, before)
  assert.equal(await post(FORGED, now, signed(FORGED, now, secret)), 204)
  await printed('Forged')
})

test('the printed receiver survives an aborted request', LIMIT, async () => {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(
    'POST / HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n{',
  )
  // The answer to Expect shows that the request is being handled.
  await once(socket, 'data')
  socket.resetAndDestroy()
  const { ok } = await world.client.webhooks.test(webhook.id)
  assert.deepEqual([ok, receiver.exitCode], [true, null])
})

test('the printed receiver accepts the old secret after a rotation', LIMIT, async () => {
  await world.client.webhooks.rotateSecret(webhook.id)
  await deliver(world, inbox, plainMail({ subject: 'After the rotation' }))
  await printed('After the rotation')
  assert.match(await newestSuccess(), /^1 evt_/)
})

test('the printed receiver does not start without a secret', { timeout: 60_000 }, async () => {
  const close = (env: Record<string, string>) => once(run({ ...env, PORT: '0' }), 'close')
  assert.deepEqual(await close({}), [1, null])
  assert.deepEqual(await close({ WEBHOOK_SECRET: '' }), [1, null])
})
