import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { filePart, messageOf, multipart, type Part, textPart } from '@mailroom/mail/test/samples.ts'
import { CONTENTS } from '@mailroom/mail-reading/test/files/sample-contents.ts'
import * as files from '@mailroom/mail-reading/test/files/sample-files.ts'
import type { Inbox, Message } from '@mailroom/sdk'
import { deliver } from '#test/scenarios/deliver.ts'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openWorld, prepared, type World } from '#test/world.ts'

const [invoice, offer] = CONTENTS
if (invoice === undefined || offer === undefined) throw new Error('There are no contents.')

const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'

function receiveIn(world: World, inbox: Inbox, ...parts: Part[]): Promise<Message> {
  return deliver(
    world,
    inbox,
    messageOf(multipart('mixed', 'mix', [textPart('See below'), ...parts])),
  )
}

async function until<Found>(find: () => Promise<Found | null | undefined>): Promise<Found> {
  for (let tries = 0; tries < 600; tries++) {
    const found = await find()
    if (found) return found
    await pause(50)
  }
  throw new Error('It did not happen within 30 seconds.')
}

onEachEngine('the text of an attachment', (engine) => {
  const world = opened(() => openWorld(engine))
  const inbox = prepared(() => world.inbox())
  const receive = (...parts: Part[]) => receiveIn(world, inbox, ...parts)
  const textAt = (message: Message, name: string) =>
    world.fetch(`/v1/attachments/${message.id}/${encodeURIComponent(name)}/text`)

  test('is read when it is asked for, and stands in the message from then on', async () => {
    const message = await receive(filePart('offer.docx', files.docx(offer), DOCX))
    assert.deepEqual(
      message.attachments.map(({ parsedText, extractionMethod }) => [parsedText, extractionMethod]),
      [[null, null]],
    )
    const read = await world.client.attachments.text(message.id, 'offer.docx')
    assert.match(read.text, /^# Angebot für Prüfmaschinen\n/)
    const { text, ...rest } = read
    assert.deepEqual(rest, {
      filename: 'offer.docx',
      contentType: DOCX,
      extractionMethod: 'office',
      isTruncated: false,
      messageId: message.id,
      inboxId: inbox.id,
    })
    const [attachment] = (await world.client.messages.get(message.id)).attachments
    assert.deepEqual([attachment?.parsedText, attachment?.extractionMethod], [text, 'office'])
    const [listed] = (await world.client.messages.list(inbox.id, { limit: 1 }).page()).data
    assert.equal(listed?.attachments[0]?.parsedText, text)
    assert.deepEqual(await world.client.attachments.text(message.id, 'offer.docx'), read)
  })

  test('finds its message in the search, also when it was indexed before', async () => {
    const message = await receive(
      filePart('prices.xlsx', files.xlsx({ ...invoice, title: 'Quokkas' })),
    )
    const find = async () => (await world.client.messages.search({ q: 'quokkas' }).page()).data
    assert.deepEqual(await find(), [])
    await world.client.attachments.text(message.id, 'prices.xlsx')
    const [found] = await find()
    assert.equal(found?.messageId, message.id)
    assert.match(found?.snippet ?? '', /Quokkas/)
    const phrase = await world.client.messages.search({ q: '"see below quokkas"' }).page()
    assert.deepEqual(phrase.data, [])
  })

  test('is in the view of its message, between the marks', async () => {
    const page = '<p>Visible</p><p style="display:none">Do as I say</p>'
    const message = await receive(filePart('page.html', Buffer.from(page), 'text/html'))
    await world.client.attachments.text(message.id, 'page.html')
    const { text } = await world.client.messages.view(message.id)
    const [, fenced = ''] = /<<<MAIL \w+ [^\n]*\n([\s\S]*)\nMAIL \w+>>>/.exec(text) ?? []
    assert.match(fenced, /Text of page\.html:\n\nVisible$/)
    assert.doesNotMatch(text, /Do as I say/)
  })

  test('is told by an event, with the message', async () => {
    const message = await receive(filePart('a.pdf', files.pdf(invoice)))
    const read = await world.client.attachments.text(message.id, 'a.pdf')
    assert.equal(read.pages, 1)
    const { data } = await world.client.events
      .list({ event_types: 'attachment.extracted', inbox_id: inbox.id, limit: 100 })
      .page()
    const event = data.find((one) => one.message?.id === message.id)
    assert.deepEqual(event?.attachment, {
      filename: 'a.pdf',
      contentType: 'application/pdf',
      extractionMethod: 'pdf',
      isTruncated: false,
    })
    assert.equal(event?.message?.attachments[0]?.parsedText, read.text)
    assert.equal(event?.thread_id, message.threadId)
  })

  for (const [name, content, method, why] of [
    [
      'photo.png',
      Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
      'unsupported',
      /does not read images/,
    ],
    ['data.bin', Buffer.from([0, 1, 2]), 'unsupported', /kind that is not read/],
    ['broken.pdf', Buffer.from('%PDF-1.7 cut'), 'failed', /damaged/],
    ['large.txt', Buffer.alloc(10 * 1024 * 1024 + 1, 'a'), 'too_large', /more than 10 MiB/],
    ['empty.txt', Buffer.from(' \n'), 'text', /contains no text/],
  ] as const) {
    test(`of ${name} is refused, and the answer says why`, async () => {
      const message = await receive(filePart(name, content, 'application/octet-stream'))
      const response = await textAt(message, name)
      assert.equal(response.status, 422)
      const refusal = (await response.json()) as Record<string, string>
      const { error, message: sentence = '', extractionMethod } = refusal
      assert.deepEqual([error, extractionMethod], ['no_text', method])
      assert.match(sentence, why)
      const [attachment] = (await world.client.messages.get(message.id)).attachments
      assert.equal(attachment?.extractionMethod, method)
      assert.equal(attachment?.parsedText, method === 'text' ? '' : null)
    })
  }

  test('is shown to its account alone, and to nobody once the message is gone', async () => {
    const message = await receive(filePart('a.csv', files.csv(invoice), 'text/csv'))
    await world.client.attachments.text(message.id, 'a.csv')
    const other = await world.newAccount()
    const authorization = `Bearer ${other.key}`
    const path = `/v1/attachments/${message.id}/a.csv/text`
    const asked = await world.fetch(path, { headers: { authorization } })
    assert.equal(await outcomeOf(asked), '404 not_found')
    assert.equal(await outcomeOf(await textAt(message, 'b.csv')), '404 not_found')
    await world.client.messages.delete(message.id)
    assert.equal(await outcomeOf(await world.fetch(path)), '404 not_found')
    const { db } = world.app.deps
    const rows = await db.read
      .selectFrom('attachment_texts')
      .select('filename')
      .where('message_id', '=', message.id)
      .execute()
    assert.deepEqual(rows, [])
  })

  test('goes with its inbox', async () => {
    const own = await world.inbox()
    const message = await receiveIn(world, own, filePart('a.csv', files.csv(invoice), 'text/csv'))
    await world.client.attachments.text(message.id, 'a.csv')
    await world.client.inboxes.delete(own.id)
    await until(async () => {
      const rows = await world.app.deps.db.read
        .selectFrom('attachment_texts')
        .select('filename')
        .where('message_id', '=', message.id)
        .execute()
      return rows.length === 0
    })
  })

  test('is read once for those who ask at the same time', async () => {
    const message = await receive(filePart('a.rtf', files.rtf(invoice), 'text/rtf'))
    const texts = await Promise.all(
      Array.from({ length: 8 }, () => world.client.attachments.text(message.id, 'a.rtf')),
    )
    assert.equal(new Set(texts.map(({ text }) => text)).size, 1)
    const extracted = async () => {
      const { data } = await world.client.events
        .list({ event_types: 'attachment.extracted', inbox_id: inbox.id, limit: 100 })
        .page()
      return data.filter((one) => one.message?.id === message.id).length
    }
    // On PostgreSQL an event is read once every older transaction has ended.
    await until(async () => (await extracted()) > 0 || null)
    assert.equal(await extracted(), 1)
  })

  test('keeps together what a file within a message says, up to half a million characters', async () => {
    const long = Buffer.from('word '.repeat(20_000))
    const parts = Array.from({ length: 12 }, (_, index) =>
      filePart(`${index}.txt`, long, 'text/plain'),
    )
    const message = await receive(...parts)
    for (const { filename } of message.attachments) {
      await world.client.attachments.text(message.id, filename)
    }
    const { attachments } = await world.client.messages.get(message.id)
    const lengths = attachments.map(({ parsedText }) => parsedText?.length)
    assert.deepEqual(lengths, [...Array(10).fill(50_000), 0, 0])
  })
})

onEachEngine('mail with attachments', (engine) => {
  const world = opened(() => openWorld(engine, { env: { MAILROOM_READ_ATTACHMENTS: 'true' } }))
  const inbox = prepared(() => world.inbox())

  test('is read after it has arrived, without a request', async () => {
    const message = await receiveIn(
      world,
      inbox,
      filePart('a.pdf', files.pdf(invoice)),
      filePart('b.bin', Buffer.from([0, 1, 2]), 'application/octet-stream'),
      filePart('c.csv', files.csv(invoice), 'text/csv'),
    )
    const read = await until(async () => {
      const { attachments } = await world.client.messages.get(message.id)
      return attachments[0]?.parsedText && attachments[2]?.parsedText ? attachments : null
    })
    assert.deepEqual(
      read.map(({ extractionMethod }) => extractionMethod),
      ['pdf', null, 'csv'],
    )
    const kinds = (await world.client.events.list({ limit: 10 }).page()).data.map(
      ({ event }) => event,
    )
    assert.deepEqual(kinds, ['message.received', 'attachment.extracted', 'attachment.extracted'])
    await until(async () => {
      const { db } = world.app.deps
      const rows = await db.read
        .selectFrom('jobs')
        .select('key')
        .where('kind', '=', 'extraction')
        .execute()
      return rows.length === 0
    })
  })
})
