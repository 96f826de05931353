import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { clientOperationIds, operationOf, pathNames } from '@mailroom/contract/operations.ts'
import { pythonSources } from '@mailroom/contract/python-source.ts'
import { sdkRoutesSource } from '@mailroom/contract/sdk-source.ts'
import { Mailroom } from '@mailroom/sdk/client.ts'
import { EventListing, Listing } from '@mailroom/sdk/listing.ts'
import { openPeer } from './peer.ts'

test('the table of routes equals the contract’s', () => {
  const path = new URL(import.meta.resolve('@mailroom/sdk/routes.ts'))
  assert.equal(readFileSync(path, 'utf8'), sdkRoutesSource())
})

test('the generated files of the Python client are current (else: npm run generate)', () => {
  const folder = new URL('../../sdk-python/src/mailroom/', import.meta.url)
  for (const [name, text] of Object.entries(pythonSources())) {
    assert.equal(readFileSync(new URL(name, folder), 'utf8'), text, name)
  }
})

/** The method for an operation's id: `admin.accounts.list` is client.admin.accounts.list. */
function methodOf(client: Mailroom, id: string): (...values: unknown[]) => unknown {
  const found = id
    .split('.')
    .reduce<unknown>(
      (at, name) => (typeof at === 'object' && at ? Reflect.get(at, name) : at),
      client,
    )
  assert.ok(typeof found === 'function', `${id} has no method`)
  return (...values) => Reflect.apply(found, undefined, values)
}

for (const id of clientOperationIds) {
  test(`${id} is a method that requests its operation`, async () => {
    const operation = operationOf(id)
    const { status } = operation.success
    const peer = await openPeer({ status, body: { data: [], total: 0 } })
    const client = new Mailroom({ baseUrl: `${peer.baseUrl}/`, apiKey: 'mr_key' })
    const names = pathNames(operation.path)
    const values: unknown[] = names.map((name) => `${name} /?#`)
    // The method for many sends takes them as a list.
    if (operation.body) values.push(id === 'inboxes.sendBatch' ? [] : { name: 'a' })
    if (operation.upload) values.push('{"name":"a"}')
    const result = methodOf(client, id)(...values)
    const isListed = result instanceof Listing || result instanceof EventListing
    await (isListed ? result.page() : result)
    await peer.close()
    const [request] = peer.requests
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => `${name}%20%2F%3F%23`)
    assert.equal(request?.method, operation.method)
    assert.equal(request?.url, path)
    assert.equal(request?.headers.authorization, 'Bearer mr_key')
    const body = id === 'inboxes.sendBatch' ? '{"items":[]}' : '{"name":"a"}'
    const type = operation.body ? 'application/json' : undefined
    assert.equal(request?.body, operation.body || operation.upload ? body : '')
    assert.equal(
      request?.headers['content-type'],
      operation.upload ? 'application/octet-stream' : type,
    )
  })
}

test('query parameters equal those of the contract', async () => {
  const peer = await openPeer({ body: { data: [], total: 0 } })
  const client = new Mailroom({ baseUrl: peer.baseUrl, apiKey: 'mr_key' })
  await client.inboxes.list({ podId: 'tenant 1', limit: 5 }).page()
  await client.threads.list('inb_1', { is_read: false, offset: 3 }).page()
  await client.messages.list('inb_1', { direction: 'inbound' }).page()
  await client.threads.messages('thr_1', { limit: 2 })
  await peer.close()
  assert.deepEqual(
    peer.requests.map(({ url }) => url),
    [
      '/v1/inboxes?podId=tenant+1&limit=5',
      '/v1/inboxes/inb_1/threads?is_read=false&offset=3',
      '/v1/inboxes/inb_1/messages?direction=inbound',
      '/v1/threads/thr_1/messages?limit=2',
    ],
  )
})

test('files arrive as bytes with their type', async () => {
  const peer = await openPeer({ headers: { 'content-type': 'message/rfc822' }, body: 'mail' })
  const client = new Mailroom({ baseUrl: peer.baseUrl, apiKey: 'mr_key' })
  const { content, contentType } = await client.messages.raw('msg_1')
  await peer.close()
  assert.equal(contentType, 'message/rfc822')
  assert.deepEqual(content, new TextEncoder().encode('"mail"'))
})

test('a value that cannot stand in a path is refused before the request', async () => {
  const client = new Mailroom({ baseUrl: 'http://a.example', apiKey: 'mr_key' })
  for (const id of ['', '.', '..']) {
    await assert.rejects(client.pods.delete(id), TypeError)
  }
})
