import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seededDice } from '@mailroom/mail/test/seeded-dice.ts'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { ReceiveInput } from '#inbound/receive/store/receive-messages.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { findShownInbox, listInboxes } from '#inboxes/store/inboxes.ts'
import { findShownThread, listThreads } from '#mailbox/threads/store/threads.ts'
import { systemClock } from '#platform/clock.ts'
import type { Db } from '#store/tables.ts'
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
import { onEachEngine, opened, prepared } from '#test/world.ts'
import { queueAll, sending } from './sending.ts'

const STEPS = sizeOf('TEST_MAILROOM_SUMMARY_STEPS', { quick: 30, usual: 60, long: 3_000 })
const OWN = 'someone@mailroom.localhost'

type ModelMessage = { id: string; direction: string; people: string[]; text: string; atMs: number }
type ModelThread = { id: string; messages: ModelMessage[]; readAt: number; isRead: boolean }

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
      assert.deepEqual(await findShownThread(db, owner.accountId, thread.id), thread)
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
  }

  /** Random mail in one inbox. */
  async function live(seed: number) {
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
      else await write()
      if (step % 6 === 0 && threads.length > 0 && threads.length <= 100)
        await compare(inboxId, threads)
    }
  }

  test('equal those computed from the messages after random operations', async () => {
    const seed = systemClock.now()
    try {
      await live(seed)
    } catch (error) {
      throw new Error(`With seed ${seed}`, { cause: error })
    }
  })
})
