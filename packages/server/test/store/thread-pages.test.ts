// Pages of threads from anywhere in a mailbox that is large enough to be found through the totals of
// its ranges, compared with a list kept by the test.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import type { ReceiveInput } from '#store/receive-message.ts'
import { onEachEngine, openWorld, type World } from '#test/world.ts'

const MESSAGES = 6_500
/** Every fifth message answers one that is this many older, so threads move between ranges. */
const ANSWERS_EVERY = 5
const ANSWERS_BACK = 3_000

onEachEngine('pages of threads', (engine) => {
  let world: World
  let inbox: Inbox
  /** Thread keys, newest first, with whether they are read. */
  let expected: { subject: string; isRead: boolean }[]

  before(async () => {
    world = await openWorld(engine, { env: { MAILROOM_LIMIT_API_PER_MINUTE: '100000' } })
    inbox = await world.inbox()
    expected = await fill(world, inbox)
  })
  after(() => world.close())

  for (const filter of [null, true, false]) {
    test(`hold the right threads at every depth with is_read ${filter}`, async () => {
      const all = expected.filter((thread) => filter === null || thread.isRead === filter)
      for (let offset = 0; offset < all.length + 100; offset += 333) {
        const query = filter === null ? { offset } : { offset, is_read: filter }
        const page = await world.client.threads.list(inbox.id, { ...query, limit: 40 }).page()
        assert.equal(page.total, all.length)
        assert.deepEqual(
          page.data.map((thread) => thread.subject),
          all.slice(offset, offset + 40).map((thread) => thread.subject),
        )
      }
    })
  }
})

async function fill(world: World, inbox: Inbox) {
  const { deps } = world.app
  const threads = new Map<number, { subject: string; isRead: boolean; last: number }>()
  const threadOf: number[] = []
  const writes: Promise<unknown>[] = []
  for (let serial = 0; serial < MESSAGES; serial++) {
    const isAnswer = serial >= ANSWERS_BACK && serial % ANSWERS_EVERY === 0
    const root = isAnswer ? (threadOf[serial - ANSWERS_BACK] ?? serial) : serial
    threadOf[serial] = root
    const thread = threads.get(root) ?? { subject: `thread ${root}`, isRead: false, last: 0 }
    threads.set(root, { ...thread, isRead: false, last: serial })
    const parent = isAnswer ? serial - ANSWERS_BACK : null
    writes.push(deps.db.write('receiveMessage', receipt(world, inbox, serial, parent)))
    // Together, so that SQLite commits groups; in turn on PostgreSQL, where order is the callers'.
    if (deps.db.engine === 'postgres' || writes.length === 100) await Promise.all(writes.splice(0))
  }
  await Promise.all(writes)
  const newestFirst = [...threads.values()].sort((a, b) => b.last - a.last)
  const { data } = await world.client.threads.list(inbox.id, { limit: 100 }).page()
  for (const [index, thread] of data.entries()) {
    if (index % 3 !== 0) continue
    await world.client.threads.update(thread.id, { is_read: true })
    const known = newestFirst[index]
    if (known !== undefined) known.isRead = true
  }
  return newestFirst
}

function receipt(world: World, inbox: Inbox, serial: number, parent: number | null): ReceiveInput {
  const { makeId, clock } = world.app.deps
  return {
    raw: {
      id: makeId('raw'),
      sha256: new Uint8Array(32),
      size_bytes: 1,
      content: new Uint8Array(1),
      reverse_path: '',
      client_address: null,
      helo: null,
      tls: null,
      created_at: clock.now(),
    },
    content: {
      rfc_message_id: `<${serial}@x>`,
      message_key: `${serial}@x`,
      receipt_key: null,
      from_addr: 'a@x.example',
      header_to: null,
      cc: '[]',
      reply_to: null,
      reference_ids: '[]',
      subject: `thread ${serial}`,
      body_length: 0,
      body_text: '',
      body_html: '',
      extracted_text: null,
      attachments: '[]',
      authentication: null,
      automatic_reason: null,
      defects: '[]',
    },
    receipts: [
      {
        accountId: world.app.firstAccount?.account.id ?? '',
        podId: inbox.podId,
        inboxId: inbox.id,
        messageId: makeId('msg'),
        threadId: makeId('thr'),
        eventId: makeId('evt'),
        toAddr: inbox.address,
        deliveryRole: 'to',
      },
    ],
    postmaster: null,
    parentKeys: parent === null ? [] : [`${parent}@x`],
    nowMs: clock.now(),
  }
}
