// More clients than the service may have open files: some are refused, each acknowledgement is true, and when they leave
// the service recovers.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { plainMail } from '#test/world.ts'
import { Service } from './service.ts'
import { readStored } from './stored.ts'

const DESCRIPTORS = 64
const CLIENTS = 100
const RECOVERY_MS_MAX = 30_000

test('with 64 descriptors and 100 clients some are refused, each 250 is true, and the service recovers', async (t) => {
  const service = await Service.start({
    wrap: (command) => ['sh', '-c', `ulimit -n ${DESCRIPTORS}; exec "$@"`, 'sh', ...command],
  })
  t.after(() => service.close())
  const { pid } = service
  const inbox = await service.client.inboxes.create({})
  const early = await service.sender()
  let stored = 0
  const offer = async (body: string) => {
    const reply = await early.send({ to: inbox.address, raw: plainMail({ body }) })
    if (reply.code === 250) stored += 1
    else await early.command('RSET')
    return reply.code
  }
  assert.equal(await offer('before'), 250)

  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, (_, n) => openClient(service, n)),
  )
  const seen = new Map<string, number>()
  for (const { answer } of clients) seen.set(answer, (seen.get(answer) ?? 0) + 1)
  for (const body of ['during', 'large\r\n'.repeat(40_000)]) {
    const code = await offer(body)
    assert.ok([250, 451, 452].includes(code), `a message was answered ${code}`)
    seen.set(`message ${code}`, (seen.get(`message ${code}`) ?? 0) + 1)
  }
  t.diagnostic(`${CLIENTS} clients: ${JSON.stringify(Object.fromEntries(seen))}`)
  assert.ok((seen.get('closed') ?? 0) + (seen.get('421') ?? 0) > 0, 'there were too many')
  assert.ok((seen.get('220') ?? 0) > 0, 'some were served')

  for (const { socket } of clients) socket.destroy()
  const startMs = performance.now()
  while ((await openClient(service, 0).then(thenDestroy)) !== '220') {
    assert.ok(performance.now() - startMs < RECOVERY_MS_MAX, 'it takes connections again')
    await sleep(50)
  }
  await service.untilReady(RECOVERY_MS_MAX)
  assert.equal(await offer('after'), 250)
  assert.equal(await offer('large and after\r\n'.repeat(20_000)), 250)
  await early.quit()
  assert.equal(service.pid, pid)
  assert.equal((await service.stop()).code, 0)
  assert.equal((await readStored(service)).received.length, stored)
})

type Client = { socket: Socket; answer: string }

function thenDestroy({ socket, answer }: Client): string {
  socket.destroy()
  return answer
}

/** From one of two addresses, for each may have fifty; the code of the greeting, or how it failed. */
async function openClient(service: Service, number: number): Promise<Client> {
  const socket = connect({
    host: '127.0.0.1',
    port: service.smtpPort,
    ...(process.platform === 'linux' && { localAddress: `127.0.0.${2 + (number % 3)}` }),
  })
  socket.on('error', () => {})
  const answer = await Promise.race([
    once(socket, 'data').then(([text]) => String(text).slice(0, 3)),
    once(socket, 'close').then(() => 'closed'),
    sleep(3_000).then(() => 'waiting'),
  ]).catch(() => 'closed')
  return { socket, answer }
}
