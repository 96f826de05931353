import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Inbox, SentMessage } from '@mailroom/sdk'
import { countMessages, countRows } from '#test/scenarios/deliver.ts'
import { outcomeOf, refusal } from '#test/scenarios/outcomes.ts'
import { fieldOf, PLAIN, send } from '#test/scenarios/sending-world.ts'
import {
  onAnyEngine,
  onEachEngine,
  opened,
  openTenant,
  openWorld,
  plainMail,
  prepared,
  type World,
} from '#test/world.ts'

onEachEngine('the fields of a send', (engine) => {
  const world = opened(() => openTenant(engine))
  const inbox = prepared(() => world.inbox())

  const post = (body: unknown, inboxId = inbox.id) =>
    world.fetch(`/v1/inboxes/${inboxId}/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
      body: JSON.stringify(body),
    })

  test('of every accepted length are kept and shown unchanged', async () => {
    const file = { filename: 'a.txt', contentType: 'text/plain', data: 'aGk=' }
    const longest = {
      subject: 'é名'.repeat(499),
      body: '😀'.repeat(100_000),
      bodyHtml: 'x'.repeat(500_000),
      cc: Array.from({ length: 50 }, (_, index) => `copy${index}@friend.example`),
      attachments: Array.from({ length: 100 }, () => file),
    }
    for (const fields of [longest, { subject: 'x', body: 'x', bodyHtml: '', replyTo: null }]) {
      const response = await post({ ...PLAIN, ...fields })
      assert.equal(response.status, 200, await response.clone().text())
      const { messageId } = (await response.json()) as SentMessage
      const message = await world.client.messages.get(messageId)
      assert.equal(message.bodyText, fields.body)
      assert.equal(message.subject, fields.subject)
    }
    const before = await countRows(world, 'messages')
    assert.equal(await outcomeOf(post({ ...PLAIN, body: 7 })), '400 bad_request')
    assert.equal(await countRows(world, 'messages'), before)
  })

  test('with an unknown thread, or one of another inbox or account, are refused as not found', async () => {
    const other = await world.inbox()
    const stranger = await world.newAccount()
    const strange = await stranger.client.inboxes.create()
    const foreign = await send(stranger, strange)
    const elsewhere = await send(world, other)
    for (const threadId of [
      elsewhere.threadId,
      foreign.threadId,
      'thr_01h455vb4pex5vsknk084sn02q',
      'nothing',
      '',
    ]) {
      const sending = send(world, inbox, { threadId })
      assert.equal(await refusal(sending), '404 not_found', threadId)
    }
    assert.equal(await refusal(send(stranger, inbox)), '404 not_found')
    assert.equal(await refusal(send(world, { id: 'nothing' })), '404 not_found')
    assert.equal(await countMessages(world, other), 1)
  })

  test('in a thread take the subject of the thread', async () => {
    const raw = plainMail({ to: inbox.address, subject: 'Asked', messageId: '<asked@x.example>' })
    await world.send({ to: inbox.address, raw })
    const { data } = await world.client.threads.list(inbox.id).page()
    const threadId = data[0]?.id ?? ''
    const { subject: _, ...without } = PLAIN
    const plain = await world.client.inboxes.send(inbox.id, { ...without, threadId })
    const own = await send(world, inbox, { threadId, subject: 'Now this' })
    const subjects = [plain, own].map(async ({ messageId }) => {
      return (await world.client.messages.get(messageId)).subject
    })
    assert.deepEqual(await Promise.all(subjects), ['Re: Asked', 'Re: Asked'])
    assert.equal((await world.client.threads.get(threadId)).subject, 'Asked')
  })
})

const PNG = Buffer.from('89504e470d0a1a0a00ff', 'hex')

const FIELDS = {
  to: 'bob@friend.example',
  cc: ['ann@friend.example', 'cid@friend.example'],
  subject: 'Grüße “an alle”',
  body: 'First line\nSecond – “line”\n',
  bodyHtml: '<p>First <b>line</b></p>',
  replyTo: 'desk@elsewhere.example',
}

function formOf(fields: Record<string, string | string[]>, files: [string, string, Uint8Array][]) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    for (const one of [value].flat()) form.append(name, one)
  }
  for (const [name, type, content] of files) {
    form.append('attachments', new Blob([Buffer.from(content)], { type }), name)
  }
  return form
}

function post(world: World, inbox: Inbox, form: FormData, key: string = randomUUID()) {
  return world.fetch(`/v1/inboxes/${inbox.id}/send`, {
    method: 'POST',
    headers: { 'idempotency-key': key },
    body: form,
  })
}

async function postWell(world: World, inbox: Inbox, form: FormData): Promise<SentMessage> {
  const response = await post(world, inbox, form)
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as SentMessage
}

onAnyEngine('a send as a form', (engine) => {
  const world = opened(() => openTenant(engine))
  const inbox = prepared(() => world.inbox())

  test('composes the same message as JSON', async () => {
    const files: [string, string, Uint8Array][] = [
      ['Übersicht.png', 'image/png', PNG],
      ['empty.bin', 'application/octet-stream', new Uint8Array()],
    ]
    const byForm = await postWell(world, inbox, formOf(FIELDS, files))
    const attachments = files.map(([filename, contentType, data]) => ({
      filename,
      contentType,
      data,
    }))
    const byJson = await send(world, inbox, { ...FIELDS, attachments })
    const [one, two] = await Promise.all([contentOf(byForm), contentOf(byJson)])
    assert.deepEqual(one.message, two.message)
    assert.equal(one.raw, two.raw)
    assert.equal(one.message.attachments.length, 2)
  })

  /** The content, without the identifiers of this message. */
  async function contentOf({ messageId }: SentMessage) {
    const { content } = await world.client.messages.raw(messageId)
    const { id, threadId, rfcMessageId, createdAt, attachments, status, ...message } =
      await world.client.messages.get(messageId)
    const raw = Buffer.from(content)
    const boundary = /boundary="([^"]+)-Part_1"/.exec(raw.toString('latin1'))?.[1] ?? 'no boundary'
    const text = raw
      .subarray(raw.indexOf('\r\nFrom:'))
      .toString('latin1')
      .replace(fieldOf(raw, 'message-id') ?? '', '<id>')
      .replace(fieldOf(raw, 'date') ?? '', 'date')
      .replaceAll(boundary, 'boundary')
    const files = attachments.map(({ url, ...file }) => file)
    return { raw: text, message: { ...message, attachments: files } }
  }
})

test('a message of 25 MiB is accepted, and refused when it is a line longer', async () => {
  await using world = await openWorld('sqlite')
  const inbox = await world.inbox()
  const good = { to: 'bob@friend.example', subject: 'Large', body: 'A body.' }
  const withLines = (count: number) =>
    formOf(good, [['a.bin', 'application/octet-stream', Buffer.alloc(count * 57, 'x')]])
  const { messageId: small } = await postWell(world, inbox, withLines(1))
  const { content } = await world.client.messages.raw(small)
  const most = Math.floor((25 * 1024 * 1024 - content.length) / 78) + 1
  const before = await countRows(world, 'raw_messages')
  assert.equal(await outcomeOf(post(world, inbox, withLines(most + 1))), '413 payload_too_large')
  assert.equal(await countRows(world, 'raw_messages'), before)
  const { messageId } = await postWell(world, inbox, withLines(most))
  const [attachment] = (await world.client.messages.get(messageId)).attachments
  assert.equal(attachment?.sizeBytes, most * 57)
})
