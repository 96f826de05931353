import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Dice, seededDice } from '@mailroom/mail/test/seeded-dice.ts'
import { LONG_LIMIT, sizeOf } from '@mailroom/mail/test/size-of.ts'
import { sql } from 'kysely'
import type { ImportedAs } from '#inbound/receive/store/plan.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { findShownInbox } from '#inboxes/store/inboxes.ts'
import { listMessages, listThreadMessages } from '#mailbox/messages/store/messages.ts'
import { changeMessageLabels, changeThread } from '#mailbox/threads/store/change-threads.ts'
import { findThread, listThreads } from '#mailbox/threads/store/threads.ts'
import { insertSend } from '#outbound/send/store/accept-send.ts'
import { systemClock } from '#platform/clock.ts'
import {
  moveThreadStep,
  purgeTrashStep,
  removeMessage,
  removeThread,
  removeThreadStep,
  restoreThread,
  trashThread,
} from '#removal/store/trash.ts'
import { indexSearchStep } from '#search/store/search-index.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  markThread,
  openDatabase,
  readCounters,
} from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'
import { sending } from './sending.ts'

const UNLEASED = { tokenHash: null, queueMs: 0 }

const STEPS = sizeOf('TEST_MAILROOM_REMOVAL_STEPS', { quick: 300, usual: 900, long: 100_000 })
/** All lists are compared so often, and at the end. */
const COMPARED_EVERY = Math.max(300, STEPS / 30)
const OWN = 'someone@mailroom.localhost'
const LABELS = ['billing', 'urgent']
/** Mail of a file that is unread there. */
const OLDER: Omit<ImportedAs, 'dateMs'> = {
  direction: 'inbound',
  status: 'received',
  failureReason: null,
  isRead: false,
  to: [],
  bcc: [],
  threadId: null,
}

type ModelMessage = {
  id: string
  arrival: number
  direction: 'inbound' | 'outbound'
  people: string[]
  text: string
  subject: string
  category: 'automated' | 'personal' | null
  size: number
  atMs: number
  isPending: boolean
  labels: string[]
}

type ModelThread = {
  id: string
  messages: ModelMessage[]
  /** Received since the thread was last read. */
  unread: Set<string>
  isRead: boolean
  subject: string
  trashedAtMs: number | null
  labels: string[]
}

/** What an inbox should be: lists, and nothing that has to be kept in step with them. */
type Model = { inboxId: string; threads: ModelThread[]; given: number; nowMs: number }

const byTime = (one: ModelMessage, other: ModelMessage) =>
  one.atMs - other.atMs || (one.id < other.id ? -1 : 1)

/** Lists are in the order of time, equal times in that of ids. */
const byNewest = (one: ModelThread, other: ModelThread) =>
  newestOf(other) - newestOf(one) || (one.id < other.id ? 1 : -1)

const newestOf = ({ messages }: ModelThread) => messages.at(-1)?.atMs ?? 0

function shownOf(thread: ModelThread) {
  const { id, messages, isRead, unread, subject, trashedAtMs, labels } = thread
  const people = messages
    .slice(-100)
    .toReversed()
    .flatMap((message) => message.people)
  const others = [...new Set(people)].filter((address) => address !== OWN)
  const listed = others.length > 0 ? others.slice(0, 10) : [OWN]
  return {
    id,
    subject,
    isRead,
    unreadCount: isRead ? 0 : Math.max(1, unread.size),
    messageCount: messages.length,
    participants: listed.map((address) => ({ name: null, address })),
    snippet: messages.at(-1)?.text ?? '',
    category: messages.findLast(({ direction }) => direction === 'inbound')?.category ?? null,
    lastMessageAtMs: messages.at(-1)?.atMs,
    trashedAtMs,
    labels,
    metadata: {},
    assignee: null,
    snoozedUntilMs: null,
    claim: null,
    hasAttachments: false,
    lastMessage: lastMessageOf(messages),
  }
}

function lastMessageOf(messages: ModelThread['messages']) {
  const newest = messages.at(-1)
  if (newest?.direction === 'inbound') return { direction: 'inbound', state: 'received', to: [] }
  const to = newest?.people.slice(0, 1).map((address) => ({ name: null, address }))
  return { direction: 'outbound', state: newest?.isPending ? 'queued' : 'sent', to }
}

onEachEngine('mail that goes', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))

  const everything = { limit: 1_000_000, offset: 0 }

  async function receive(model: Model, roll: Dice): Promise<void> {
    const id = makeId('msg')
    const parent = roll(4) === 0 ? undefined : model.threads[roll(model.threads.length)]
    const answered = parent?.messages[roll(parent.messages.length)]
    const key = `${id}@mailroom.localhost`
    const parentKeys = answered === undefined ? [] : [`${answered.id}@mailroom.localhost`]
    const isNew = answered === undefined || parent === undefined || parent.trashedAtMs !== null
    const threadId = makeId('thr')
    const content = Buffer.alloc(30 + roll(100), 'x')
    const message: ModelMessage = {
      id,
      arrival: ++model.given,
      direction: 'inbound',
      people: [roll(10) === 0 ? OWN : `p${roll(14)}@x.example`],
      text: `text ${roll(1_000)}`,
      subject: `about ${roll(50)}`,
      category: roll(3) === 0 ? 'automated' : 'personal',
      size: content.length,
      atMs: ++model.nowMs,
      isPending: false,
      labels: [],
    }
    const isImported = roll(4) === 0
    if (isImported) message.atMs -= roll(300)
    const input = arriving(owner, [model.inboxId], { key, parentKeys, content })
    await db.write(storeReceived, {
      ...input,
      content: {
        ...input.content,
        from_addr: message.people[0] ?? '',
        subject: message.subject,
        body_text: message.text,
        category: message.category ?? 'personal',
      },
      receipts: input.receipts.map((one) => ({ ...one, messageId: id, threadId })),
      nowMs: model.nowMs,
      ...(isImported && { imported: { ...OLDER, dateMs: message.atMs } }),
    })
    const thread = isNew
      ? {
          id: threadId,
          messages: [],
          unread: new Set<string>(),
          isRead: false,
          subject: message.subject,
          trashedAtMs: null,
          labels: [],
        }
      : parent
    if (isNew) model.threads.push(thread)
    thread.messages.push(message)
    thread.messages.sort(byTime)
    thread.unread.add(id)
    thread.isRead = false
  }

  async function send(model: Model, roll: Dice): Promise<void> {
    const parent = roll(3) === 0 ? undefined : model.threads[roll(model.threads.length)]
    const people = [...new Set([`p${roll(14)}@x.example`, `p${roll(14)}@x.example`])]
    const nowMs = ++model.nowMs
    const input = sending(owner, model.inboxId, {
      recipients: people,
      coldRecipients: [],
      nowMs,
      ...(parent && { thread: { kind: 'reply', id: parent.id, messageCount: null } }),
    })
    const cc = JSON.stringify(people.slice(1))
    input.content = { ...input.content, from_addr: OWN, cc, category: null }
    const outcome = await db.write(insertSend, input)
    assert.equal(outcome.kind, parent && parent.trashedAtMs !== null ? 'thread_trashed' : 'queued')
    if (outcome.kind !== 'queued') return
    const thread = parent ?? {
      id: input.thread.id,
      messages: [],
      unread: new Set<string>(),
      isRead: true,
      subject: 'hi',
      trashedAtMs: null,
      labels: [],
    }
    if (parent === undefined) model.threads.push(thread)
    thread.messages.push({
      id: input.messageId,
      arrival: ++model.given,
      direction: 'outbound',
      people,
      text: 'hi',
      subject: 'hi',
      category: null,
      size: input.raw.size_bytes,
      atMs: nowMs,
      isPending: true,
      labels: [],
    })
    thread.messages.sort(byTime)
    thread.isRead = true
    thread.unread.clear()
    if (roll(3) > 0) await deliver(thread)
  }

  async function deliver(thread: ModelThread): Promise<void> {
    await runSql(
      database,
      `update messages set status = 'sent' where thread_id = '${thread.id}' and status = 'pending'`,
    )
    for (const message of thread.messages) message.isPending = false
  }

  async function mark(model: Model, roll: Dice): Promise<void> {
    const thread = model.threads[roll(model.threads.length)]
    if (thread === undefined) return
    const isRead = roll(3) > 0
    await markThread(db, { ...owner, threadId: thread.id, isRead })
    if (thread.isRead !== isRead) thread.unread.clear()
    thread.isRead = isRead
  }

  async function label(model: Model, roll: Dice): Promise<void> {
    const thread = model.threads[roll(model.threads.length)]
    const message = thread?.messages[roll(thread.messages.length)]
    if (thread === undefined || message === undefined) return
    const labelled = roll(2) === 0 ? thread : message
    const name = LABELS[roll(LABELS.length)] ?? ''
    const isAdded = roll(3) > 0
    const change = isAdded ? { addLabels: [name] } : { removeLabels: [name] }
    const claim = { tokenHash: null, queueMs: systemClock.steady() }
    const of = { accountId: owner.accountId, change, claim }
    const { kind } =
      labelled === thread
        ? await db.write(changeThread, {
            ...of,
            threadId: thread.id,
            eventId: makeId('evt'),
            nowMs: model.nowMs,
          })
        : await db.write(changeMessageLabels, { ...of, messageId: message.id })
    assert.equal(kind, 'changed')
    const others = labelled.labels.filter((one) => one !== name)
    labelled.labels = (isAdded ? [...others, name] : others).sort()
  }

  async function removeOne(model: Model, roll: Dice): Promise<void> {
    const thread = model.threads[roll(model.threads.length)]
    const message = thread?.messages[roll(thread.messages.length)]
    if (thread === undefined || message === undefined) return
    const asked = { ...owner, messageId: message.id, nowMs: model.nowMs }
    const outcome = await db.write(removeMessage, { ...asked, lease: UNLEASED })
    if (message.isPending) {
      assert.equal(outcome, 'delivery_pending')
      return
    }
    assert.notEqual(typeof outcome, 'string')
    assert.equal(await db.write(removeMessage, { ...asked, lease: UNLEASED }), 'not_found')
    const isFirst = thread.messages[0] === message
    thread.messages = thread.messages.filter((one) => one !== message)
    if (isFirst) thread.subject = thread.messages[0]?.subject ?? ''
    if (thread.unread.delete(message.id) && thread.unread.size === 0) thread.isRead = true
    if (thread.messages.length === 0) model.threads = model.threads.filter((one) => one !== thread)
  }

  async function trash(model: Model, roll: Dice): Promise<void> {
    const thread = model.threads[roll(model.threads.length)]
    if (thread === undefined) return
    const trashedAtMs = ++model.nowMs
    const asked = { ...owner, threadId: thread.id, nowMs: trashedAtMs }
    const outcome = await db.write(trashThread, { ...asked, lease: UNLEASED })
    const isSending = thread.messages.some(({ isPending }) => isPending)
    if (isSending) {
      assert.equal(outcome, 'delivery_pending')
      return
    }
    assert.notEqual(typeof outcome, 'string')
    if (typeof outcome !== 'string') await finish(thread, outcome.moving)
    thread.trashedAtMs ??= trashedAtMs
  }

  async function finish(
    { id: threadId }: ModelThread,
    moving: { trashedAtMs: number | null } | null,
  ): Promise<void> {
    if (moving === null) return
    let after: { created_at: number; id: string } | null = null
    do {
      after = (await db.write(moveThreadStep, { ...owner, ...moving, threadId, after })).after
    } while (after !== null)
  }

  async function restore(model: Model, roll: Dice): Promise<void> {
    const trashed = model.threads.filter(({ trashedAtMs }) => trashedAtMs !== null)
    const thread = trashed[roll(trashed.length)]
    if (thread === undefined) return
    const asked = { ...owner, threadId: thread.id, nowMs: model.nowMs, eventId: makeId('evt') }
    const outcome = await db.write(restoreThread, { ...asked, lease: UNLEASED })
    assert.notEqual(typeof outcome, 'string')
    if (typeof outcome !== 'string') await finish(thread, outcome.moving)
    thread.trashedAtMs = null
  }

  async function removeWhole(model: Model, roll: Dice): Promise<void> {
    const thread = model.threads[roll(model.threads.length)]
    if (thread === undefined) return
    const asked = { ...owner, threadId: thread.id, nowMs: model.nowMs }
    const outcome = await db.write(removeThread, { ...asked, lease: UNLEASED })
    if (thread.messages.some(({ isPending }) => isPending)) {
      assert.equal(outcome, 'delivery_pending')
      return
    }
    assert.notEqual(typeof outcome, 'string')
    while (!(await db.write(removeThreadStep, asked)).isDone);
    assert.equal(await db.write(removeThread, { ...asked, lease: UNLEASED }), 'not_found')
    model.threads = model.threads.filter((one) => one !== thread)
  }

  async function purge(model: Model, roll: Dice): Promise<void> {
    const untilMs = model.nowMs - roll(400)
    while (!(await db.write(purgeTrashStep, { untilMs, nowMs: model.nowMs })).isDone);
    model.threads = model.threads.filter(
      ({ trashedAtMs }) => trashedAtMs === null || trashedAtMs > untilMs,
    )
  }

  async function step(model: Model, roll: Dice): Promise<void> {
    const kind = roll(100)
    if (kind < 45) return receive(model, roll)
    if (kind < 55) return send(model, roll)
    if (kind < 60) return mark(model, roll)
    if (kind < 65) return label(model, roll)
    if (kind < 82) return removeOne(model, roll)
    if (kind < 89) return trash(model, roll)
    if (kind < 94) return restore(model, roll)
    if (kind < 97) return removeWhole(model, roll)
    if (kind < 98) return purge(model, roll)
    await db.write(indexSearchStep, { inboxIds: [model.inboxId], skipLocked: false })
  }

  /** Every list of messages, whole and at random places. */
  async function compareMessages({ inboxId, threads }: Model, roll: Dice): Promise<void> {
    const live = threads
      .filter(({ trashedAtMs }) => trashedAtMs === null)
      .flatMap(({ messages }) => messages)
      .sort((a, b) => byTime(b, a))
    for (const direction of [null, 'inbound', 'outbound'] as const) {
      const expected = live.filter((one) => direction === null || one.direction === direction)
      const places = [0, expected.length - 1, ...Array.from({ length: 8 }, () => roll(live.length))]
      for (const offset of places) {
        if (offset < 0) continue
        const page = { inboxId, direction, limit: 20, offset, bodyLengthMax: 100 }
        const found = await listMessages(db, { ...owner, ...page })
        assert.equal(found?.total, expected.length)
        const messages = await Array.fromAsync(found.messages)
        assert.deepEqual(
          messages.map(({ id }) => id),
          expected.slice(offset, offset + 20).map(({ id }) => id),
          `${direction} at ${offset}`,
        )
      }
    }
    const category = 'automated'
    const page = { ...owner, ...everything, inboxId, direction: null, category, bodyLengthMax: 1 }
    const found = await listMessages(db, { ...page, category, limit: 100 })
    const expected = live.filter((one) => one.category === category)
    assert.equal(found?.total, Math.min(expected.length, 10_000))
    const messages = await Array.fromAsync(found.messages)
    assert.deepEqual(
      messages.map(({ id }) => id),
      expected.slice(0, 100).map(({ id }) => id),
    )
    for (const labels of [LABELS.slice(0, 1), LABELS]) {
      const marked = live.filter((one) => labels.every((name) => one.labels.includes(name)))
      const page = { ...owner, inboxId, direction: null, labels, bodyLengthMax: 1 }
      const found = await listMessages(db, { ...page, limit: 100, offset: 3 })
      assert.equal(found?.total, marked.length)
      const messages = await Array.fromAsync(found.messages)
      assert.deepEqual(
        messages.map((one) => ({ id: one.id, labels: one.labels })),
        marked.slice(3, 103).map(({ id, labels: own }) => ({ id, labels: own })),
      )
    }
  }

  async function compareThreads({ inboxId, threads }: Model, roll: Dice): Promise<void> {
    for (const isTrashed of [false, true]) {
      const all = threads
        .filter(({ trashedAtMs }) => (trashedAtMs !== null) === isTrashed)
        .sort(byNewest)
      for (const isRead of [null, true, false]) {
        const expected = all.filter((one) => isRead === null || one.isRead === isRead)
        for (const offset of [0, expected.length - 1, roll(all.length), roll(all.length)]) {
          if (offset < 0) continue
          const page = { ...owner, inboxId, isRead, isTrashed, limit: 20, offset }
          const found = await listThreads(db, page)
          assert.equal(found?.total, expected.length, `${isTrashed} ${isRead}`)
          assert.deepEqual(
            found.threads.map(
              ({ inboxId: _, createdAtMs: __, removedCount: ___, ...shown }) => shown,
            ),
            expected.slice(offset, offset + 20).map(shownOf),
          )
        }
      }
      for (const labels of [LABELS.slice(0, 1), LABELS]) {
        const expected = all.filter((one) => labels.every((name) => one.labels.includes(name)))
        const facets = labels.map((name) => `label=${name}`)
        const page = { ...owner, inboxId, isRead: null, isTrashed, facets, limit: 100, offset: 2 }
        const found = await listThreads(db, page)
        assert.equal(found?.total, expected.length)
        assert.deepEqual(
          found.threads.map(({ id }) => id),
          expected.slice(2, 102).map(({ id }) => id),
        )
      }
    }
    const inbox = await findShownInbox(db, owner.accountId, inboxId)
    const live = threads.filter(({ trashedAtMs }) => trashedAtMs === null)
    assert.equal(inbox?.unreadThreads, live.filter(({ isRead }) => !isRead).length)
    const newest = live.toSorted(byNewest)[0]
    assert.equal(inbox?.lastMessageAtMs, newest?.messages.at(-1)?.atMs ?? null)
    const longest = threads.toSorted((a, b) => b.messages.length - a.messages.length).slice(0, 3)
    const some = Array.from({ length: 20 }, () => threads[roll(threads.length)])
    for (const { id: threadId, messages } of [...longest, ...some].filter(
      (one) => one !== undefined,
    )) {
      const thread = await findThread(db, owner.accountId, threadId)
      for (const offset of [0, roll(messages.length), messages.length - 1, messages.length]) {
        if (thread === null) throw new Error(`Thread ${threadId} is gone.`)
        const page = { threadId, limit: 10, offset, bodyLengthMax: 1 }
        const found = await Array.fromAsync(listThreadMessages(db, { ...owner, ...page }))
        assert.deepEqual(
          found.map(({ id }) => id),
          messages.slice(offset, offset + 10).map(({ id }) => id),
        )
      }
    }
  }

  /** What no list shows: totals, storage, search, and that nothing of removed mail is left. */
  async function compareRows({ inboxId, threads, given }: Model): Promise<void> {
    const counters = await readCounters(db, inboxId)
    assert.equal(counters.last_arrival, given)
    const kept = threads.flatMap(({ messages }) => messages)
    const live = threads
      .filter(({ trashedAtMs }) => trashedAtMs === null)
      .flatMap(({ messages }) => messages)
    assert.equal(
      counters.stored_bytes,
      kept.reduce((sum, { size }) => sum + size, 0),
    )
    const count = async (from: string) => {
      const { rows } = await sql
        .raw<{ count: number }>(`select count(*) as count from ${from}`)
        .execute(db.read)
      return Number(rows[0]?.count)
    }
    assert.equal(await count(`messages where inbox_id = '${inboxId}'`), kept.length)
    assert.equal(await count(`threads where inbox_id = '${inboxId}'`), threads.length)
    assert.equal(await count('raw_messages'), kept.length)
    const sent = kept.filter(({ direction }) => direction === 'outbound')
    assert.equal(
      await count('deliveries'),
      sent.reduce((sum, { people }) => sum + people.length, 0),
    )
    assert.equal(
      await count(`threads where is_moving = 1 or trashed_at = 0 or removed_count < 0`),
      0,
    )
    for (const direction of ['inbound', 'outbound'] as const) {
      const listed = live.filter((one) => one.direction === direction)
      assert.equal(counters[`${direction}_count`], listed.length)
    }
    const { rows: indexed } = await sql
      .raw<{ id: number }>(
        `select ${engine === 'sqlite' ? 'rowid' : 'id'} as id from search_index order by 1`,
      )
      .execute(db.read)
    const search = await db.read
      .selectFrom('search_inboxes')
      .selectAll()
      .where('inbox_id', '=', inboxId)
      .executeTakeFirst()
    const until = search?.indexed_arrival ?? 0
    assert.deepEqual(
      indexed.map(({ id }) => Number(id) % 2 ** 27),
      live
        .map(({ arrival }) => arrival)
        .filter((arrival) => arrival <= until)
        .sort((a, b) => a - b),
    )
  }

  test(
    'leaves lists, totals and every page as a plain list would have them',
    LONG_LIMIT,
    async () => {
      const seed = Number(process.env.TEST_MAILROOM_SEED ?? systemClock.now())
      const roll = seededDice(seed)
      const model: Model = {
        inboxId: await addInbox(db, owner),
        threads: [],
        given: 0,
        nowMs: systemClock.now(),
      }
      let at = 0
      try {
        for (at = 1; at <= STEPS; at++) {
          await step(model, roll)
          if (at % COMPARED_EVERY !== 0 && at !== STEPS) continue
          await compareMessages(model, roll)
          await compareThreads(model, roll)
          await compareRows(model)
        }
      } catch (error) {
        throw new Error(`With seed ${seed}, at step ${at}`, { cause: error })
      }
    },
  )
})
