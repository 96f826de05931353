import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { isFullRun } from '@mailroom/mail/test/size-of.ts'
import type { Inbox, Message } from '@mailroom/sdk'
import { openSendingTenant, send, settled } from '#test/scenarios/sending-world.ts'
import { exported, imported } from '#test/scenarios/transfer-mail.ts'
import { onEachEngine, opened, openTenant, type World } from '#test/world.ts'

/** Messages with what the formats find hard: From lines, no Message-ID, 8-bit octets, a null sender, threads. */
async function fill(world: World, inbox: Inbox): Promise<void> {
  const to = [inbox.address]
  const mail = (id: string, rest: string, header = '') =>
    `From: Ann <ann@a.example>\r\nTo: ${inbox.address}\r\nSubject: ${id}\r\n${
      id === 'none' ? '' : `Message-ID: <${id}@a.example>\r\n`
    }Date: Thu, 26 Nov 2026 10:00:00 +0000\r\n${header}\r\n${rest}`
  const raws = [
    mail('one', 'Hello\r\n'),
    mail(
      'two',
      'From here\r\n>From there\r\n>>From\r\n\r\nFrom ann@a.example Thu Nov 26 10:00:00 2026\r\n',
    ),
    mail('three', 'Answer\r\n', 'In-Reply-To: <one@a.example>\r\nReferences: <one@a.example>\r\n'),
    mail('none', 'Without an id\r\n'),
    mail('five', `${'x'.repeat(200)}\r\n`.repeat(2_000)),
  ]
  for (const [index, raw] of raws.entries()) {
    const from = index === 3 ? '' : 'bounces@a.example'
    assert.equal((await world.send({ from, to, raw })).code, 250)
  }
}

type Kept = Pick<Message, 'subject' | 'direction' | 'createdAt' | 'category'> & {
  thread: number
  raw: string
  isRead: boolean
}

/** The messages in the order of the inbox, with threads by the order of their first messages. */
async function keptIn(world: World, inboxId: string): Promise<Kept[]> {
  const kept: Kept[] = []
  const threads: string[] = []
  const messages = await Array.fromAsync(world.client.messages.list(inboxId, { limit: 100 }))
  for (const message of messages.reverse()) {
    const { subject, direction, createdAt, category, threadId, id } = message
    if (!threads.includes(threadId)) threads.push(threadId)
    const { content } = await world.client.messages.raw(id)
    const { isRead } = await world.client.threads.get(threadId)
    const raw = hash('sha256', content)
    kept.push({
      subject,
      direction,
      createdAt,
      category,
      thread: threads.indexOf(threadId),
      raw,
      isRead,
    })
  }
  return kept
}

const HOUR_MS = 3_600_000

onEachEngine('an export', (engine) => {
  const world = opened(() => openTenant(engine))

  // The formats do not depend on the database.
  const formats = ['jsonl', 'mbox', 'maildir'] as const
  for (const format of engine === 'sqlite' || isFullRun() ? formats : formats.slice(0, 1)) {
    test(`as ${format} comes back with every octet, thread, date and flag`, async () => {
      const { client } = world
      const inbox = await world.inbox()
      await fill(world, inbox)
      const [first] = (await client.threads.list(inbox.id).page()).data
      await client.threads.update(first?.id ?? '', { isRead: true })
      const done = await exported(client, { inboxId: inbox.id, format })
      assert.deepEqual([done.status, done.progress], ['done', { done: 5, total: 5 }])
      const file = await fetch(done.url ?? '')
      assert.equal(file.status, 200)
      const bytes = new Uint8Array(await file.arrayBuffer())
      assert.equal(bytes.length, done.sizeBytes)
      const other = await world.inbox()
      const seen = (await client.events.list().page()).data.length
      const first1 = await imported(client, other.id, bytes)
      assert.deepEqual(
        [first1.status, first1.imported, first1.duplicates, first1.failed, first1.failures],
        ['done', 5, 0, 0, []],
      )
      const kept = await keptIn(world, inbox.id)
      const known = format === 'mbox' ? kept.map(inSeconds) : kept
      assert.deepEqual(
        (await keptIn(world, other.id)).map((one) => (format === 'mbox' ? inSeconds(one) : one)),
        known,
      )
      assert.equal((await client.events.list().page()).data.length, seen)
      const again = await imported(client, other.id, bytes)
      assert.deepEqual([again.imported, again.duplicates], [0, 5])
      const own = await imported(client, inbox.id, bytes)
      const isNamed = format !== 'mbox'
      assert.deepEqual([own.imported, own.duplicates], isNamed ? [0, 5] : [1, 4])
    })
  }
})

/** A file of the format mbox has no milliseconds and no flags. */
function inSeconds({ createdAt, ...kept }: Kept): Kept {
  return { ...kept, createdAt: `${createdAt.slice(0, 19)}Z`, isRead: false }
}

onEachEngine('an export of mail that was never sent', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  test('has it as jsonl only, and no claim finds imported sent mail', async () => {
    const { client } = world
    const { token } = await client.approvers.create({ name: 'Ann' })
    const asApprover = world.clientWith(token)
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { subject: 'Sent' })
    await settled(world, sent)
    await asApprover.policy.replace({ outbound: { guards: { newRecipients: 'hold' } } })
    const sendAt = new Date(world.clock.now() + HOUR_MS).toISOString()
    await send(world, inbox, { subject: 'Scheduled', sendAt })
    const cancelled = await send(world, inbox, { subject: 'Cancelled', sendAt })
    await client.messages.cancel(cancelled.id)
    await send(world, inbox, { subject: 'Held', to: 'new@friend.example' })
    const rejected = await send(world, inbox, { subject: 'Rejected', to: 'other@friend.example' })
    await asApprover.reviews.reject(rejected.hold?.id ?? '')
    for (const format of ['mbox', 'maildir', 'jsonl'] as const) {
      const done = await exported(client, { inboxId: inbox.id, format })
      const count = format === 'jsonl' ? 5 : 1
      assert.deepEqual(done.progress, { done: count, total: count }, format)
    }
    const mbox = await exported(client, { inboxId: inbox.id, format: 'mbox' })
    const bytes = await (await fetch(mbox.url ?? '')).text()
    assert.deepEqual(
      bytes.match(/^Subject: .*$/gm)?.map((line) => line.trim()),
      ['Subject: Sent'],
    )
    await client.threads.delete(sent.threadId, { permanent: true })
    assert.equal((await imported(client, inbox.id, bytes)).imported, 1)
    const wanted = { owner: 'worker', leaseSeconds: 60 }
    assert.deepEqual((await client.inboxes.claimThreads(inbox.id, wanted)).data, [])
  })
})
