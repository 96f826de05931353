import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { Domain, Inbox, NewApiKey, OwnAccount, Pod, WebhookWithSecret } from '@mailroom/sdk'
import { type Dns, openDns } from '@mailroom/server/test/peers/dns.ts'
import { publish } from '@mailroom/server/test/scenarios/domain-world.ts'
import { CliWorld, KEY } from '#test/cli-world.ts'

type Page<Item> = { data: Item[]; total: number }

let world: CliWorld
let dns: Dns
let receiver: Server
let endpoint: string
let answer = 204
before(async () => {
  dns = await openDns()
  world = await CliWorld.open({ MAILROOM_DNS_SERVERS: dns.server })
  receiver = createServer((request, response) => {
    request.resume()
    response.statusCode = answer
    response.end()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  endpoint = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
})
after(async () => {
  receiver.closeAllConnections()
  receiver.close()
  await world.close()
  await dns.close()
})

test('status and whoami show the service and the account', async () => {
  const account = await world.json<OwnAccount>('whoami')
  assert.deepEqual(account, JSON.parse(JSON.stringify(await world.client.account.get())))
  const status = await world.json<Record<string, unknown>>('status')
  assert.deepEqual(status.account, account)
  assert.equal(status.ready, true)
  assert.equal(status.apiVersion, '1.0.0')
  assert.equal(status.version, (await world.good('--version')).trim())
  const shown = await world.good('status')
  assert.match(shown, /^version\t0\.1\.0\nAPI version\t1\.0\.0$/m)
  assert.match(shown, /^ready\tyes$/m)
  assert.match(shown, /^latency\t\d+(\.\d)? ms$/m)
})

test('status on the machine of the service follows its port', async () => {
  const { port } = new URL(world.baseUrl)
  const env = { MAILROOM_BASE_URL: '', MAILROOM_HTTP_PORT: port }
  const { code, stdout } = await world.run(['status'], { env })
  assert.equal(code, 0)
  assert.match(stdout, new RegExp(`^service\thttp://127\\.0\\.0\\.1:${port}$`, 'm'))
})

test('a pod is created, changed and deleted', async () => {
  const pod = await world.json<Pod>('pods', 'create', '--client-id', 'tenant-1', '--name', 'One')
  assert.equal(pod.clientId, 'tenant-1')
  assert.match(await world.good('pods', 'get', 'tenant-1'), new RegExp(`^id\t${pod.id}$`, 'm'))
  assert.match(await world.good('pods', 'list'), /^pod_\S+\ttenant-1\tOne\tfalse\t/m)
  const changed = await world.json<Pod>('pods', 'update', pod.id, '--name', 'Two')
  assert.equal(changed.name, 'Two')
  assert.equal(await world.good('pods', 'delete', pod.id, '--yes'), '')
  const nothing = await world.run(['pods', 'update', 'tenant-1'])
  assert.equal(nothing.code, 2)
  assert.match(nothing.stderr, /nothing to change\.\n.*--client-id, --name/)
})

test('a domain is found by id or name and shows its DNS records in full', async () => {
  const domain = await world.json<Domain>('domains', 'create', 'my-mail.dev')
  const shown = await world.good('domains', 'get', 'my-mail.dev')
  const lines = shown.trimEnd().split('\n')
  assert.equal(lines.length, domain.records.length)
  for (const [at, { name, value }] of domain.records.entries()) {
    assert.ok(lines[at]?.includes(`\t${name}\t`) && lines[at]?.endsWith(`\t${value}`), lines[at])
  }
  assert.match(await world.good('domains', 'list'), /^dom_\S+\tmy-mail\.dev\tpending\t/m)
  assert.match(await world.good('domains', 'zone-file', domain.id), /^_mailroom\.my-mail\.dev\./m)
  const verified = await world.json<Domain>('domains', 'verify', 'my-mail.dev')
  assert.equal(verified.status, 'pending')
  const pod = await world.json<Pod>('pods', 'create')
  assert.equal(
    (await world.json<Domain>('domains', 'update', domain.id, '--pod', pod.id)).podId,
    pod.id,
  )
  const waited = await world.run([
    'domains',
    'verify',
    domain.id,
    '--wait',
    '--timeout',
    '2s',
    '--interval',
    '1s',
  ])
  assert.equal(waited.code, 124, waited.stderr)
  assert.match(waited.stderr, /^mailroom: my-mail\.dev is pending after 2s\.$/m)
  const once = ['domains', 'verify', domain.id, '--wait', '--timeout', '1s']
  const { stdout } = await world.atTerminal(once, 120).ended
  assert.match(stdout, /my-mail\.dev is pending: DNS has 0 of \d required records …/)
  const waiting = world.atTerminal(
    ['domains', 'verify', 'my-mail.dev', '--wait', '--interval', '1s', '--no-color'],
    120,
  )
  await waiting.until(/0 of \d required records …/)
  publish(dns, domain)
  const ended = await waiting.ended
  assert.equal(ended.code, 0, ended.stdout)
  assert.match(ended.stdout, /^status +verified\r?$/m)
  assert.equal(await world.good('domains', 'delete', 'my-mail.dev', '--yes'), '')
})

test('a webhook is created and tested, its deliveries are read and retried, and its secret is rotated', async () => {
  const made = await world.run([
    'webhooks',
    'create',
    endpoint,
    '--events',
    'message.received',
    '--json',
  ])
  assert.equal(made.code, 0, made.stderr)
  const webhook: WebhookWithSecret = JSON.parse(made.stdout)
  assert.match(webhook.secret, /^whsec_/)
  const { id } = webhook
  assert.match(
    await world.good('webhooks', 'list'),
    new RegExp(`^${id}\t${endpoint}\ttrue\tmessage\\.received\t`, 'm'),
  )
  assert.match(await world.good('webhooks', 'get', id), /^enabled\ttrue$/m)
  assert.match(await world.good('webhooks', 'test', id), /^ok\ttrue$/m)
  answer = 500
  const failed = await world.run(['webhooks', 'test', id])
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /webhook_failed/)
  answer = 204
  const deliveries = await world.json<Page<{ id: string; status: string }>>(
    'webhooks',
    'deliveries',
    id,
  )
  const again = deliveries.data.find(({ status }) => status === 'failed')
  assert.match(await world.good('webhooks', 'retry', id, again?.id ?? ''), /^status\tpending$/m)
  assert.notEqual(
    (await world.json<WebhookWithSecret>('webhooks', 'rotate', id)).secret,
    webhook.secret,
  )
  const changed = await world.json<WebhookWithSecret>('webhooks', 'update', id, '--no-enabled')
  assert.equal(changed.enabled, false)
  assert.equal(await world.good('webhooks', 'delete', id, '--yes'), '')
})

test('an address is suppressed, and receives mail again once the suppression is removed', async () => {
  await world.good('suppressions', 'create', 'gone@far.example')
  assert.match(await world.good('suppressions', 'list'), /^gone@far\.example\tmanual\t/m)
  await world.json<Inbox>('inbox', 'create', 'sender')
  const send = ['send', '--to', 'gone@far.example', '--subject', 'x', '--text', 'y']
  const refused = await world.run(send)
  assert.equal(refused.code, 5)
  assert.match(refused.stderr, /\(recipient_suppressed\)\n {2}Remove the recipient/)
  await world.good('suppressions', 'delete', 'gone@far.example')
  assert.equal((await world.run(send)).code, 0)
})

test('a key is shown once, listed without its token, and revoked', async () => {
  const made = await world.run(['keys', 'create', '--name', 'another', '--json'])
  const key: NewApiKey = JSON.parse(made.stdout)
  const env = { MAILROOM_API_KEY: key.token }
  assert.equal((await world.run(['whoami'], { env })).code, 0)
  const listed = await world.good('keys', 'list')
  assert.match(listed, new RegExp(`^${key.id}\tanother\t`, 'm'))
  assert.ok(!listed.includes(key.token) && !listed.includes(KEY))
  assert.equal(await world.good('keys', 'revoke', key.id, '--yes'), '')
  assert.equal((await world.run(['whoami'], { env })).code, 3)
})
