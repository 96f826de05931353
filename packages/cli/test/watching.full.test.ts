import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { type Event, type Inbox, verifyWebhook } from '@mailroom/sdk'
import { CliWorld } from '#test/cli-world.ts'

let world: CliWorld
let inbox: Inbox
/** Ended with the file, even when a test fails. */
const servers: Server[] = []
before(async () => {
  world = await CliWorld.open()
  inbox = await world.client.inboxes.create({ mailboxName: 'watched' })
})
after(async () => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
  await world.close()
})

async function receive(subject: string, text = 'A text.', from = 'ann@sender.example') {
  await world.client.sandbox.receive({ from, to: inbox.address, subject, text })
}

/** Repeats until the command has ended, because the command may not be waiting yet. */
async function receiveUntil(ended: Promise<unknown>, subject: string, text?: string) {
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  while (!isOver) {
    await receive(subject, text)
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 300))])
  }
}

test('wait prints only the message that matches', async () => {
  const args = [
    'wait',
    '--inbox',
    inbox.address,
    '--subject',
    'wanted',
    '--timeout',
    '60s',
    '--json',
  ]
  const running = world.start(args)
  await receive('something else')
  await receiveUntil(running.ended, 'This is WANTED')
  const { code, stdout, stderr } = await running.ended
  assert.equal(code, 0, stderr)
  assert.equal(JSON.parse(stdout).subject, 'This is WANTED')
})

test('wait includes earlier messages when asked to', async () => {
  await receive('Before the call')
  const { data } = await world.client.messages.list(inbox.id, { limit: 1 }).page()
  await receive('Behind it')
  const after = await world.good('wait', '--after', data[0]?.id ?? '', '--timeout', '20s')
  assert.match(after, /^Subject: Behind it$/m)
  const args = ['--since', '1h', '--subject', 'before the', '--timeout', '20s']
  assert.match(await world.good('wait', ...args), /^Subject: Before the call$/m)
  const none = await world.run(['wait', '--since', '1h', '--subject', 'never', '--timeout', '2s'])
  assert.equal(none.code, 124)
})

test('wait --since waits for the first message of an inbox', async () => {
  const empty = await world.client.inboxes.create()
  const running = world.start(['wait', '--inbox', empty.id, '--since', '1h', '--timeout', '60s'])
  const mail = { from: 'ann@sender.example', to: empty.address, subject: 'First', text: 'x' }
  await world.client.sandbox.receive(mail)
  const { code, stdout } = await running.ended
  assert.equal(code, 0)
  assert.match(stdout, /^Subject: First$/m)
  await world.client.inboxes.delete(empty.id)
})

test('wait --code prints only the code, and skips mail without one', async () => {
  const running = world.start(['wait', '--code', '--timeout', '60s'])
  await receive('Newsletter', 'Nothing to see in 2026.')
  await receiveUntil(running.ended, 'Your verification code', 'Your verification code is 482913.')
  const { code, stdout, stderr } = await running.ended
  assert.equal(code, 0, stderr)
  assert.equal(stdout, '482913\n')
  const none = await world.run(['wait', '--code', '--timeout', '1s'])
  assert.equal(none.code, 124)
  assert.match(none.stderr, /No message with a code/)
})

test('listen continues after the last event when the service was away', async () => {
  const running = world.start([
    'listen',
    '--json',
    '--inbox',
    inbox.address,
    '--events',
    'message.received',
  ])
  await running.until(/Listening to/)
  await receive('Before the break')
  await running.until(/Before the break/)
  await world.stopService()
  await running.until(/Connection lost/)
  await world.startService()
  await receive('After the break')
  await running.until(/After the break/)
  running.child.kill('SIGINT')
  const { stdout } = await running.ended
  const events: Event[] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    events.map(({ message }) => message?.subject),
    ['Before the break', 'After the break'],
  )
  const since = world.start(['listen', '--since', events[0]?.event_id ?? ''])
  await since.until(/\tmessage\.received\tevt_\S+\tann@sender\.example\tAfter the break\n/)
  since.child.kill('SIGINT')
  await since.ended
})

test('a key that is revoked ends listen with 3', async () => {
  const { id, token } = await world.client.apiKeys.create()
  const running = world.start(['listen'], { env: { MAILROOM_API_KEY: token } })
  await running.until(/Listening to/)
  await world.client.apiKeys.delete(id)
  assert.equal((await running.ended).code, 3)
})

type Told = { headers: IncomingHttpHeaders; body: string }

test('listen --forward posts the same requests as a webhook, and survives a receiver that is down', async () => {
  const told: Told[] = []
  let answer = 500
  const receiver = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += piece
    told.push({ headers: request.headers, body })
    response.statusCode = answer
    response.end()
    answer = 200
  })
  const port = await listenOn(receiver, 0)
  const args = [
    'listen',
    '--forward',
    `http://127.0.0.1:${port}/hook`,
    '--events',
    'message.received',
  ]
  const running = world.start(args)
  const [, secret = ''] = await running.until(/Signing secret: (whsec_\S+)/)
  await running.until(/Listening to/)
  await receive('Forwarded')
  await running.until(/^200 \d+ ms\t.*\tForwarded$/m)
  assert.equal(told.length, 2)
  for (const [at, { headers, body }] of told.entries()) {
    const event = await verifyWebhook(body, headers, secret)
    assert.equal(event.message?.subject, 'Forwarded')
    assert.equal(event.attempt, at + 1)
    assert.equal(headers['x-event-id'], event.event_id)
    const { 'x-timestamp': time, 'x-signature': signature } = headers
    const plain = { 'x-timestamp': time, 'x-signature': signature }
    assert.equal((await verifyWebhook(body, plain, secret)).event_id, event.event_id)
  }
  receiver.closeAllConnections()
  receiver.close()
  await once(receiver, 'close')
  await receive('To nobody')
  await running.until(/^ECONNREFUSED \d+ ms\t.*\tTo nobody$/m)
  const again = createServer((request, response) => {
    request.resume()
    response.end()
  })
  await listenOn(again, port)
  await receive('Back again')
  await running.until(/^200 \d+ ms\t.*\tBack again$/m)
  running.child.kill('SIGINT')
  await running.ended
})

test('listen --forward signs with a given secret and refuses a malformed one', async () => {
  const url = 'http://127.0.0.1:9/'
  const wrong = await world.run(['listen', '--forward', url, '--secret', 'short'])
  assert.equal(wrong.code, 2)
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const running = world.start(['listen', '--forward', url, '--secret', '-'], { input: secret })
  await running.until(/Listening to/)
  assert.ok(!running.stderr().includes(secret))
  running.child.kill('SIGINT')
  await running.ended
})

async function listenOn(server: Server, port: number): Promise<number> {
  servers.push(server)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
