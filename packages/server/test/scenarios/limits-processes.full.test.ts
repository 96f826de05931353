import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { Mailroom } from '@mailroom/sdk'
import { PAIRING_LOOKUPS_PER_MINUTE_MAX } from '#accounts/sessions/pair.ts'
import { ACTIVE_KEYS_MAX } from '#accounts/store/keys.ts'
import { SOCKETS_PER_ACCOUNT_MAX } from '#streams/event-stream.ts'
import { openFeedClient } from '#test/http/event-feed-client.ts'
import { openSocket, type SocketClient } from '#test/http/socket-client.ts'
import { openReceiver } from '#test/peers/receiver.ts'
import { countOutcomes, outcomeOf, refusal, until } from '#test/scenarios/outcomes.ts'
import { type Account, moveAwayFromMidnight, opened, openSecond, openWorld } from '#test/world.ts'

const REQUESTS = 60
const FAILURES = 15
const STEP_MS = 5_000
const LIMITS = {
  MAILROOM_LIMIT_API_PER_MINUTE: String(REQUESTS),
  MAILROOM_LIMIT_FAILED_AUTH_PER_MINUTE: String(FAILURES),
  MAILROOM_LIMIT_SENDS_PER_MINUTE: '1000',
  MAILROOM_LIMIT_SENDS_PER_DAY: '7',
  MAILROOM_LIMIT_COLD_PER_DAY: '10',
  MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY: '15',
  MAILROOM_LIMIT_INBOXES_PER_DAY: '9',
  MAILROOM_ALLOW_PRIVATE_EGRESS: 'true',
}

suite('two services on one database', () => {
  const world = opened(() => openWorld('postgres', { env: LIMITS }))
  const second = opened(() => openSecond(world))
  let addresses: [string, string]
  before(() => {
    // After both have read the shared time of the queue, which each does at its start.
    moveAwayFromMidnight(world.clock)
    addresses = [world.baseUrl, second.http?.address ?? '']
  })

  const addressOf = (index: number) => addresses[index % 2] ?? ''

  /** Clients of the account at both services, alternating. */
  function clientsOf({ key }: Pick<Account, 'key'>): (index: number) => Mailroom {
    const clients = addresses.map(
      (baseUrl) => new Mailroom({ baseUrl, apiKey: key, maxRetries: 0 }),
    )
    return (index) => clients[index % 2] ?? assert.fail()
  }

  /** Sends all requests at once, alternating between the services. */
  const atOnce = <Value>(count: number, run: (index: number) => Promise<Value>) =>
    Array.from({ length: count }, (_, index) => run(index))

  const ask = (index: number, key: string, path = '/v1/pods', method = 'GET') =>
    fetch(`${addressOf(index)}${path}`, { method, headers: { authorization: `Bearer ${key}` } })

  /** Advances the time, and lets both services do their periodic work. */
  async function pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= STEP_MS) {
      world.clock.advance(Math.min(leftMs, STEP_MS))
      await Promise.all([world.app, second].map((app) => app?.deps.budgets.maintain()))
    }
  }

  /** Time in which a use at one service becomes known to the other, many times over. */
  const settle = () => new Promise((resolve) => setTimeout(resolve, 1_000))

  test('allow the limit of requests together, and again in the next minute', async () => {
    const { key } = await world.newAccount()
    for (let round = 0; round < 2; round++) {
      for (const [index, count] of [
        [0, REQUESTS / 3],
        [1, REQUESTS / 3],
        [0, REQUESTS / 3],
      ] as const) {
        const answers = await Promise.all(atOnce(count, () => ask(index, key)))
        assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
        await settle()
      }
      // With this request the second service learns what the first one has allowed since.
      await ask(1, key)
      await settle()
      for (const index of [0, 1]) {
        const { status, headers } = await ask(index, key)
        assert.equal(status, 429)
        assert.match(headers.get('retry-after') ?? '', /^(5\d|60)$/)
        assert.equal(headers.get('ratelimit-remaining'), '0')
        assert.equal(headers.get('ratelimit-limit'), String(REQUESTS))
        assert.equal(headers.get('ratelimit-reset'), headers.get('retry-after'))
      }
      await pass(60_000)
    }
  })

  test('allow at most the limit each to requests of one moment', async () => {
    const { key } = await world.newAccount()
    const answers = await Promise.all(atOnce(4 * REQUESTS, (index) => ask(index, key)))
    // A busy machine may answer 503, to a counted or an uncounted request.
    const accepted = answers.filter(({ status }) => status === 200).length
    assert.ok(accepted >= REQUESTS && accepted <= 2 * REQUESTS, `${accepted}`)
    await settle()
    for (const index of [0, 1]) assert.equal((await ask(index, key)).status, 429)
  })

  test('refuse bad keys of an address after the limit, also where none failed, and accept good keys', async () => {
    await pass(61_000)
    for (let count = 0; count < FAILURES; count++) {
      assert.equal((await ask(0, 'mr_wrong')).status, 401)
    }
    await settle()
    for (const index of [0, 1]) {
      const { status, headers } = await ask(index, 'mr_wrong')
      assert.equal(status, 429)
      assert.match(headers.get('retry-after') ?? '', /^(5\d|60)$/)
      assert.equal((await ask(index, world.key)).status, 200)
    }
    await pass(61_000)
    assert.equal((await ask(1, 'mr_wrong')).status, 401)
  })

  test('allow ten WebSockets and ten streams of an account together', async () => {
    const { key } = await world.newAccount()
    const count = SOCKETS_PER_ACCOUNT_MAX + 4
    const sockets = await Promise.all(
      atOnce(count, (index) => openSocket(addressOf(index), { token: key })),
    )
    const isOpen = async (client: SocketClient) =>
      (await Promise.race([client.ask({ type: 'ping' }), client.closed])) !== undefined &&
      client.socket.readyState === client.socket.OPEN
    const open: SocketClient[] = []
    for (const client of sockets) {
      if (await isOpen(client).catch(() => false)) open.push(client)
      else assert.equal((await client.closed).code, 4008)
    }
    assert.equal(open.length, SOCKETS_PER_ACCOUNT_MAX)
    open[0]?.socket.terminate()
    const next = await openNext(addressOf(1), key)
    for (const { socket } of [...open, next]) socket.terminate()

    const feeds = await Promise.all(
      atOnce(count, (index) =>
        openFeedClient(`${addressOf(index)}/v1/events/stream`, { authorization: `Bearer ${key}` }),
      ),
    )
    const good = feeds.filter(({ response }) => response.status === 200)
    assert.equal(good.length, SOCKETS_PER_ACCOUNT_MAX)
    for (const feed of feeds) feed.close()
  })

  /** Retries until the end of another connection is known. */
  async function openNext(address: string, token: string): Promise<SocketClient> {
    for (;;) {
      const client = await openSocket(address, { token })
      const answer = await client.ask({ type: 'ping' }).catch(() => null)
      if (answer !== null) return client
    }
  }

  test('run one test of a webhook at a time', async () => {
    await using receiver = await openReceiver()
    receiver.answer = { delayMs: 700 }
    const account = await world.newAccount()
    const at = clientsOf(account)
    const { id } = await account.client.webhooks.create({ url: receiver.origin })
    const outcomes = await countOutcomes(atOnce(6, (index) => at(index).webhooks.test(id)))
    assert.deepEqual(outcomes, { done: 1, '429 rate_limit_exceeded': 5 })
    await at(1).webhooks.test(id)
  })

  test('limit lookups of pairing codes together', async () => {
    const { key } = await world.newAccount()
    const look = (index: number) => outcomeOf(ask(index, key, '/auth/cli/requests/ABCD-EFGH'))
    await Promise.all(atOnce(PAIRING_LOOKUPS_PER_MINUTE_MAX, () => look(0)))
    await settle()
    assert.equal(await look(1), '429 rate_limit_exceeded')
  })

  test('refuse a revoked key within a second, and close its connections', async () => {
    const account = await world.newAccount()
    const { id, token } = await account.client.apiKeys.create()
    const [socket, kept] = [
      await openSocket(addressOf(1), { token }),
      await openSocket(addressOf(1), { token: account.key }),
    ]
    const feed = await openFeedClient(`${addressOf(1)}/v1/events/stream`, {
      authorization: `Bearer ${token}`,
    })
    assert.equal((await ask(1, token)).status, 200)
    await account.client.apiKeys.delete(id)
    assert.equal((await ask(1, token)).status, 401)
    assert.equal((await socket.closed).code, 4001)
    assert.equal(await feed.next(), null)
    assert.deepEqual(await kept.ask({ type: 'ping' }), { type: 'pong' })
    kept.socket.terminate()
  })

  test('enforce the limits of a plan, of a day and of keys', async () => {
    const small = await world.newAccount('free')
    const atSmall = clientsOf(small)
    assert.deepEqual(await countOutcomes(atOnce(20, (index) => atSmall(index).inboxes.create())), {
      done: 3,
      '422 inbox_limit_reached': 17,
    })
    const large = await world.newAccount()
    const atLarge = clientsOf(large)
    assert.deepEqual(await countOutcomes(atOnce(20, (index) => atLarge(index).inboxes.create())), {
      done: 9,
      '429 rate_limit_exceeded': 11,
    })
    assert.deepEqual(await countOutcomes(atOnce(30, (index) => atLarge(index).apiKeys.create())), {
      done: ACTIVE_KEYS_MAX - 1,
      '422 api_key_limit_reached': 31 - ACTIVE_KEYS_MAX,
    })
  })

  test('keep the last key of an account, and never put an inbox into a deleted pod', async () => {
    const account = await world.newAccount()
    const at = clientsOf(account)
    const other = await account.client.apiKeys.create()
    const [own] = (await account.client.apiKeys.list().page()).data.filter(
      ({ id }) => id !== other.id,
    )
    const revoking = await countOutcomes([
      at(0).apiKeys.delete(own?.id ?? ''),
      clientsOf({ key: other.token })(1).apiKeys.delete(other.id),
    ])
    assert.equal(revoking.done, 1, JSON.stringify(revoking))

    const next = await world.newAccount()
    const atNext = clientsOf(next)
    for (let round = 0; round < 4; round++) {
      const pod = await next.client.pods.create()
      const [made, removed] = await Promise.allSettled([
        atNext(round).inboxes.create({ podId: pod.id }),
        atNext(round + 1).pods.delete(pod.id),
      ])
      // Either the inbox was created and kept the pod, or the pod was deleted.
      assert.notEqual(made.status, removed.status)
    }
  })

  test('enforce the limits of a day on sends of an inbox, and on strangers over all inboxes', async () => {
    const account = await world.newAccount()
    const at = clientsOf(account)
    const [inbox, ...others] = await Promise.all(atOnce(4, () => account.client.inboxes.create()))
    const mail = (to: string) => ({ to, subject: 'A subject', body: 'A body.' })
    const same = atOnce(14, (index) =>
      at(index).inboxes.send(inbox?.id ?? '', mail('friend@elsewhere.example')),
    )
    assert.deepEqual(await countOutcomes(same), { done: 7, '429 rate_limit_exceeded': 7 })
    const strangers = atOnce(21, (index) =>
      at(index).inboxes.send(others[index % 3]?.id ?? '', mail(`s${index}@elsewhere.example`)),
    )
    // The friend was a stranger, too.
    assert.deepEqual(await countOutcomes(strangers), { done: 14, '429 cold_outreach_limit': 7 })
  })

  test('answer 503 when neither can count', async () => {
    const { key } = await world.newAccount()
    await world.app.deps.db.close()
    assert.equal(await outcomeOf(ask(0, key)), '503 service_unavailable')
    assert.equal((await ask(1, key)).status, 200)
    await until(async () => (await refusal(world.client.pods.list().page())).startsWith('503'))
  })
})
