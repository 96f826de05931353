// The service is told to end while clients are in the middle of mail and requests: each is finished or refused with a
// reason, no acknowledged message is lost, and the end comes in time.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Sender } from '#test/peers/sender.ts'
import { plainMail } from '#test/world.ts'
import { type Acknowledged, compareReceived } from './intake.ts'
import { SERVICE_KEY, Service } from './service.ts'
import { readStored } from './stored.ts'

/** The aim is ten seconds, after which the service cuts the remaining connections. */
const EXIT_MS_MAX = 20_000
const OF_EACH_KIND = 10
const CHECKOUT = fileURLToPath(new URL('../../../../', import.meta.url))

suite('an orderly end', { concurrency: true }, () => {
  test('SIGTERM lets messages on their way finish, refuses new ones, and exits 0 in ten seconds', async (t) => {
    const service = await Service.start()
    t.after(() => service.close())
    const inbox = await service.client.inboxes.create({})
    const open = (stage: Stage) => openAll(service, inbox.address, stage)
    const idle = await open('greeted')
    const named = await open('recipient')
    const invited = await open('data')
    const finishing = await open('half')
    const hanging = await open('half')
    const request = await openRequest(service, '{"displayName":')
    const held = await openRequest(service, null)

    const ended = service.stop('SIGTERM')
    await untilRefused(service.smtpPort)
    await untilRefused(service.httpPort)
    const acknowledged: Acknowledged[] = []
    for (const { sender, messageId, raw, sent } of [...finishing, ...invited]) {
      sender.write(Buffer.concat([raw.subarray(sent), Buffer.from('.\r\n')]))
      const { code } = await sender.reply()
      assert.ok(code === 250 || code === 421, `in the middle of a message: ${code}`)
      const sha256 = hash('sha256', raw, 'hex')
      if (code === 250) acknowledged.push({ messageId, inboxIds: [inbox.id], sha256 })
    }
    for (const { sender } of [...idle, ...named]) assert.equal((await sender.reply()).code, 421)
    request.write('"late"}')
    assert.match(await readAll(request), /^HTTP\/1\.1 (201|503) /)
    held.destroy()
    for (const { sender } of hanging) {
      const reply = await sender.reply().catch(() => null)
      assert.ok(reply === null || reply.code === 421, 'what never finishes is cut')
    }
    const exit = await ended
    t.diagnostic(
      `exit ${exit.code} after ${Math.round(exit.durationMs)} ms, ${acknowledged.length} of ${2 * OF_EACH_KIND} messages on their way were finished with 250`,
    )
    assert.equal(exit.code, 0)
    assert.ok(exit.durationMs < EXIT_MS_MAX)
    assert.equal(acknowledged.length, 2 * OF_EACH_KIND, 'messages on their way had the time')
    compareReceived(acknowledged, (await readStored(service)).received)
  })

  test('an idle service ends at once', async (t) => {
    const service = await Service.start()
    t.after(() => service.close())
    const idle = await service.sender()
    const kept = await fetch(`${service.baseUrl}/health`)
    await kept.arrayBuffer()
    const exit = await service.stop('SIGINT')
    assert.equal(exit.code, 0)
    assert.ok(exit.durationMs < 7_000, `${exit.durationMs} ms`)
    idle.socket.destroy()
  })

  test('a second SIGTERM ends it at once, with an exit code other than 0', async (t) => {
    const service = await Service.start()
    t.after(() => service.close())
    const inbox = await service.client.inboxes.create({})
    const hanging = await openAll(service, inbox.address, 'half')
    for (const { sender } of hanging) sender.socket.on('error', () => {})
    service.signal('SIGTERM')
    await untilRefused(service.smtpPort)
    await sleep(1_500)
    const exit = await service.stop('SIGTERM')
    assert.ok(exit.code !== 0, `exit code ${exit.code}`)
    assert.ok(exit.durationMs < 5_000, `${exit.durationMs} ms`)
  })

  for (const to of ['process', 'group'] as const) {
    test(`npm start told by SIGTERM to its ${to} drains, exits 0 and leaves no process`, async (t) => {
      const service = await Service.start({ folder: CHECKOUT, wrap: () => ['npm', 'start'] })
      t.after(() => service.close())
      const group = service.pid
      t.after(() => endGroup(group))
      const inbox = await service.client.inboxes.create({})
      const first = await openOne(service, inbox.address, 'half')
      const ended = service.stop('SIGTERM', { to })
      await untilRefused(service.smtpPort)
      first.sender.write(Buffer.concat([first.raw.subarray(first.sent), Buffer.from('.\r\n')]))
      assert.equal((await first.sender.reply()).code, 250)
      const exit = await ended
      assert.deepEqual([exit.code, exit.signal], [0, null], service.log)
      assert.ok(exit.durationMs < EXIT_MS_MAX)
      assert.throws(() => process.kill(-group, 0), 'no process of its group is left')
    })
  }
})

type Stage = 'greeted' | 'recipient' | 'data' | 'half'

type Open = { sender: Sender; messageId: string; raw: Buffer; sent: number }

let count = 0

async function openAll(service: Service, to: string, stage: Stage): Promise<Open[]> {
  return Promise.all(Array.from({ length: OF_EACH_KIND }, () => openOne(service, to, stage)))
}

/** A client in the middle of a transaction. */
async function openOne(service: Service, to: string, stage: Stage): Promise<Open> {
  const sender = await service.sender()
  const messageId = `<${++count}@drain.example>`
  const raw = Buffer.from(plainMail({ to, messageId, body: 'text\r\n'.repeat(500) }))
  const open = { sender, messageId, raw, sent: 0 }
  if (stage === 'greeted') return open
  assert.equal((await sender.command('MAIL FROM:<a@sender.example>')).code, 250)
  assert.equal((await sender.command(`RCPT TO:<${to}>`)).code, 250)
  if (stage === 'recipient') return open
  assert.equal((await sender.command('DATA')).code, 354)
  if (stage === 'data') return open
  const sent = Math.floor(raw.length / 2)
  sender.write(raw.subarray(0, sent))
  return { ...open, sent }
}

/** A request that is not finished: without the end of its body, or of its head. */
async function openRequest(service: Service, body: string | null): Promise<Socket> {
  const socket = connect(service.httpPort, '127.0.0.1')
  await once(socket, 'connect')
  const head = [
    'POST /v1/inboxes HTTP/1.1',
    'Host: 127.0.0.1',
    `Authorization: Bearer ${SERVICE_KEY}`,
    'Content-Type: application/json',
    'Content-Length: 22',
  ]
  socket.write(`${head.join('\r\n')}\r\n${body === null ? '' : `\r\n${body}`}`)
  await sleep(1_000)
  return socket
}

async function readAll(socket: Socket): Promise<string> {
  let text = ''
  for await (const part of socket) text += part
  return text
}

async function untilRefused(port: number): Promise<void> {
  for (const startMs = performance.now(); performance.now() - startMs < 30_000; ) {
    const socket = connect(port, '127.0.0.1')
    const isRefused = await Promise.race([
      once(socket, 'connect').then(() => false),
      once(socket, 'error').then(() => true),
    ]).catch(() => true)
    socket.on('error', () => {})
    socket.destroy()
    if (isRefused) return
    await sleep(20)
  }
  assert.fail(`port ${port} still takes connections`)
}

function endGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // No process is left, as it should be.
  }
}
