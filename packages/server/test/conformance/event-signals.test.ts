import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { openOwnSignals, type Signals } from '#platform/db/db.ts'
import { onConnection } from '#platform/db/postgres.ts'
import { openPostgresSignals } from '#platform/db/postgres-signals.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'

type Ear = {
  readonly signals: Signals
  heard: number
  /** Resolves at the next signal. */
  next(): Promise<void>
}

function listenTo(signals: Signals): Ear {
  const waiting: (() => void)[] = []
  const ear: Ear = {
    signals,
    heard: 0,
    next: () => new Promise((resolve) => waiting.push(resolve)),
  }
  signals.listen(() => {
    ear.heard += 1
    for (const resolve of waiting.splice(0)) resolve()
  })
  return ear
}

suite('signals between processes (postgres)', () => {
  let url: string
  const lost: Error[] = []
  const open: Ear[] = []
  before(async () => {
    url = await createTestDatabase()
  })
  after(() => Promise.all(open.map(({ signals }) => signals.close())))

  /** Resolves when connected, which is itself a signal. */
  async function connect(sender: string): Promise<Ear> {
    const options = { url, sender, onError: (error: Error) => void lost.push(error) }
    const ear = listenTo(openPostgresSignals(options))
    open.push(ear)
    await ear.next()
    ear.heard = 0
    return ear
  }

  const terminateAll = () =>
    onConnection(url, (run) =>
      run(`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'mailroom signals' and datname = current_database()`),
    )

  test('reach the others, and the sender once; many are combined into few', async () => {
    const [one, two] = [await connect('one'), await connect('two')]
    const heard = two.next()
    for (let count = 0; count < 1_000; count++) one.signals.notify()
    assert.equal(one.heard, 1_000, 'in its own process each at once')
    await heard
    const answered = one.next()
    two.signals.notify()
    await answered
    assert.ok(two.heard <= 3, `${two.heard} signals reached the other`)
    assert.equal(one.heard, 1_001)
  })

  test('are sent after a pause by a process that sent one before', async () => {
    const [one, two] = [await connect('three'), await connect('four')]
    const first = two.next()
    one.signals.notify()
    await first
    const second = two.next()
    one.signals.notify()
    await second
  })

  test('leave the connection unchanged for its next user', async (t) => {
    const query = t.mock.method(pg.Client.prototype, 'query')
    const [one, two] = [await connect('seven'), await connect('eight')]
    const heard = two.next()
    one.signals.notify()
    await heard
    const asked = query.mock.calls.map(({ arguments: [text], this: client }) => ({ text, client }))
    // Earlier signals may still be pending.
    const own = asked.filter(({ text }) => String(text).startsWith('listen'))
    const clients = new Set(own.map(({ client }) => client as pg.Client))
    assert.equal(clients.size, 2)
    for (const client of clients) {
      const { rows } = await client.query('show synchronous_commit')
      assert.deepEqual(rows, [{ synchronous_commit: 'on' }])
    }
  })

  test('survive late messages of an earlier connection', async (t) => {
    const [one, two] = [await connect('nine'), await connect('ten')]
    const late = Promise.withResolvers<never>()
    const query = t.mock.method(pg.Client.prototype, 'query', () => late.promise)
    one.signals.notify()
    query.mock.restore()
    const back = Promise.all([one.next(), two.next()])
    await terminateAll()
    await back
    const lostBefore = lost.length
    late.reject(new Error('Query read timeout'))
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(lost.length, lostBefore)
    const heard = two.next()
    one.signals.notify()
    await heard
  })

  test('resume when the connection is back, with one signal for missed ones', async () => {
    const [one, two] = [await connect('five'), await connect('six')]
    const back = Promise.all([one.next(), two.next()])
    await terminateAll()
    await back
    assert.ok(lost.length >= 2)
    const heard = two.next()
    one.signals.notify()
    await heard
  })
})

test('a single process receives its own signals', () => {
  const ear = listenTo(openOwnSignals())
  ear.signals.notify()
  assert.equal(ear.heard, 1)
})
