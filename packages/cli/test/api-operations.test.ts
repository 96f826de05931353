import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { clientOperationIds, operationOf, pathNames } from '@mailroom/contract/operations.ts'
import { Transport } from '@mailroom/sdk/transport.ts'
import { makeApiCall } from '#actions/call-api.ts'
import { CliWorld, OPERATOR_TOKEN } from '#test/cli-world.ts'

let world: CliWorld
let peer: Server
let asked: { method: string; path: string; body: string }[] = []
let peerUrl: string
before(async () => {
  world = await CliWorld.open()
  peer = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += piece
    const { pathname } = new URL(request.url ?? '', 'http://peer.example')
    asked.push({ method: request.method ?? '', path: pathname, body })
    response.setHeader('content-type', 'application/json')
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(peer, 'listening')
  peerUrl = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`
})
after(async () => {
  peer.closeAllConnections()
  peer.close()
  await world.close()
})

test('every operation is listed', async () => {
  const lines = (await world.good('api', '--list')).trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => line.split('\t')[0]),
    clientOperationIds,
  )
})

test('every operation is requested with its method and path', async () => {
  const transport = new Transport({ baseUrl: peerUrl, apiKey: 'key' })
  for (const id of clientOperationIds) {
    asked = []
    const { method, path } = operationOf(id)
    const values = pathNames(path).map((name) => `${name}=a value`)
    await transport.send(await makeApiCall(id, values, {}, () => {}))
    const wanted = path.replaceAll(/\{\w+\}/g, 'a%20value')
    assert.deepEqual([asked[0]?.method, asked[0]?.path], [method, wanted], id)
  }
})

test('fields are sent in the place and with the type that the contract gives', async () => {
  const call = await makeApiCall(
    'inboxes.send',
    [
      'id=inb_1',
      'to=a@b.example',
      'body=x=y',
      'cc=c@d.example',
      'cc=e@f.example',
      'includeQuote=false',
    ],
    { idempotencyKey: 'the key' },
    () => {},
  )
  assert.deepEqual(call.path, { id: 'inb_1' })
  assert.deepEqual(call.body, {
    to: ['a@b.example'],
    body: 'x=y',
    cc: ['c@d.example', 'e@f.example'],
    includeQuote: false,
  })
  assert.deepEqual(call.headers, { 'idempotency-key': 'the key' })
  const listed = await makeApiCall('messages.list', ['id=inb_1', 'limit=5'], {}, () => {})
  assert.deepEqual(listed.query, { limit: 5 })
  const cleared = await makeApiCall('domains.update', ['id=dom_1', 'podId:=null'], {}, () => {})
  assert.deepEqual(cleared.body, { podId: null })
})

test('a missing, unknown or malformed field is refused before a request is sent', async () => {
  const wrong: [string[], RegExp][] = [
    [['messages.get'], /needs id=/],
    [['messages.get', 'id=x', 'no=y'], /does not accept "no=y"/],
    [['messages.list', 'id=x', 'limit=many'], /a whole number/],
    [['inboxes.create', 'podId=x', '--body', '{}'], /body is given twice/],
    [['inbox.create'], /Unknown operation/],
    [[], /Name an operation/],
  ]
  for (const [args, told] of wrong) {
    const { code, stderr } = await world.run(['api', ...args])
    assert.equal(code, 2, stderr)
    assert.match(stderr, told)
  }
})

test('the program calls operations of all kinds', async () => {
  const inbox = JSON.parse(await world.good('api', 'inboxes.create', 'mailboxName=by-api'))
  assert.equal(inbox.address, 'by-api@mailroom.localhost')
  const piped = await world.run(['api', 'inboxes.update', `id=${inbox.id}`, '--body', '-'], {
    input: '{"displayName":"Piped"}',
  })
  assert.equal(JSON.parse(piped.stdout).displayName, 'Piped')
  const raw = `From: a@b.example\r\nTo: ${inbox.address}\r\nSubject: x\r\n\r\ny\r\n`
  const args = ['api', 'sandbox.receive', '--content-type', 'message/rfc822', '--body', '-']
  assert.equal(JSON.parse((await world.run(args, { input: raw })).stdout).total, 1)
  assert.equal(await world.good('api', 'inboxes.delete', `id=${inbox.id}`), '')
  assert.equal(JSON.parse(await world.good('api', 'service.openapi')).openapi.slice(0, 3), '3.1')
  assert.match(await world.good('api', 'inboxes.send', '--describe'), /^body\tbody\trequired\t/m)
  const operator = { env: { MAILROOM_API_KEY: OPERATOR_TOKEN } }
  const accounts = await world.run(['api', 'admin.accounts.list'], operator)
  assert.equal(JSON.parse(accounts.stdout).total, 1)
  const open = await world.run(['api', 'service.health'], { isSignedOut: true })
  assert.deepEqual(JSON.parse(open.stdout), { status: 'ok' })
})

test('a stream is printed as it arrives', async () => {
  const inbox = await world.client.inboxes.create()
  const running = world.start(['api', 'events.stream'])
  const mail = { from: 'a@b.example', to: inbox.address, subject: 'Streamed', text: 'x' }
  const timer = setInterval(() => void world.client.sandbox.receive(mail).catch(() => {}), 300)
  try {
    await running.until(/^event: message\.received$/m)
  } finally {
    clearInterval(timer)
  }
  running.child.kill('SIGINT')
  assert.equal((await running.ended).code, 130)
})
