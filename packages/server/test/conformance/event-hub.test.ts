// The follower of the log sends each listener every event from its start, whichever listeners join, leave or fail,
// and reads nothing without listeners.

import assert from 'node:assert/strict'
import { before, beforeEach, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LOG_POLL_MS, LOG_STALL_MS, LOG_UNSETTLED_MS, openStall } from '#events/follow-log.ts'
import { compareOffsets } from '#events/model.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { openExtractions } from '#mailbox/messages/extractions.ts'
import { systemClock } from '#platform/clock.ts'
import { onConnection } from '#platform/db/postgres.ts'
import { silentLog } from '#platform/log.ts'
import type { Db } from '#store/tables.ts'
import {
  CATCH_UPS_AT_ONCE,
  type EventHub,
  type EventListener,
  type Listening,
  openEventHub,
} from '#streams/event-hub.ts'
import { stillClock } from '#test/conformance/delivering.ts'
import {
  addAccount,
  addInbox,
  arriving,
  type Owner,
  openDatabase,
  storeOn,
  untilReadable,
} from '#test/conformance/open-database.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'
import {
  EVENT_TEXT_MS,
  EVENT_TEXTS_BYTES_MAX,
  type EventText,
  openEventTexts,
} from '#webhooks/deliver-webhooks.ts'

/** The same database, whose reads are counted and fail on demand. */
function watched(db: Db): { db: Db; reads: number; isAway: boolean } {
  const watch = { db, reads: 0, isAway: false }
  watch.db = new Proxy(db, {
    get(target, name, receiver) {
      if (name !== 'read') return Reflect.get(target, name, receiver)
      watch.reads += 1
      if (watch.isAway) throw new Error('The database is away.')
      return target.read
    },
  })
  return watch
}

function openHub(db: Db): EventHub {
  const urlKey = new Uint8Array(32)
  const extractions = openExtractions()
  return openEventHub({
    ...storeOn(db),
    publicUrl: () => 'http://mail.test',
    urlKey,
    extractions,
  })
}

type Ear = EventListener & { told: string[]; until(count: number): Promise<void> }

function makeEar(): Ear {
  let onTold = () => {}
  const ear: Ear = {
    told: [],
    wants: () => true,
    notify({ event }) {
      ear.told.push(event.id)
      onTold()
    },
    until: (count) =>
      new Promise((resolve) => {
        onTold = () => {
          if (ear.told.length >= count) resolve()
        }
        onTold()
      }),
  }
  return ear
}

async function receive(db: Db, owner: Owner, inboxId: string): Promise<string> {
  const input = arriving(owner, [inboxId])
  await db.write(storeReceived, input)
  return input.receipts[0]?.eventId ?? ''
}

onEachEngine('the follower of the log of events', (engine) => {
  let inboxId: string
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))
  before(async () => {
    inboxId = await addInbox(db, owner)
  })
  beforeEach(() => untilReadable(db))

  test('reads nothing without listeners, before the first and after the last', async () => {
    const watch = watched(db)
    const hub = openHub(watch.db)
    hub.wake()
    await receive(db, owner, inboxId)
    hub.wake()
    assert.equal(watch.reads, 0)
    await untilReadable(db)
    const ear = makeEar()
    const listening = await hub.listen(owner.accountId, ear)
    const id = await receive(db, owner, inboxId)
    hub.wake()
    await ear.until(1)
    assert.deepEqual(ear.told, [id])
    listening.stop()
    // Pending reads end.
    let reads: number
    do {
      reads = watch.reads
      await sleep(100)
    } while (watch.reads !== reads)
    await receive(db, owner, inboxId)
    hub.wake()
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(watch.reads, reads)
    await hub.close()
  })

  test('sends a listener that joins at any time all events after its offset, and none twice', async () => {
    const hub = openHub(db)
    const first = makeEar()
    const opened: { ear: Ear; listening: Listening; from: Listening['offset'] }[] = []
    const join = async (ear: Ear) => {
      const listening = await hub.listen(owner.accountId, ear)
      opened.push({ ear, listening, from: listening.offset })
    }
    await join(first)
    const written: string[] = []
    const joining: Promise<void>[] = []
    for (let count = 0; count < 150; count++) {
      written.push(await receive(db, owner, inboxId))
      hub.wake()
      if (count % 10 === 0) joining.push(join(makeEar()))
      if (count % 25 === 24) opened.splice(1, 1)[0]?.listening.stop()
    }
    await Promise.all(joining)
    await first.until(written.length)
    assert.deepEqual(first.told, written)
    const rows = await db.read.selectFrom('events').selectAll().execute()
    const places = new Map(
      rows.map((row) => [row.id, { transactionId: row.transaction_id, sequence: row.sequence }]),
    )
    for (const { ear, from } of opened) {
      const behind = written.filter((id) => {
        const place = places.get(id)
        return place !== undefined && compareOffsets(place, from) > 0
      })
      await ear.until(behind.length)
      assert.deepEqual(ear.told, behind)
    }
    await hub.close()
  })

  test('sends a listener that joins during a read the events already read', async () => {
    const other = await addAccount(db)
    const otherInbox = await addInbox(db, other)
    // The hub polls each second: a poll between the two would read them one by one.
    for (let attempt = 1; ; attempt++) {
      const hub = openHub(db)
      const [first, late] = [makeEar(), makeEar()]
      let isAsked = false
      const wants = () => {
        // By then it waits for the messages of the events that it has read.
        if (!isAsked) queueMicrotask(() => hub.listen(other.accountId, late))
        isAsked = true
        return true
      }
      await hub.listen(owner.accountId, { ...first, wants })
      const early = await receive(db, other, otherInbox)
      const id = await receive(db, owner, inboxId)
      await untilReadable(db)
      hub.wake()
      await first.until(1)
      const isShown = await Promise.race([
        late.until(1).then(() => true),
        sleep(5_000, false, { ref: false }),
      ])
      await hub.close()
      assert.deepEqual(first.told, [id])
      if (!isShown && attempt < 5) continue
      assert.deepEqual(late.told, [early])
      return
    }
  })

  test('continues when a listener fails, and asks no listener of another account', async () => {
    const hub = openHub(db)
    const ear = makeEar()
    let asked = 0
    const fails = () => {
      throw new Error('A reader failed.')
    }
    await hub.listen(owner.accountId, { wants: fails, notify: fails })
    await hub.listen(owner.accountId, { wants: () => true, notify: fails })
    await hub.listen('acc_other', {
      wants() {
        asked += 1
        return true
      },
      notify: fails,
    })
    await hub.listen(owner.accountId, ear)
    const written = [await receive(db, owner, inboxId), await receive(db, owner, inboxId)]
    hub.wake()
    await ear.until(2)
    assert.deepEqual(ear.told, written)
    assert.equal(asked, 0)
    await hub.close()
  })

  test('passes events of an inbox only to its listeners, once each', async () => {
    const hub = openHub(db)
    const other = await addInbox(db, owner)
    const asked = { mine: 0, other: 0, all: 0 }
    const ears = { mine: makeEar(), other: makeEar(), all: makeEar() }
    const listen = (name: keyof typeof asked, id?: string) =>
      hub.listen(owner.accountId, {
        ...ears[name],
        ...(id !== undefined && { inboxId: id }),
        wants: () => {
          asked[name] += 1
          return name !== 'other'
        },
      })
    await Promise.all([listen('mine', inboxId), listen('other', other), listen('all')])
    const mine = [await receive(db, owner, inboxId), await receive(db, owner, inboxId)]
    const theirs = await receive(db, owner, other)
    await untilReadable(db)
    hub.wake()
    await ears.all.until(3)
    assert.deepEqual(ears.mine.told, mine)
    assert.deepEqual(ears.all.told, [...mine, theirs])
    assert.deepEqual(ears.other.told, [])
    assert.deepEqual(asked, { mine: 2, other: 1, all: 3 })
    await hub.close()
  })

  test('reports the deletion of an inbox to those who listen only to it', async () => {
    const hub = openHub(db)
    const lost: string[] = []
    const listen = (name: string, id?: string) =>
      hub.listen(owner.accountId, {
        wants: () => false,
        notify: () => {},
        onInboxDeleted: () => lost.push(name),
        ...(id !== undefined && { inboxId: id }),
      })
    await listen('mine', inboxId)
    await listen('other', 'inb_other')
    await listen('all')
    hub.inboxDeleted('acc_other', inboxId)
    assert.deepEqual(lost, [])
    hub.inboxDeleted(owner.accountId, inboxId)
    assert.deepEqual(lost, ['mine'])
    await hub.close()
  })

  test('serves one reader of each account in rotation, however many one account has', async () => {
    const hub = openHub(db)
    const order: string[] = []
    const gate = Promise.withResolvers<void>()
    const held = Array.from({ length: CATCH_UPS_AT_ONCE }, () =>
      hub.catchUp('acc_held', () => gate.promise),
    )
    const look = (accountId: string) =>
      hub.catchUp(accountId, async () => {
        order.push(accountId)
      })
    const looks = ['many', 'many', 'many', 'many', 'one', 'few', 'few'].map(look)
    assert.equal(hub.waiting, 7)
    gate.resolve()
    await Promise.all([...held, ...looks])
    assert.deepEqual(order, ['many', 'one', 'few', 'many', 'few', 'many', 'many'])
    assert.equal(hub.waiting, 0)
    await assert.rejects(hub.catchUp('many', () => Promise.reject(new Error('a failed read'))))
    await look('one')
    await hub.close()
  })

  test('loses nothing while the database is down', async () => {
    const watch = watched(db)
    const hub = openHub(watch.db)
    const ear = makeEar()
    watch.isAway = true
    await assert.rejects(hub.listen(owner.accountId, ear))
    watch.isAway = false
    await hub.listen(owner.accountId, ear)
    watch.isAway = true
    const written = [await receive(db, owner, inboxId)]
    hub.wake()
    await new Promise((resolve) => setTimeout(resolve, 20))
    written.push(await receive(db, owner, inboxId))
    assert.deepEqual(ear.told, [])
    watch.isAway = false
    hub.wake()
    await ear.until(2)
    assert.deepEqual(ear.told, written)
    await hub.close()
  })

  test('finds events without a signal', async () => {
    const hub = openHub(db)
    const ear = makeEar()
    await hub.listen(owner.accountId, ear)
    const id = await receive(db, owner, inboxId)
    await ear.until(1)
    assert.deepEqual(ear.told, [id])
    await hub.close()
  })

  test('notifies its listeners when it ends, and later ones at once', async () => {
    const hub = openHub(db)
    let ended = 0
    const listener = { wants: () => true, notify: () => {}, onShutdown: () => ended++ }
    await hub.listen(owner.accountId, listener)
    await hub.close()
    assert.equal(ended, 1)
    await hub.listen(owner.accountId, listener)
    assert.equal(ended, 2)
  })
})

test('a log that stands still is polled less and less often, and the operator is told once', () => {
  let nowMs = 0
  const told: object[] = []
  const clock = { ...systemClock, monotonic: () => nowMs }
  const log = { ...silentLog, warn: (fields: object) => told.push(fields) }
  const stall = openStall({ ...storeOn({} as Db, clock), log }, 'connections')
  const offset = { transactionId: 1, sequence: 1 }
  assert.equal(stall.delayMs(offset), LOG_UNSETTLED_MS)
  nowMs = LOG_STALL_MS - 1
  assert.equal(stall.delayMs({ ...offset }), LOG_POLL_MS)
  assert.deepEqual(told, [])
  for (nowMs = LOG_STALL_MS; nowMs < 3 * LOG_STALL_MS; nowMs += 1_000) stall.delayMs(offset)
  assert.deepEqual(told, [{ reader: 'connections', waitedMs: LOG_STALL_MS }])
  assert.equal(stall.delayMs({ transactionId: 2, sequence: 2 }), LOG_UNSETTLED_MS)
  stall.end()
  nowMs += 3 * LOG_STALL_MS
  assert.equal(stall.delayMs({ transactionId: 2, sequence: 2 }), LOG_UNSETTLED_MS)
})

suite('the follower of a log with many writers (postgres)', () => {
  const database = opened(() => openDatabase('postgres'))

  test('sends events that waited for an older transaction soon after it, without a signal', async () => {
    const { db, place } = database
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const hub = openHub(db)
    const ear = makeEar()
    await hub.listen(owner.accountId, ear)
    const ids: string[] = []
    const tookMs: number[] = []
    const leastMs = () => Math.min(...tookMs)
    // A busy machine delays some of them, a scheduled poll would delay all.
    for (let round = 1; round <= 15 && leastMs() >= LOG_POLL_MS / 2; round++) {
      let endedMs = 0
      await onConnection(place, async (run) => {
        await run('begin')
        await run('select pg_current_xact_id()')
        ids.push(await receive(db, owner, inboxId))
        hub.wake()
        await new Promise((resolve) => setTimeout(resolve, 100))
        assert.equal(ear.told.length, round - 1)
        endedMs = performance.now()
        await run('commit')
      })
      await ear.until(round)
      assert.deepEqual(ear.told, ids)
      tookMs.push(performance.now() - endedMs)
    }
    assert.ok(leastMs() < LOG_POLL_MS / 2, `they took ${tookMs.join(', ')} ms`)
    await hub.close()
  })
})

const named = (eventId: string, accountId = 'acc_1') => ({ accountId, eventId })

/** Each text has this many characters; `found` counts the lookups of each event. */
function openTexts({ length = 1_000, fails = false } = {}) {
  const clock = stillClock(0)
  const found = new Map<string, number>()
  const options = { isGone: false, fails }
  const deps = { ...storeOn({} as Db, clock), readEventTexts: async () => [] }
  const find = async ({ accountId, eventId }: { accountId: string; eventId: string }) => {
    const key = `${accountId} ${eventId}`
    found.set(key, (found.get(key) ?? 0) + 1)
    if (options.fails) throw new Error('The store is away.')
    const text: EventText = { render: () => 'x'.repeat(length) }
    return options.isGone ? null : text
  }
  const findText = openEventTexts(deps, { find, isShown: async () => !options.isGone })
  return { clock, found, findText, options }
}

test('an event is read once for all listeners of the same time', async () => {
  const { found, findText, clock } = openTexts()
  const all = [findText(named('evt_1')), findText(named('evt_1'))]
  clock.advance(EVENT_TEXT_MS - 1)
  all.push(findText(named('evt_1')))
  const [first, ...others] = await Promise.all(all)
  for (const other of others) assert.equal(other, first)
  assert.deepEqual([...found.values()], [1])
})

test('an event is read again after a while, and for another account', async () => {
  const { found, findText, clock } = openTexts()
  await findText(named('evt_1'))
  await findText(named('evt_1', 'acc_2'))
  clock.advance(EVENT_TEXT_MS)
  await findText(named('evt_1'))
  assert.deepEqual(
    [...found],
    [
      ['acc_1 evt_1', 2],
      ['acc_2 evt_1', 1],
    ],
  )
})

test('an event that was missing or failed to load is looked up again', async () => {
  const { found, findText, options } = openTexts({ fails: true })
  await assert.rejects(findText(named('evt_1')))
  options.fails = false
  options.isGone = true
  assert.equal(await findText(named('evt_1')), null)
  options.isGone = false
  assert.notEqual(await findText(named('evt_1')), null)
  assert.deepEqual([...found.values()], [3])
})

test('an event whose message was removed is told no longer, also while it is kept', async () => {
  const { findText, options } = openTexts()
  assert.notEqual(await findText(named('evt_1')), null)
  options.isGone = true
  assert.equal(await findText(named('evt_1')), null)
})

test('the cache keeps the newest large events, up to its size', async () => {
  const room = 4
  const { found, findText } = openTexts({ length: EVENT_TEXTS_BYTES_MAX / 4 / room })
  for (let event = 0; event < room + 2; event++) await findText(named(`evt_${event}`))
  await findText(named('evt_5'))
  await findText(named('evt_2'))
  assert.deepEqual([found.get('acc_1 evt_5'), found.get('acc_1 evt_2')], [1, 1])
  await findText(named('evt_1'))
  assert.equal(found.get('acc_1 evt_1'), 2)
})
