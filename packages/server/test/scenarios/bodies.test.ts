import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { isLongRun } from '@mailroom/mail/test/size-of.ts'
import type { Inbox, Message } from '@mailroom/sdk'
import { exchange } from '#test/http/wire.ts'
import { errorOf, outcomeOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

const BODIES: [description: string, body: string | Uint8Array<ArrayBuffer>][] = [
  ['nested 100,000 deep', `{"name":${'['.repeat(100_000)}`],
  ['nested 1,000 deep and closed', `{"name":${'['.repeat(1_000)}${']'.repeat(1_000)}}`],
  ['with a byte order mark', '\ufeff{"name":"a"}'],
  ['in UTF-16', Buffer.from('{"name":"a"}', 'utf16le')],
  ['in UTF-16 with its mark', Buffer.from('\ufeff{"name":"a"}', 'utf16le')],
  ['of invalid UTF-8', Buffer.from('7b226e616d65223a22ff227d', 'hex')],
  ['of overlong UTF-8', Buffer.from('7b226e616d65223a22c0af227d', 'hex')],
  ['with a surrogate in UTF-8', Buffer.from('7b226e616d65223a22eda080227d', 'hex')],
  ['with __proto__', '{"__proto__":{"polluted":"yes"},"name":"a"}'],
  ['with an escaped __proto__', '{"\\u005f_proto__":{"polluted":"yes"}}'],
  ['with constructor.prototype', '{"constructor":{"prototype":{"polluted":"yes"}}}'],
  ['with a key twice', '{"name":"a","name":"b"}'],
  ['with a NUL', '{"name":"a\\u0000b"}'],
  ['with a NUL in a key', '{"na\\u0000me":"b"}'],
  ['with half a surrogate pair', '{"name":"\\ud83d"}'],
  ['with 1e400', '{"name":1e400}'],
  ['with a number for text', '{"name":1}'],
  ['with an object for text', '{"name":{"toString":"x"}}'],
  ['with a list for text', '{"name":["a"]}'],
  ['with an unknown field', '{"name":"a","isDefault":true}'],
  ['that is a list', '[{"name":"a"}]'],
  ['that is a string', '"name"'],
  ['that is null', 'null'],
  ['that is cut off', '{"name":"a"'],
  ['with a rest', '{"name":"a"} {}'],
  ['with a comment', '{"name":"a" /* x */}'],
  ['with NaN', '{"name":NaN}'],
  ['of 5,000 wrong fields', JSON.stringify(Object.fromEntries(range(5_000)))],
  ['of nothing but space', '   '],
]

onEachEngine('bodies and paths', (engine) => {
  const world = opened(() => openTenant(engine))
  let inbox: Inbox
  let message: Message
  before(async () => {
    inbox = await world.inbox()
    const headers = ['MIME-Version: 1.0', `Content-Disposition: attachment; filename=${LONG_NAME}`]
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address, headers }) })
    const [first] = (await world.client.messages.list(inbox.id).page()).data
    if (first === undefined) throw new Error('The message did not arrive.')
    message = first
    inbox = await world.client.inboxes.get(inbox.id)
  })

  const send = (
    method: string,
    path: string,
    body: string | Uint8Array<ArrayBuffer>,
    type = 'application/json',
  ) => world.fetch(path, { method, body, headers: { 'content-type': type } })

  // Invalid JSON is refused before the database; texts of valid JSON must not reach either database.
  const bodies =
    engine === 'sqlite' || isLongRun()
      ? BODIES
      : BODIES.filter(([description]) => /NUL|surrogate|UTF-8/.test(description))
  for (const [description, body] of bodies) {
    test(`a body ${description} is 400 on every operation with a body`, async () => {
      const { total } = await world.client.pods.list().page()
      for (const [method, path] of [
        ['POST', '/v1/pods'],
        ['POST', '/v1/inboxes'],
        ['PATCH', `/v1/inboxes/${inbox.id}`],
        ['PATCH', `/v1/threads/${message.threadId}`],
        ['POST', '/v1/api-keys'],
      ] as const) {
        if (method === 'POST' && path !== '/v1/pods' && body === '   ') continue
        const response = await send(method, path, body)
        const { error, details } = await errorOf(response)
        assert.deepEqual([response.status, error], [400, 'bad_request'], path)
        assert.ok(Array.isArray(details) && details.length > 0 && details.length <= 20)
      }
      assert.equal((await world.client.pods.list().page()).total, total)
      assert.deepEqual(await world.client.inboxes.get(inbox.id), inbox)
      assert.equal(Reflect.get({}, 'polluted'), undefined)
    })
  }

  test('a body of another type is 415, a too large one 413, and the service stays up', async () => {
    for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x']) {
      const response = send('POST', '/v1/pods', '{}', type)
      assert.equal(await outcomeOf(response), '415 unsupported_media_type')
    }
    const large = JSON.stringify({ name: 'x'.repeat(2 * 1024 * 1024) })
    assert.equal(await outcomeOf(send('POST', '/v1/pods', large)), '413 payload_too_large')
    await world.client.pods.list().page()
  })

  test('names used by the language itself are ordinary names', async () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '$ne', '{{x}}']) {
      const pod = await world.client.pods.create({ clientId: name, name })
      assert.deepEqual(await world.client.pods.get(name), pod)
      await world.client.pods.delete(name)
    }
    assert.equal(Reflect.get({}, 'polluted'), undefined)
  })

  test('a path with dot segments, an early end or invalid text finds nothing', async () => {
    const files = `/v1/attachments/${message.id}`
    const paths = [
      `${files}/..%2f..%2fetc%2fpasswd`,
      `${files}/..%2F..%2F..%2F..%2Fetc%2Fpasswd`,
      `${files}/%2e%2e%2f%2e%2e%2fetc%2fpasswd`,
      `${files}/%252e%252e%252fetc%252fpasswd`,
      `${files}/..%5c..%5cetc%5cpasswd`,
      `${files}/..\\..\\etc\\passwd`,
      `${files}/../../../../etc/passwd`,
      `${files}/%00`,
      `${files}/a.txt%00.png`,
      `${files}/%ff`,
      `${files}/%c0%af`,
      `${files}/%ed%a0%80`,
      `${files}/%`,
      `${files}/%zz`,
      `${files}/`,
      `${files}//etc/passwd`,
      `${files}/etc/passwd`,
      '/v1/inboxes/..%2f..%2fadmin%2faccounts',
      '/v1/inboxes/%2e%2e/pods',
      '/v1/../admin/accounts',
      '/v1/pods/%00',
      '/v1/pods/%ff',
      '/v1/threads/%00/messages',
      '/v1/api-keys%2f',
      '//v1/pods',
      '/V1/pods',
      '/v1/pods/',
      '/v2/pods',
      '/v1',
      '/.env',
      '/v1/pods;a=b',
    ]
    for (const path of paths) {
      const answer = await get(path)
      assert.ok(answer.status >= 400 && answer.status < 500, `${path}: ${answer.status}`)
      const body = JSON.parse(answer.body) as Record<string, unknown>
      assert.equal(typeof body.error, 'string')
      assert.equal(body.requestId, answer.headers.get('x-request-id'))
      assert.ok(!answer.body.includes('root:'))
    }
  })

  test('a file name of more than a hundred characters in a path works', async () => {
    const path = `/v1/attachments/${message.id}/${LONG_NAME}`
    assert.equal((await world.fetch(path)).status, 200)
    assert.equal(await outcomeOf(world.fetch(`${path}x`)), '404 not_found')
  })

  test('an invalid query is 400, and an unknown parameter is ignored and named', async () => {
    const bad = ['limit=', 'limit[]=1', 'limit=1&limit=2', 'offset=%00', 'limit=1%00', 'limit=0x10']
    for (const query of bad) {
      assert.equal(await outcomeOf(world.fetch(`/v1/pods?${query}`)), '400 bad_request', query)
    }
    for (const query of ['', '&&', '__proto__=1', 'constructor[prototype][x]=1', '%=1', 'a=%ff']) {
      assert.equal((await world.fetch(`/v1/pods?${query}`)).status, 200, query)
    }
    const mistyped = await errorOf(await world.fetch('/v1/inboxes?adress=ann@friend.example'))
    assert.match(String(mistyped.message), /"adress" is not known. Perhaps you mean "address"\./)
    const threads = `/v1/inboxes/${message.inboxId}/threads`
    assert.equal(await outcomeOf(world.fetch(`${threads}?is_raed=false`)), '400 bad_request')
    const ignored = await world.fetch(`${threads}?is_read=false&cursor=x&page_token=y&a%0d%0ab=1`)
    assert.equal(ignored.status, 200)
    const named = ignored.headers.get('mailroom-ignored-parameters')
    assert.equal(named, 'cursor, page_token, a%0D%0Ab')
    const known = await world.fetch(`${threads}?isRead=false&metadata[a]=b&metadata.c=d`)
    assert.equal(known.headers.get('mailroom-ignored-parameters'), null)
    assert.equal(await outcomeOf(world.fetch('/v1/inboxes?podId=%00')), '400 bad_request')
    assert.equal((await world.fetch('/v1/inboxes?podId=%ff%27')).status, 200)
  })

  async function get(path: string) {
    const { port } = new URL(world.baseUrl)
    const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${world.key}\r\n`
    return exchange(Number(port), `${head}Connection: close\r\n\r\n`)
  }
})

const LONG_NAME = `${'n'.repeat(150)}.txt`

function range(count: number): [string, number][] {
  return Array.from({ length: count }, (_, index) => [`field${index}`, index])
}
