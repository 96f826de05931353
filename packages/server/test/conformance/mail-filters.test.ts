// Filtered lists of made-up mail against an oracle that looks at all of it: both databases list the same.

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import fc from 'fast-check'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import {
  type Filtered,
  filterMessages,
  filterThreads,
  type MailFilter,
} from '#mailbox/store/filters.ts'
import { findShownThreads } from '#mailbox/threads/store/threads.ts'
import { addAccount, addInbox, arriving, openDatabase } from '#test/conformance/open-database.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

const MESSAGES = 60
const FILTERS = sizeOf('TEST_MAILROOM_FILTERS', { quick: 30, usual: 80, long: 3_000 })
const SEED = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
const THREADS = { direction: null, isTrashed: false, facets: [], isSnoozed: null, nowMs: 0 }
const SIGNAL = new AbortController().signal

type Mail = {
  from: string
  cc: string[]
  subject: string
  hasAttachment: boolean
  isPersonal: boolean
  atMs: number
  /** An earlier message of the same thread, by its index. */
  parent: number
}

const senders = [
  'Ana Ärger <ana@firm.example>',
  'BOB <bob@x.example>',
  '"Doe, \\"J\\"" <j@d.example>',
]
const subjects = [
  'Straße 5',
  'STRASSE',
  'ΟΔΟΣ',
  'οδος',
  '300 \u212a',
  '300 k',
  'İstanbul',
  'a%b_c',
  '',
]
const needles = [
  'ana',
  'ÄRGER',
  'ärger',
  'strasse',
  'straße',
  'οδοσ',
  'k',
  'K',
  '"j',
  '\\"',
  'J\\"',
  '%',
  '_',
  'x.',
  'i',
  'Doe, ',
]

const time = fc.integer({ min: 1, max: 200 })
const mail: fc.Arbitrary<Mail> = fc.record({
  from: fc.constantFrom(...senders),
  cc: fc.array(fc.constantFrom(...senders), { maxLength: 2 }),
  subject: fc.constantFrom(...subjects),
  hasAttachment: fc.boolean(),
  isPersonal: fc.boolean(),
  atMs: time,
  parent: fc.integer({ min: -40, max: MESSAGES }),
})
const MAILS = fc.sample(mail, { seed: SEED, numRuns: MESSAGES })

const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { freq: 2 })
const filter: fc.Arbitrary<MailFilter> = fc.record({
  from: maybe(fc.constantFrom(...needles)),
  to: maybe(fc.constantFrom(...needles)),
  subject: maybe(fc.constantFrom(...needles)),
  sinceMs: maybe(time),
  untilMs: maybe(time),
  hasAttachment: maybe(fc.boolean()),
})
const page = fc.record({
  limit: fc.integer({ min: 1, max: 20 }),
  offset: fc.integer({ min: 0, max: 10 }),
})

const fold = (text: string) => text.toLowerCase().toUpperCase()
const has = (text: string, wanted: string | null) =>
  wanted === null || fold(text).includes(fold(wanted))

function fits({ from, cc, subject, ...mail }: Mail, filter: MailFilter): boolean {
  const to = ['someone@mailroom.localhost', ...cc]
  return (
    has(from, filter.from) &&
    to.some((one) => has(one, filter.to)) &&
    has(subject, filter.subject) &&
    (filter.hasAttachment ?? mail.hasAttachment) === mail.hasAttachment
  )
}

function isWithin(atMs: number, { sinceMs, untilMs }: MailFilter): boolean {
  return atMs >= (sinceMs ?? 0) && atMs < (untilMs ?? Number.POSITIVE_INFINITY)
}

onEachEngine('filtered lists', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)
  const owner = prepared(() => addAccount(db))
  const inbox = prepared(async () => ({ inboxId: await addInbox(db, owner) }))
  /** The thread of each message. */
  const idOf: string[] = []
  const threadOf: string[] = []

  before(async () => {
    for (const [index, mail] of MAILS.entries()) {
      const isReply = mail.parent >= 0 && mail.parent < index
      const options = { key: `k${index}`, parentKeys: isReply ? [`k${mail.parent}`] : [] }
      const input = arriving(owner, [inbox.inboxId], options)
      const content = {
        ...input.content,
        from_addr: mail.from,
        cc: JSON.stringify(mail.cc),
        subject: mail.subject,
        attachments: mail.hasAttachment ? '[{"filename":"a.pdf"}]' : '[]',
        category: mail.isPersonal ? ('personal' as const) : ('automated' as const),
      }
      await db.write(storeReceived, { ...input, content, nowMs: mail.atMs })
    }
    const rows = await db.read
      .selectFrom('messages')
      .select(['id', 'thread_id'])
      .where('inbox_id', '=', inbox.inboxId)
      .orderBy('arrival')
      .execute()
    idOf.push(...rows.map(({ id }) => id))
    threadOf.push(...rows.map(({ thread_id }) => thread_id))
    assert.equal(threadOf.length, MESSAGES)
    assert.ok(new Set(threadOf).size < MESSAGES)
  })

  const compare = (
    answer: Filtered,
    expected: string[],
    { limit, offset }: { limit: number; offset: number },
    filter: MailFilter,
  ) => {
    const ids = expected.slice(offset, offset + limit)
    const wanted = { ids, total: expected.length, isComplete: true }
    assert.deepEqual(answer, wanted, JSON.stringify(filter))
    return expected.length
  }

  test(`any filter lists the messages and threads that match (seed ${SEED})`, async () => {
    let found = 0
    const property = fc.asyncProperty(
      filter,
      page,
      maybe(fc.boolean()),
      async (filter, page, flag) => {
        const asked = { ...owner, ...inbox, filter, ...page }
        const category = flag === null ? null : flag ? 'personal' : 'automated'
        const isOf = ({ isPersonal }: Mail) => flag === null || isPersonal === flag
        const timeOf = (index: number) => MAILS[index]?.atMs ?? 0
        const newestFirst = (a: number, b: number) =>
          timeOf(b) - timeOf(a) || ((idOf[a] ?? '') < (idOf[b] ?? '') ? 1 : -1)
        const messageIds = MAILS.flatMap((mail, index) =>
          fits(mail, filter) && isWithin(mail.atMs, filter) && isOf(mail) ? [index] : [],
        )
          .sort(newestFirst)
          .map((index) => idOf[index] ?? '')
        const messages = { ...asked, direction: 'inbound', category, labels: [] } as const
        found += compare(
          await db.readLong(filterMessages, messages, SIGNAL),
          messageIds,
          page,
          filter,
        )

        const byThread = Map.groupBy(MAILS.keys(), (index) => threadOf[index] ?? '')
        const threads = [...byThread]
          .filter(([, indexes]) => {
            const mails = indexes.toSorted(newestFirst).flatMap((index) => MAILS[index] ?? [])
            const [last] = mails
            const isWithout = filter.hasAttachment === false
            const ofMessage = isWithout ? { ...filter, hasAttachment: null } : filter
            return (
              last !== undefined &&
              isWithin(last.atMs, filter) &&
              isOf(last) &&
              mails.some((mail) => fits(mail, ofMessage)) &&
              !(isWithout && mails.some(({ hasAttachment }) => hasAttachment))
            )
          })
          .sort(
            ([one, a], [other, b]) =>
              Math.max(...b.map(timeOf)) - Math.max(...a.map(timeOf)) || (one < other ? 1 : -1),
          )
          .map(([threadId]) => threadId)
        const asThreads = { ...asked, ...THREADS, isRead: null, category } as const
        const answer = await db.readLong(filterThreads, asThreads, SIGNAL)
        found += compare(answer, threads, page, filter)
        const shown = await findShownThreads(db, { ...owner, threadIds: answer.ids })
        assert.deepEqual(
          shown.map(({ id }) => id),
          answer.ids,
        )
      },
    )
    await fc.assert(property, { seed: SEED, numRuns: FILTERS })
    assert.ok(found > FILTERS, `${found} found`)
  })

  test('nothing of another account or inbox is listed', async () => {
    const stranger = await addAccount(db)
    const other = await addInbox(db, owner)
    const all = {
      ...{ from: null, to: null, subject: null, sinceMs: 0, untilMs: null, hasAttachment: null },
    }
    const page = {
      limit: 10,
      offset: 0,
      category: null,
      isRead: null,
      labels: [],
      ...THREADS,
    }
    for (const place of [
      { ...stranger, ...inbox },
      { ...owner, inboxId: other },
    ]) {
      const asked = { ...place, filter: all, ...page }
      assert.equal((await db.readLong(filterMessages, asked, SIGNAL)).total, 0)
      assert.equal((await db.readLong(filterThreads, asked, SIGNAL)).total, 0)
    }
  })
})
