import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OperationId, operationOf } from '@mailroom/contract/operations.ts'
import { isFullRun } from '@mailroom/mail/test/size-of.ts'
import { runSql } from '#test/peers/sql.ts'
import { untilReadable } from '#test/scenarios/event-world.ts'
import {
  type Belongings,
  filterOperations,
  findGaps,
  foreignNames,
  inboxOperations,
  listOperations,
  type Probe,
  pathOperations,
  podOperations,
  probe,
  queryOperations,
  readOperations,
  threadOperations,
} from '#test/scenarios/isolation-matrix.ts'
import { connectAssistant } from '#test/scenarios/oauth-client.ts'
import { errorOf, outcomeOf, until } from '#test/scenarios/outcomes.ts'
import { holdSend } from '#test/scenarios/review-world.ts'
import { exported, imported } from '#test/scenarios/transfer-mail.ts'
import { type Account, onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

test('every operation of the contract on objects of accounts is in the matrix', () => {
  assert.deepEqual(findGaps(), [])
  assert.ok(pathOperations().length >= 14)
})

/** Operations on the policy of a pod or an inbox, which their query names. */
const POLICIES = new Set<OperationId>([
  'policy.get',
  'policy.replace',
  'policy.setMode',
  'policy.createRule',
])

onEachEngine('isolation', (engine) => {
  const world = opened(() => openTenant(engine))

  const ann = prepared(() => world.newAccount())
  const bob = prepared(() => world.newAccount())
  const anns = prepared(() => own(ann, 'anns-pod'))
  const bobs = prepared(() => own(bob, 'bobs-pod'))

  /** A pod with an inbox with a message with an attachment, and one object of every other kind. */
  async function own({ client }: Account, clientId: string): Promise<Belongings> {
    const pod = await client.pods.create({ clientId })
    const inbox = await client.inboxes.create({ podId: pod.id })
    const headers = ['MIME-Version: 1.0', 'Content-Disposition: attachment; filename=a.txt']
    await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address, headers }) })
    const [message] = (await client.messages.list(inbox.id).page()).data
    assert.equal(message?.attachments[0]?.filename, 'a.txt')
    const key = await client.apiKeys.create()
    await connectAssistant({ baseUrl: world.baseUrl, key: key.token })
    const [connection] = (await client.connections.list().page()).data
    const connectionClient = await client.connections.createClient({
      name: clientId,
      redirectUris: [`https://${clientId}.example/callback`],
    })
    const { address } = await client.suppressions.create({ address: `_${clientId}@gone.example` })
    const url = `https://${clientId}.example/hook`
    const webhook = await client.webhooks.create({ url, enabled: false })
    const blocked = { value: `${clientId}@spam.example`, inboxId: inbox.id }
    const rule = await client.senderRules.create({ type: 'block', ...blocked })
    await world.send({ to: inbox.address, from: blocked.value, raw: plainMail({}) })
    const [quarantined] = (await client.quarantine.list().page()).data
    assert.equal(quarantined?.ruleId, rule.id)
    const domain = await client.domains.create({ domain: `${clientId}.example`, podId: pod.id })
    const draft = await client.drafts.create(inbox.id, { subject: clientId })
    // Read before anything is compared: a later reading would change the message.
    await client.attachments.text(message?.id ?? '', 'a.txt')
    const held = await holdSend(world, inbox, {}, { client })
    // Bob, whose key makes the requests, has none: it could no longer change what approvers decide.
    const approver =
      clientId === 'anns-pod'
        ? await client.approvers.create({ name: 'Eve' })
        : { id: 'apr_01h455vb4pex5vsknk084sn02r' }
    const gone = await client.erasures.create({ address: `${clientId}@erased.example` })
    await client.erasures.untilDone(gone.id)
    const file = await exported(client, { inboxId: inbox.id, format: 'jsonl' })
    const { content } = await client.exports.download(file.id)
    const into = await imported(client, inbox.id, new Uint8Array(content))
    const upload = await client.uploads.create(new Uint8Array([1]), { filename: clientId })
    return {
      erasure: gone.id,
      export: file.id,
      import: into.id,
      upload: upload.id,
      pod: pod.id,
      inbox: inbox.id,
      inboxAddress: inbox.address,
      thread: message?.threadId ?? '',
      message: message?.id ?? '',
      key: key.id,
      connection: connection?.id ?? '',
      connectionClient: connectionClient.id,
      approver: approver.id,
      review: held.reviewId,
      address,
      webhook: webhook.id,
      rule: rule.id,
      quarantined: quarantined?.id ?? '',
      domain: domain.id,
      draft: draft.id,
    }
  }

  function ask(account: Account, { method, path, body, headers }: Probe): Promise<Response> {
    return world.fetch(path, {
      method,
      headers: { ...headers, authorization: `Bearer ${account.key}` },
      ...(body && { body: JSON.stringify(body) }),
    })
  }

  /** Everything that the account can read, as text. */
  async function readAll(account: Account, belongings: Belongings): Promise<string> {
    const probes = [
      ...listOperations().map((id) => probe(id, '')),
      ...readOperations().map(({ id, kind }) => probe(id, belongings[kind])),
    ]
    const texts: string[] = []
    for (const request of probes) {
      const response = await ask(account, request)
      assert.equal(response.status, 200, request.path)
      const text = await response.text()
      // Signed URLs depend on the time, as do the last use of a key and the delivery of events; the marks of a view
      // are random.
      const varying =
        /\?expires=[^"]*|"(?:lastUsedAt|delivered_at|asOf)":[^,}]*|MAIL [0-9a-f]{32}(?=>>>| \(untrusted)/g
      texts.push(text.replaceAll(varying, ''))
    }
    return texts.join('\n')
  }

  test('every object that is not the account’s own is 404 like an id that does not exist, and does not change', async () => {
    await untilReadable(world)
    for (const { client } of [ann, bob]) {
      await until(async () => (await client.usage.get()).totals.received > 0)
    }
    const before = [await readAll(ann, anns), await readAll(bob, bobs)]
    const bodies = new Map<string, Map<string, string>>()
    for (const [at, { id, kind }] of pathOperations().entries()) {
      const names = [...foreignNames(kind, anns, bobs), 'anns-pod']
      // In a quick run a quarter of the names for each operation, and the other account's own object for all.
      const tried = names.filter((_, index) => isFullRun() || index === 0 || (index + at) % 4 === 0)
      for (const name of tried) {
        const response = await ask(bob, probe(id, name))
        const described = `${id} of ${JSON.stringify(name)}`
        assert.equal(response.status, 404, `${described}: ${response.status}`)
        const { requestId: _, ...body } = await errorOf(response)
        const text = JSON.stringify([shapeOf(body, name), [...response.headers.keys()].sort()])
        // An id that is very long or has control characters is not repeated.
        const group = /^\P{C}{1,200}$/u.test(name) ? id : 'not repeated'
        const texts = bodies.get(group) ?? new Map<string, string>()
        bodies.set(group, texts.set(text, described))
      }
    }
    for (const [id, texts] of bodies)
      assert.equal(texts.size, 1, `${id}: ${[...texts].join(' / ')}`)
    assert.deepEqual([await readAll(ann, anns), await readAll(bob, bobs)], before)
  })

  /** The body with the requested id left out, and without the hint that follows from its form alone. */
  function shapeOf(body: Record<string, unknown>, name: string) {
    const message = String(body.message).replace(` ${name} `, ' <id> ')
    return {
      ...body,
      message,
      fix:
        body.fix &&
        String(body.fix).replace(/Such ids begin \S+ \S+ (?:GET \S+ finds an address\. )?/, ''),
    }
  }

  test('an attachment is found only under its own message and name', async () => {
    const names = ['b.txt', 'A.TXT', 'a.txt ', '../a.txt', 'a.txt\0', '', 'x'.repeat(3_000)]
    for (const filename of names.filter((name) => name !== '')) {
      const response = await ask(bob, probe('attachments.get', bobs.message, filename))
      assert.equal(await outcomeOf(response), '404 not_found', filename)
    }
    assert.equal((await ask(bob, probe('attachments.get', bobs.message))).status, 200)
  })

  test('lists show nothing of another account', async () => {
    for (const id of listOperations()) {
      const text = await (await ask(bob, probe(id, ''))).text()
      for (const theirs of [...Object.values(anns), ann.id, 'anns-pod']) {
        assert.ok(!text.includes(theirs), `${id} shows ${theirs}`)
      }
    }
    const { data, total } = await bob.client.pods.list().page()
    assert.deepEqual([data.length, total], [2, 2])
  })

  const filtered = (id: OperationId, name: string, value: string) => {
    const good = probe(id, '')
    const start = good.path.includes('?') ? '&' : '?'
    return { ...good, path: `${good.path}${start}${name}=${encodeURIComponent(value)}` }
  }

  test('a pod of another account counts as unknown in a filter and in a body', async () => {
    const foreign = [anns.pod, 'anns-pod', 'unknown', 'pod_01h455vb4pex5vsknk084sn02q', anns.inbox]
    for (const podId of foreign) {
      for (const id of podOperations('query')) {
        if (POLICIES.has(id)) continue
        const response = await ask(bob, filtered(id, 'podId', podId))
        const { data, total } = (await response.json()) as { data: unknown[]; total: number }
        assert.deepEqual([data, total], [[], 0], id)
      }
      for (const id of podOperations('body')) {
        const good = probe(id, bobs.domain)
        const response = await ask(bob, { ...good, body: { ...good.body, podId } })
        assert.equal(await outcomeOf(response), '400 invalid_pod')
      }
    }
    const taking = (place: 'query' | 'body') =>
      podOperations(place)
        .filter((id) => !POLICIES.has(id))
        .sort()
        .join(' ')
    assert.equal(taking('query'), 'domains.list inboxes.list messages.search senderRules.list')
    assert.equal(
      taking('body'),
      'domains.create domains.update exports.create inboxes.create senderRules.create',
    )
    assert.equal((await bob.client.inboxes.list().page()).total, 1)
  })

  test('an inbox of another account counts as unknown in a filter and in a body', async () => {
    for (const inboxId of [anns.inbox, 'unknown', 'inb_01h455vb4pex5vsknk084sn02q', bobs.pod]) {
      for (const id of inboxOperations('query')) {
        if (POLICIES.has(id)) continue
        const response = await ask(bob, filtered(id, 'inboxId', inboxId))
        const { data, total } = (await response.json()) as { data: unknown[]; total: number }
        assert.deepEqual([data, total], [[], 0], id)
      }
      for (const id of inboxOperations('body')) {
        const good = probe(id, '')
        const response = await ask(bob, { ...good, body: { ...good.body, inboxId } })
        const outcome = id === 'exports.create' ? '404 not_found' : '400 bad_request'
        assert.equal(await outcomeOf(response), outcome)
      }
    }
    assert.deepEqual(inboxOperations('query').sort(), [
      'messages.search',
      'policy.createRule',
      'policy.get',
      'policy.replace',
      'policy.setMode',
      'quarantine.list',
      'reviews.list',
      'senderRules.list',
      'threads.labels',
    ])
    assert.deepEqual(inboxOperations('body').toSorted(), ['exports.create', 'senderRules.create'])
  })

  test('the policy of a pod or an inbox of another account is unknown, and stays', async () => {
    const before = [await readAll(ann, anns), await readAll(bob, bobs)]
    for (const id of POLICIES) {
      const places = [
        ['podId', anns.pod],
        ['podId', 'anns-pod'],
        ['podId', bobs.inbox],
        ['inboxId', anns.inbox],
        ['inboxId', 'inb_01h455vb4pex5vsknk084sn02q'],
      ] as const
      for (const [name, value] of places) {
        const response = await ask(bob, filtered(id, name, value))
        assert.equal(await outcomeOf(response), '404 not_found', `${id} ${value}`)
      }
    }
    assert.deepEqual([await readAll(ann, anns), await readAll(bob, bobs)], before)
  })

  test('a pod or an inbox of another account is refused for a webhook', async () => {
    const body = { url: 'https://hooks.example/' }
    const before = await readAll(bob, bobs)
    for (const id of filterOperations()) {
      const good = probe(id, bobs.webhook)
      const refused: [lists: object, outcome: string][] = [
        [{ podIds: [bobs.pod, anns.pod] }, '400 invalid_pod'],
        [{ podIds: ['anns-pod'] }, '400 invalid_pod'],
        [{ podIds: [bobs.inbox] }, '400 invalid_pod'],
        [{ inboxIds: [bobs.inbox, anns.inbox] }, '400 bad_request'],
        [{ inboxIds: [bobs.pod] }, '400 bad_request'],
        [{ inboxIds: ['inb_01h455vb4pex5vsknk084sn02q'] }, '400 bad_request'],
      ]
      for (const [lists, outcome] of refused) {
        const response = await ask(bob, { ...good, body: { ...body, ...lists } })
        assert.equal(await outcomeOf(response), outcome)
      }
    }
    assert.deepEqual(filterOperations(), ['webhooks.create', 'webhooks.update'])
    assert.equal(await readAll(bob, bobs), before)
  })

  test('an inbox, a thread or an event of another account is refused in requests for events', async () => {
    const get = async (account: Account, path: string) => {
      const headers = { authorization: `Bearer ${account.key}` }
      const response = await world.fetch(path, { headers })
      const { requestId: _, ...body } = (await response.json()) as Record<string, unknown>
      return JSON.stringify({ status: response.status, ...body })
    }
    const unknown = '01h455vb4pex5vsknk084sn02q'
    assert.deepEqual(queryOperations('inbox_id'), ['events.list', 'events.stream'])
    for (const id of queryOperations('inbox_id')) {
      const { path } = operationOf(id)
      const theirs = await get(bob, `${path}?inbox_id=${anns.inbox}`)
      const nobodys = await get(bob, `${path}?inbox_id=inb_${unknown}`)
      assert.equal(JSON.parse(theirs).status, 400)
      assert.equal(theirs.replaceAll(anns.inbox, ''), nobodys.replaceAll(`inb_${unknown}`, ''))
    }
    assert.deepEqual(queryOperations('thread_id'), ['inboxes.wait'])
    const wait = `/v1/inboxes/${bobs.inbox}/wait?timeout=1`
    assert.equal(
      await get(bob, `${wait}&thread_id=${anns.thread}`),
      '{"status":200,"message":null}',
    )
    await untilReadable(world)
    const [event] = JSON.parse(await get(ann, '/v1/events')).data
    for (const path of [`${wait}&`, '/v1/events?', '/v1/events/stream?']) {
      const theirs = await get(bob, `${path}after=${anns.message}`)
      assert.equal(JSON.parse(theirs).status, 400)
      assert.equal(await get(bob, `${path}after=msg_${unknown}`), theirs)
    }
    // An event id is a time, whether or not such an event exists.
    const id: string = event.event_id
    const nobodys = `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`
    const idsAfter = async (after: string) =>
      JSON.parse(await get(bob, `/v1/events?after=${after}`)).data.map(
        (told: { event_id: string }) => told.event_id,
      )
    assert.deepEqual(await idsAfter(id), await idsAfter(nobodys))
    const waitAfter = async (after: string) =>
      JSON.parse(await get(bob, `${wait}&after=${after}`)).message?.id
    assert.equal(await waitAfter(id), await waitAfter(nobodys))
  })

  test('a thread of another account or another inbox is refused for a reply', async () => {
    const other = await bob.client.inboxes.create()
    for (const id of threadOperations()) {
      const good = probe(id, bobs.inbox)
      for (const threadId of [anns.thread, 'thr_01h455vb4pex5vsknk084sn02q', 'x', bobs.inbox]) {
        const response = await ask(bob, { ...good, body: { ...good.body, threadId } })
        assert.equal(await outcomeOf(response), '404 not_found')
      }
      const elsewhere = probe(id, other.id)
      const body = { ...elsewhere.body, threadId: bobs.thread }
      assert.equal(await outcomeOf(ask(bob, { ...elsewhere, body })), '404 not_found')
    }
    const taking = ['inboxes.send', 'inboxes.checkSend', 'drafts.create', 'drafts.update']
    assert.deepEqual(threadOperations(), taking)
  })

  test('the sandbox injects no mail into an inbox of another account', async () => {
    const { address } = await ann.client.inboxes.get(anns.inbox)
    const mail = { from: 'eve@elsewhere.example', subject: 'A subject', text: 'A body.' }
    for (const to of [address, [address], 'nobody@mailroom.localhost']) {
      await assert.rejects(bob.client.sandbox.receive({ ...mail, to }), { status: 400 })
    }
    const received = { direction: 'inbound' } as const
    assert.equal((await ann.client.messages.list(anns.inbox, received).page()).total, 1)
  })

  test('an invalid body gets the same error whether the object is another’s or nobody’s', async () => {
    for (const { id, kind } of pathOperations()) {
      if (operationOf(id).body === undefined) continue
      const answers = []
      for (const name of foreignNames(kind, anns, bobs).slice(0, 2)) {
        const response = await ask(bob, { ...probe(id, name), body: { nonsense: 1 } })
        const { requestId: _, ...body } = await errorOf(response)
        answers.push({ status: response.status, body })
      }
      assert.equal(answers[0]?.status, 400)
      assert.deepEqual(answers[0], answers[1])
    }
  })

  test('a row of another account that is wrongly in an inbox is not shown', async () => {
    const { client } = bob
    const inbox = await client.inboxes.create()
    for (const subject of ['first', 'second']) {
      await world.send({ to: inbox.address, raw: plainMail({ to: inbox.address, subject }) })
    }
    const [newest] = (await client.messages.list(inbox.id).page()).data
    const thread = newest?.threadId ?? ''
    const subjectsOf = async () => {
      const messages = (await client.messages.list(inbox.id).page()).data
      const received = (await client.messages.list(inbox.id, { direction: 'inbound' }).page()).data
      const threads = (await client.threads.list(inbox.id).page()).data
      const unread = (await client.threads.list(inbox.id, { is_read: false }).page()).data
      return [messages, received, threads, unread].map((list) => list.map(({ subject }) => subject))
    }
    const [both, rest] = [['second', 'first'], ['first']]
    assert.deepEqual(await subjectsOf(), [both, both, both, both])
    for (const table of ['messages', 'threads']) {
      const column = table === 'threads' ? 'id' : 'thread_id'
      await runSql(
        world,
        `update ${table} set account_id = '${ann.id}' where ${column} = '${thread}'`,
      )
    }
    assert.deepEqual(await subjectsOf(), [rest, rest, rest, rest])
  })

  test('the totals of a pod change only with its own account', async () => {
    const pod = await bob.client.pods.create()
    const inbox = await bob.client.inboxes.create({ podId: pod.id })
    await runSql(world, `update pods set account_id = '${ann.id}' where id = '${pod.id}'`)
    await bob.client.inboxes.delete(inbox.id)
    const [row] = await runSql(world, `select inbox_count from pods where id = '${pod.id}'`)
    assert.equal(Number(row?.inbox_count), 1)
    await runSql(world, `delete from pods where id = '${pod.id}'`)
  })

  test('an account cannot revoke a key of another account', async () => {
    const keys = (await bob.client.apiKeys.list().page()).total
    const response = await ask(bob, probe('apiKeys.delete', anns.key))
    assert.equal(response.status, 404)
    assert.equal((await ann.client.apiKeys.list().page()).total, 2)
    assert.equal((await bob.client.apiKeys.list().page()).total, keys)
  })
})
