import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Dice, seededDice } from '@mailroom/mail/test/seeded-dice.ts'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { ReceiveInput } from '#inbound/receive-message-rows.ts'
import { storeReceived } from '#inbound/receive-message-rows.ts'
import { findShownInbox, listInboxes } from '#inboxes/inbox-rows.ts'
import { findShownThread, listThreads } from '#mailbox/thread-rows.ts'
import { keepThreadSummaries } from '#mailbox/thread-summary-rows.ts'
import { systemClock } from '#platform/clock.ts'
import type { Db } from '#schema/tables.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  markThread,
  openDatabase,
  openGrouping,
  receiveTogether,
} from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'
import { queueAll, sending } from './sending.ts'

const STEPS = sizeOf('TEST_MAILROOM_SUMMARY_STEPS', { quick: 30, usual: 60, long: 3_000 })
const OWN = 'someone@mailroom.localhost'

type ModelMessage = { id: string; direction: string; people: string[]; text: string; atMs: number }
type ModelThread = { id: string; messages: ModelMessage[]; readAt: number; isRead: boolean }

/** Columns that earlier programs do not know. */
const NEW_COLUMNS = ['participants', 'snippet', 'summary_count', 'read_count'] as const

onEachEngine('summaries of threads', (engine) => {
  let grouping: Db | null = null
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))
  before(async () => {
    if (engine === 'postgres') grouping = (await openGrouping(database.place)).db
  })
  after(async () => {
    await grouping?.close()
  })

  /** The write of an earlier program, without the columns that it does not know. */
  async function asBefore(inboxId: string, write: () => Promise<void>): Promise<void> {
    const read = () =>
      db.read
        .selectFrom('threads')
        .select(['id', ...NEW_COLUMNS])
        .where('inbox_id', '=', inboxId)
        .execute()
    const old = new Map((await read()).map((row) => [row.id, row]))
    await write()
    const quoted = (value: string | number | null) =>
      typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
    const none = { participants: null, snippet: null, summary_count: 0, read_count: 0 }
    const updates = (await read()).flatMap((row) => {
      const kept = old.get(row.id) ?? none
      const changed = NEW_COLUMNS.filter((name) => row[name] !== kept[name])
      if (changed.length === 0) return []
      const sets = changed.map((name) => `${name} = ${quoted(kept[name])}`)
      return [`update threads set ${sets.join(', ')} where id = '${row.id}'`]
    })
    for (const update of updates) await runSql(database, update)
  }

  function shownOf({ id, messages, readAt, isRead }: ModelThread) {
    const newestFirst = messages.toReversed().flatMap(({ people }) => people)
    const others = [...new Set(newestFirst)].filter((address) => address !== OWN)
    const listed = others.length > 0 ? others.slice(0, 10) : [OWN]
    const inbound = messages.slice(readAt).filter(({ direction }) => direction === 'inbound')
    return {
      id,
      participants: listed.map((address) => ({ name: null, address })),
      snippet: messages.at(-1)?.text ?? '',
      unreadCount: isRead ? 0 : Math.max(1, inbound.length),
      messageCount: messages.length,
    }
  }

  async function compare(inboxId: string, threads: ModelThread[]): Promise<void> {
    const page = await listThreads(db, { ...owner, inboxId, isRead: null, limit: 100, offset: 0 })
    const newest = (thread: ModelThread) => thread.messages.at(-1)?.atMs ?? 0
    const expected = threads.toSorted((a, b) => newest(b) - newest(a))
    const shown = page?.threads.map(({ id, participants, snippet, unreadCount, messageCount }) => ({
      id,
      participants,
      snippet,
      unreadCount,
      messageCount,
    }))
    assert.deepEqual(shown, expected.map(shownOf))
    for (const thread of page?.threads.slice(0, 3) ?? []) {
      assert.deepEqual((await findShownThread(db, owner.accountId, thread.id)).threads, [thread])
    }
    const inbox = await findShownInbox(db, owner.accountId, inboxId)
    assert.deepEqual(
      [inbox?.unreadThreads, inbox?.lastMessageAtMs],
      [threads.filter(({ isRead }) => !isRead).length, Math.max(...threads.map(newest)) || null],
    )
    const listed = await listInboxes(db, { ...owner, podId: null, limit: 100, offset: 0 })
    assert.deepEqual(
      listed.inboxes.find(({ id }) => id === inboxId),
      inbox,
    )
    const summaries = page?.found ?? []
    if (summaries.length === 0) return
    await db.write(keepThreadSummaries, { accountId: owner.accountId, inboxId, summaries })
    const again = await listThreads(db, { ...owner, inboxId, isRead: null, limit: 100, offset: 0 })
    assert.deepEqual(again, { ...page, found: [] })
  }

  /** Random mail in one inbox; `isOld` says of each step whether an earlier program does it. */
  async function live(seed: number, isOld: (roll: Dice) => boolean) {
    const roll = seededDice(seed)
    const inboxId = await addInbox(db, owner)
    const threads: ModelThread[] = []
    let nowMs = 1_000
    const someone = () => `p${roll(14)}@x.example`

    const received = (): ReceiveInput => {
      const parent = roll(20) === 0 ? undefined : threads[roll(threads.length)]
      const id = makeId('msg')
      const author = roll(10) === 0 ? OWN : someone()
      const text = `text ${roll(1_000)}`
      const thread = parent ?? { id: makeId('thr'), messages: [], readAt: 0, isRead: false }
      if (parent === undefined) threads.push(thread)
      if (thread.isRead) thread.readAt = thread.messages.length
      thread.isRead = false
      const parentKeys = thread.messages
        .slice(0, 1)
        .map((first) => `${first.id}@mailroom.localhost`)
      nowMs += 1
      const message = { id, direction: 'inbound', people: [author], text, atMs: nowMs }
      thread.messages.push(message)
      const input = arriving(owner, [inboxId], { key: `${id}@mailroom.localhost`, parentKeys })
      return {
        ...input,
        content: {
          ...input.content,
          from_addr: author,
          body_text: `${text}\n> old`,
          extracted_text: text,
        },
        receipts: input.receipts.map((receipt) => ({
          ...receipt,
          messageId: id,
          threadId: thread.id,
        })),
        nowMs,
      }
    }
    const send = async () => {
      const parent = roll(20) === 0 ? undefined : threads[roll(threads.length)]
      const people = [...new Set([someone(), someone()])]
      nowMs += 1
      const input = sending(owner, inboxId, {
        recipients: people,
        coldRecipients: [],
        nowMs,
        ...(parent && { thread: { kind: 'reply', id: parent.id, messageCount: null } }),
      })
      input.content = { ...input.content, from_addr: OWN, cc: JSON.stringify(people.slice(1)) }
      await queueAll(db, [input])
      const thread = parent ?? { id: input.thread.id, messages: [], readAt: 0, isRead: true }
      if (parent === undefined) threads.push(thread)
      const id = input.messageId
      thread.messages.push({ id, direction: 'outbound', people, text: 'hi', atMs: nowMs })
      thread.isRead = true
      thread.readAt = thread.messages.length
    }
    const mark = async () => {
      const thread = threads[roll(threads.length)]
      if (thread === undefined) return
      const isRead = roll(3) > 0
      await markThread(db, { ...owner, threadId: thread.id, isRead })
      if (isRead || thread.isRead) thread.readAt = thread.messages.length
      thread.isRead = isRead
    }

    for (let step = 0; step < STEPS; step++) {
      const write = async () => {
        const kind = roll(8)
        if (kind < 3) await db.write(storeReceived, received())
        else if (kind < 5) {
          const inputs = Array.from({ length: 1 + roll(5) }, received)
          if (grouping === null) for (const one of inputs) await db.write(storeReceived, one)
          else await receiveTogether(grouping, inputs)
        } else await send()
      }
      if (roll(4) === 0) await mark()
      else if (isOld(roll)) await asBefore(inboxId, write)
      else await write()
      if (step % 6 === 0 && threads.length > 0 && threads.length <= 100)
        await compare(inboxId, threads)
    }
  }

  for (const [name, isOld] of [
    ['this program', () => false],
    ['this program and one of before beside it', (roll: Dice) => roll(3) === 0],
    ['one of before', () => true],
  ] as const) {
    test(`equal those computed from the messages after random operations in ${name}`, async () => {
      const seed = systemClock.now()
      try {
        await live(seed, isOld)
      } catch (error) {
        throw new Error(`With seed ${seed}`, { cause: error })
      }
    })
  }

  test('are not stored if a message arrived or the thread was read during their computation', async () => {
    const inboxId = await addInbox(db, owner)
    const place = { ...owner, inboxId, isRead: null, limit: 10, offset: 0 }
    await asBefore(inboxId, async () => {
      await db.write(storeReceived, arriving(owner, [inboxId], { key: 'a' }))
      await db.write(storeReceived, arriving(owner, [inboxId], { key: 'b' }))
    })
    const page = await listThreads(db, place)
    assert.equal(page?.found.length, 2)
    const [second, first] = page?.threads ?? []
    await db.write(storeReceived, arriving(owner, [inboxId], { parentKeys: ['a'] }))
    await markThread(db, { ...owner, threadId: second?.id ?? '', isRead: true })
    const { accountId } = owner
    await db.write(keepThreadSummaries, { accountId, inboxId, summaries: page?.found ?? [] })
    const after = await listThreads(db, place)
    assert.deepEqual(
      after?.found.map(({ threadId }) => threadId),
      [first?.id],
    )
    assert.deepEqual(
      after?.threads.map(({ unreadCount }) => unreadCount),
      [2, 0],
    )
    // Of another account nothing changes.
    const summaries = (after?.found ?? []).map((one) => ({ ...one, snippet: 'stolen' }))
    const other = await addAccount(db)
    await db.write(keepThreadSummaries, { accountId: other.accountId, inboxId, summaries })
    assert.equal((await listThreads(db, place))?.found.length, 1)
  })
})
