import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import type { Inbox, SentMessage } from '@mailroom/sdk'
import { countRows } from '#test/scenarios/deliver.ts'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { fieldOf, send } from '#test/scenarios/sending-world.ts'
import { onAnyEngine, opened, openWorld, type World } from '#test/world.ts'

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
  const world = opened(() => openWorld(engine))
  let inbox: Inbox
  before(async () => {
    inbox = await world.inbox()
  })

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

  /** What is said, without what names this one message. */
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

test('a message of 25 MiB is taken, and refused when it is a line longer', async () => {
  const world = await openWorld('sqlite')
  try {
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
  } finally {
    await world.close()
  }
})
