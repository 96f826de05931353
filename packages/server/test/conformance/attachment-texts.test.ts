import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { filePart, messageOf, multipart, textPart } from '@mailroom/mail/test/samples.ts'
import type { FileText } from '@mailroom/mail-reading/files/file-text.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { openDownloads } from '#mailbox/attachments/downloads.ts'
import { openAttachmentTexts } from '#mailbox/attachments/extract-text.ts'
import { storeAttachmentText } from '#mailbox/attachments/store/extractions.ts'
import { extractionJobs } from '#mailbox/attachments/work-extractions.ts'
import { openParserPool } from '#parser/parser.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { openFileReader } from '#platform/workers/file-reader.ts'
import { openJobWorker } from '#queue/work-jobs.ts'
import { purgeInboxStep } from '#removal/store/purge.ts'
import { removeMessage } from '#removal/store/trash.ts'
import { indexSearchStep } from '#search/store/search-index.ts'
import type { Db } from '#store/tables.ts'
import {
  addAccount,
  addInbox,
  arriving,
  makeId,
  type Owner,
  openDatabase,
  storeOn,
} from '#test/conformance/open-database.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine } from '#test/world.ts'

const NOW_MS = 1_000_000

const attachments = JSON.stringify([
  { filename: 'a.txt', contentType: 'text/plain', sizeBytes: 1, contentId: null, isInline: false },
])

/** A message with a file that is to be read; its id. */
async function receive(
  db: Db,
  owner: Owner,
  inboxId: string,
  files = attachments,
): Promise<string> {
  const input = arriving(owner, [inboxId])
  const content = { ...input.content, attachments: files }
  const { messageIds } = await db.write(storeReceived, { ...input, content, readsFiles: true })
  return messageIds[0] ?? ''
}

const read = (text: string, more: Partial<FileText> = {}): FileText => ({
  method: 'text',
  text,
  pages: null,
  isTruncated: false,
  why: null,
  ...more,
})

const stored = (owner: Owner, messageId: string, text: FileText, nowMs = NOW_MS) => ({
  accountId: owner.accountId,
  messageId,
  filename: 'a.txt',
  contentType: 'text/plain',
  text,
  mentions: '',
  reader: '1',
  eventId: makeId('evt'),
  nowMs,
})

const eventsOf = (db: Db, messageId: string) =>
  db.read
    .selectFrom('events')
    .select(['kind', 'details'])
    .where('message_id', '=', messageId)
    .where('kind', '=', 'attachment.extracted')
    .execute()

const rowsOf = (db: Db, messageId: string) =>
  db.read.selectFrom('attachment_texts').selectAll().where('message_id', '=', messageId).execute()

onEachEngine('reading attachments', (engine) => {
  /** Reads all files that wait. */
  const readAll = async (db: Db, fileReader = openFileReader()) => {
    const deps = {
      ...storeOn(db),
      parser: openParserPool(),
      downloads: openDownloads(),
      fileReader,
      attachmentTexts: openAttachmentTexts(),
      makeWorker: () => `test ${makeId('job')}`,
    }
    const worker = openJobWorker(deps, extractionJobs(deps))
    const jobs = () => db.read.selectFrom('jobs').select('key').where('kind', '=', 'extraction')
    await until(async () => (await jobs().execute()).length === 0)
    await worker.close()
  }
  test('leaves the files of a sender, once two took too long, until they are asked for', async () => {
    await using own = await openDatabase(engine)
    const { db } = own
    const [owner, other] = [await addAccount(db), await addAccount(db)]
    const names = ['a.pdf', 'b.pdf', 'c.pdf', 'd.pdf']
    const sizeBytes = 100_000
    const parts = names.map((name) => filePart(name, randomBytes(sizeBytes)))
    const raw = messageOf(multipart('mixed', 'mix', [textPart('See below'), ...parts]))
    const files = JSON.stringify(
      names.map((filename) => ({
        filename,
        contentType: 'application/pdf',
        sizeBytes,
        contentId: null,
        isInline: false,
      })),
    )
    const receiveIn = async (of: Owner) => {
      const input = arriving(of, [await addInbox(db, of)], { content: Buffer.from(raw) })
      const content = { ...input.content, attachments: files }
      const { messageIds } = await db.write(storeReceived, { ...input, content, readsFiles: true })
      return messageIds[0] ?? ''
    }
    const ids = [await receiveIn(owner), await receiveIn(owner), await receiveIn(other)]
    const fileReader = openFileReader({ timeoutMs: 1 })
    await readAll(db, fileReader)
    const tried = await Promise.all(ids.map(async (id) => (await rowsOf(db, id)).length))
    assert.deepEqual(tried, [2, 0, 2])
    await fileReader.close()
  })
})

onEachEngine('the text of an attachment', (engine) => {
  test('is stored once, with one event, however many read it', async () => {
    await using own = await openDatabase(engine)
    const { db } = own
    const other = await own.openOther()
    const owner = await addAccount(db)
    const messageId = await receive(db, owner, await addInbox(db, owner))
    await Promise.all(
      [db, other, db, other].map((by, index) =>
        by.write(storeAttachmentText, stored(owner, messageId, read(`text ${index}`))),
      ),
    )
    assert.equal((await rowsOf(db, messageId)).length, 1)
    const [event, ...more] = await eventsOf(db, messageId)
    assert.deepEqual(more, [])
    assert.deepEqual(JSON.parse(event?.details ?? ''), {
      attachment: {
        filename: 'a.txt',
        contentType: 'text/plain',
        extractionMethod: 'text',
        isTruncated: false,
      },
    })
  })

  test('that could not be read is replaced by what another reader reads, or one with more time', async () => {
    await using own = await openDatabase(engine)
    const { db } = own
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const unread = read('', { method: 'unsupported', why: 'Not read.' })
    const slow = read('', { method: 'failed', why: 'Too slow.', mayPass: true })
    const store = async (
      messageId: string,
      text: FileText,
      { nowMs = NOW_MS, reader = '1' } = {},
    ) => {
      const input = { ...stored(owner, messageId, text, nowMs), reader }
      await db.write(storeAttachmentText, input)
      const [row] = await rowsOf(db, messageId)
      return row?.method
    }
    const one = await receive(db, owner, inboxId)
    assert.equal(await store(one, unread), 'unsupported')
    assert.deepEqual(await eventsOf(db, one), [])
    assert.equal(await store(one, read('x')), 'unsupported')
    assert.equal(await store(one, read('x'), { reader: '2' }), 'text')
    assert.equal(await store(one, unread, { reader: '3' }), 'text')
    const two = await receive(db, owner, inboxId)
    assert.equal(await store(two, slow), 'failed')
    assert.equal(await store(two, read('x'), { nowMs: NOW_MS + MINUTE_MS - 1 }), 'failed')
    assert.equal(await store(two, read('x'), { nowMs: NOW_MS + MINUTE_MS }), 'text')
  })

  test('of any length is stored whole', async () => {
    await using own = await openDatabase(engine)
    const { db } = own
    const owner = await addAccount(db)
    const messageId = await receive(db, owner, await addInbox(db, owner))
    const whole = '😀'.repeat(50_001)
    await db.write(storeAttachmentText, stored(owner, messageId, read(whole)))
    const [row] = await rowsOf(db, messageId)
    assert.deepEqual([row?.text.length, row?.rest], [100_000, '😀'])
  })

  test('goes with its message, and with its inbox', async () => {
    await using own = await openDatabase(engine)
    const { db } = own
    const owner = await addAccount(db)
    const { accountId } = owner
    const inboxId = await addInbox(db, owner)
    const [one, two] = [await receive(db, owner, inboxId), await receive(db, owner, inboxId)]
    await db.write(indexSearchStep, { inboxIds: [inboxId], skipLocked: false })
    for (const messageId of [one, two]) {
      await db.write(storeAttachmentText, stored(owner, messageId, read('quokka')))
    }
    const lease = { tokenHash: null, queueMs: NOW_MS }
    await db.write(removeMessage, { accountId, messageId: one, lease, nowMs: NOW_MS })
    assert.deepEqual(await rowsOf(db, one), [])
    // Nothing is stored for what is gone.
    await db.write(storeAttachmentText, stored(owner, one, read('late')))
    assert.deepEqual(await rowsOf(db, one), [])
    while (!(await db.write(purgeInboxStep, { nowMs: 0, inboxId })).isDone);
    assert.deepEqual(await rowsOf(db, two), [])
    assert.deepEqual(await db.read.selectFrom('jobs').selectAll().execute(), [])
  })
})
