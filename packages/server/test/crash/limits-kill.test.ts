// A process is killed while clients of an account use its connection slots: no other process gives the slots out before
// the lease ends, and within a minute another process gives out all of them, and not one more.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { MINUTE_MS } from '#platform/units.ts'
import { SOCKETS_PER_ACCOUNT_MAX } from '#streams/event-stream.ts'
import { type FeedClient, openFeedClient } from '#test/http/event-feed-client.ts'
import { openSocket, type SocketClient } from '#test/http/socket-client.ts'
import { openWorld, type World } from '#test/world.ts'
import { Service } from './service.ts'

const STEP_MS = 5_000
/** The slots of a dead process are held for 30 s, of which some have passed since the last renewal. */
const EARLY_MS = 10_000
const GUARD_MS = 120_000

suite('connection slots of a process that was killed', () => {
  let survivor: World
  let victim: Service
  before(async () => {
    survivor = await openWorld('postgres')
    const { databaseUrl } = survivor.settings
    assert.ok(databaseUrl !== null)
    const env = { MAILROOM_LIMIT_API_PER_MINUTE: '1000' }
    victim = await Service.start({ databaseUrl, env })
  })
  after(async () => {
    await victim?.close()
    await survivor?.close()
  })

  /** Null when no slot is free. */
  const socketAt = async (address: string, token: string): Promise<SocketClient | null> => {
    const client = await openSocket(address, { token })
    const answer = await client.ask({ type: 'ping' }).catch(() => null)
    if (answer !== null) return client
    assert.equal((await client.closed).code, 4008)
    return null
  }
  const feedAt = async (address: string, token: string): Promise<FeedClient | null> => {
    const headers = { authorization: `Bearer ${token}` }
    const feed = await openFeedClient(`${address}/v1/events/stream`, headers)
    if (feed.response.status === 200) return feed
    assert.equal(feed.response.status, 429)
    feed.close()
    return null
  }
  const isThere = <Client>(client: Client | null): client is Client => client !== null
  const fill = async <Client>(open: () => Promise<Client | null>) => {
    const clients = Array.from({ length: SOCKETS_PER_ACCOUNT_MAX + 1 }, open)
    return (await Promise.all(clients)).filter(isThere)
  }

  test('go to another process when the lease is over', { timeout: GUARD_MS }, async (t) => {
    const { key } = await survivor.newAccount()
    const { baseUrl } = survivor
    const atVictim = [
      await fill(() => socketAt(victim.baseUrl, key)),
      await fill(() => feedAt(victim.baseUrl, key)),
    ]
    const full = [SOCKETS_PER_ACCOUNT_MAX, SOCKETS_PER_ACCOUNT_MAX]
    assert.deepEqual(
      atVictim.map((open) => open.length),
      full,
    )
    assert.equal(await socketAt(baseUrl, key), null)
    await victim.kill()
    const killedMs = performance.now()
    const early = [await socketAt(baseUrl, key), await feedAt(baseUrl, key)]
    const isEarly = performance.now() - killedMs < EARLY_MS
    if (isEarly) assert.deepEqual(early, [null, null], 'its lease is not over')

    let waitedMs = 0
    let first = null
    while (first === null && waitedMs < MINUTE_MS) {
      survivor.clock.advance(STEP_MS)
      waitedMs += STEP_MS
      await survivor.app.deps.budgets.maintain()
      first = await socketAt(baseUrl, key)
    }
    assert.ok(first !== null, `nothing after ${waitedMs} ms`)
    t.diagnostic(`taken over after ${waitedMs} ms of the queue's clock`)
    const sockets = [first, ...(await fill(() => socketAt(baseUrl, key)))]
    const feeds = await fill(() => feedAt(baseUrl, key))
    assert.deepEqual([sockets.length, feeds.length], full)
    for (const { socket } of sockets) socket.terminate()
    for (const feed of feeds) feed.close()
  })
})
