import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { Mailroom } from '@mailroom/sdk'
import { ACTIVE_KEYS_MAX } from '#accounts/account-rows.ts'
import { PAIRING_LOOKUPS_PER_MINUTE_MAX } from '#accounts/pairing.ts'
import { BUDGET_SLICES } from '#rate-limits/leased-budgets.ts'
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

  test('allow exactly the limit of requests, and again in the next window', async () => {
    const { key } = await world.newAccount()
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.all(atOnce(200, (index) => ask(index, key)))
      // A busy machine may answer 503, to a counted or an uncounted request.
      const counted = answers.filter(({ headers }) => headers.has('ratelimit-limit'))
      const refused = counted.filter(({ status }) => status === 429)
      assert.equal(counted.length - refused.length, REQUESTS, `round ${round}`)
      for (const { status } of answers) assert.ok([200, 429, 503].includes(status), `${status}`)
      for (const { headers } of refused) {
        assert.match(headers.get('retry-after') ?? '', /^(5\d|6[01])$/)
        assert.equal(headers.get('ratelimit-remaining'), '0')
        assert.equal(headers.get('ratelimit-limit'), String(REQUESTS))
      }
      await pass(60_400)
    }
  })

  test('refuse early by at most one slice that the other does not use', async () => {
    const { key } = await world.newAccount()
    assert.equal((await ask(0, key)).headers.get('ratelimit-remaining'), String(REQUESTS - 1))
    const answers = await Promise.all(atOnce(REQUESTS, () => ask(1, key)))
    const accepted = answers.filter(({ status }) => status === 200).length
    const slice = Math.floor(REQUESTS / BUDGET_SLICES)
    assert.ok(accepted >= REQUESTS - 1 - slice && accepted < REQUESTS, `${accepted}`)
  })

  test('count failed authentications of an address together', async () => {
    world.clock.advance(61_000)
    const answers = await Promise.all(atOnce(2 * FAILURES, (index) => ask(index, 'mr_wrong')))
    const outcomes = answers.map(({ status }) => status)
    assert.equal(outcomes.filter((status) => status === 401).length, FAILURES)
    assert.equal(outcomes.filter((status) => status === 429).length, FAILURES)
    await pass(61_000)
    for (const index of [0, 1]) assert.equal((await ask(index, world.key)).status, 200)
  })

  test('refuse bad keys after the limit, even at the one without failures, and accept good keys', async () => {
    for (let count = 0; count < FAILURES; count++) {
      assert.equal((await ask(0, 'mr_wrong')).status, 401)
    }
    assert.equal((await ask(0, 'mr_wrong')).status, 429)
    await until(async () => (await ask(1, 'mr_wrong')).status === 429)
    assert.equal((await ask(1, world.key)).status, 200)
    // For the rest of the minute, without any request.
    await pass(40_000)
    for (const index of [0, 1]) {
      const { status, headers } = await ask(index, 'mr_wrong')
      assert.equal(status, 429)
      assert.match(headers.get('retry-after') ?? '', /^([1-9]|1\d|2[01])$/)
    }
    await pass(21_000)
    for (const index of [0, 1]) assert.equal((await ask(index, world.key)).status, 200)
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
    const looks = await Promise.all(
      atOnce(PAIRING_LOOKUPS_PER_MINUTE_MAX + 8, (index) =>
        outcomeOf(ask(index, key, '/auth/cli/requests/ABCD-EFGH')),
      ),
    )
    const refused = looks.filter((one) => one === '429 rate_limit_exceeded').length
    const slice = Math.floor(PAIRING_LOOKUPS_PER_MINUTE_MAX / BUDGET_SLICES)
    assert.ok(refused >= 8 && refused <= 8 + slice, `${refused}`)
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
