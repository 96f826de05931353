import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import type { Inbox, SentMessage } from '@mailroom/sdk'
import { countMessages, countRows } from '#test/scenarios/deliver.ts'
import { errorOf, refusal } from '#test/scenarios/outcomes.ts'
import { PLAIN, send } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

const file = { filename: 'a.txt', contentType: 'text/plain', data: 'aGk=' }

/** A change to a good body, and the field that the refusal names; null: it is taken. */
const cases: readonly [name: string, change: Record<string, unknown>, path: string | null][] = [
  ['no to', { to: undefined }, 'to'],
  ['to of another type', { to: ['bob@friend.example'] }, 'to'],
  ['no body', { body: undefined }, 'body'],
  ['a body of one character', { body: 'x' }, null],
  ['an empty body', { body: '' }, 'body'],
  ['a body of 100,000 characters', { body: 'x'.repeat(100_000) }, null],
  ['a body of 100,001 characters', { body: 'x'.repeat(100_001) }, 'body'],
  ['100,000 characters outside the basic plane', { body: '😀'.repeat(100_000) }, null],
  ['100,001 characters outside the basic plane', { body: '😀'.repeat(100_001) }, 'body'],
  ['a subject of one character', { subject: 'x' }, null],
  ['an empty subject', { subject: '' }, 'subject'],
  ['a subject of 998 characters', { subject: 'x'.repeat(998) }, null],
  ['a subject of 998 characters to be encoded', { subject: 'é名'.repeat(499) }, null],
  ['a subject of 999 characters', { subject: 'x'.repeat(999) }, 'subject'],
  ['no subject and no thread', { subject: undefined }, 'subject'],
  ['an HTML body of 500,000 characters', { bodyHtml: 'x'.repeat(500_000) }, null],
  ['an HTML body of 500,001 characters', { bodyHtml: 'x'.repeat(500_001) }, 'bodyHtml'],
  ['an empty HTML body', { bodyHtml: '' }, null],
  ['includeQuote without a thread', { includeQuote: true }, null],
  ['includeQuote of another type', { includeQuote: 'yes' }, 'includeQuote'],
  ['a replyTo', { replyTo: 'desk@elsewhere.example' }, null],
  ['a replyTo with a name', { replyTo: 'Desk <desk@elsewhere.example>' }, null],
  ['an empty cc', { cc: [] }, null],
  ['50 copies', { cc: addresses(50) }, null],
  ['51 copies', { cc: addresses(51) }, 'cc'],
  ['cc that is a string', { cc: 'ann@friend.example' }, 'cc'],
  ['a copy that is no address', { cc: ['ann@friend.example', 'nobody'] }, 'cc[1]'],
  ['no files', { attachments: [] }, null],
  ['100 files', { attachments: Array.from({ length: 100 }, () => file) }, null],
  ['101 files', { attachments: Array.from({ length: 101 }, () => file) }, 'attachments'],
  ['an empty file', { attachments: [{ ...file, data: '' }] }, null],
  ['base64 with a wrong sign', { attachments: [{ ...file, data: 'aG!=' }] }, 'attachments[0].data'],
  ['base64 without padding', { attachments: [{ ...file, data: 'aGk' }] }, 'attachments[0].data'],
  ['base64 with spaces', { attachments: [{ ...file, data: 'aG k=' }] }, 'attachments[0].data'],
  ['base64 for URLs', { attachments: [{ ...file, data: '-_-_' }] }, 'attachments[0].data'],
  [
    'a file without a name',
    { attachments: [{ ...file, filename: '' }] },
    'attachments[0].filename',
  ],
  ['a file of no type', { attachments: [{ ...file, contentType: undefined }] }, 'attachments[0]'],
  ['a file with a field more', { attachments: [{ ...file, size: 1 }] }, 'attachments[0]'],
  ['a field more', { bcc: ['eve@friend.example'] }, 'bcc'],
  ['a character U+0000 in the body', { body: 'a\0b' }, 'body'],
  ['a line end in the subject', { subject: 'a\nb' }, 'subject'],
  ['a body of another type', { body: 7 }, 'body'],
  ['null for a field that may be left out', { replyTo: null }, null],
]

function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `copy${index}@friend.example`)
}

onEachEngine('the fields of a send', (engine) => {
  const world = opened(() => openWorld(engine))
  let inbox: Inbox
  before(async () => {
    inbox = await world.inbox()
  })

  const post = (body: unknown, inboxId = inbox.id) =>
    world.fetch(`/v1/inboxes/${inboxId}/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
      body: JSON.stringify(body),
    })

  for (const [name, change, path] of cases) {
    test(`${name} is ${path === null ? 'taken' : 'refused'}`, async () => {
      const before = await countRows(world, 'messages')
      const response = await post({ ...PLAIN, ...change })
      if (path === null) {
        assert.equal(response.status, 200, await response.clone().text())
        const { messageId } = (await response.json()) as SentMessage
        const message = await world.client.messages.get(messageId)
        const { body = PLAIN.body, subject = PLAIN.subject } = change
        assert.equal(message.bodyText, body)
        assert.equal(message.subject, subject)
        return
      }
      assert.equal(response.status, 400)
      const { error, details } = await errorOf(response)
      assert.equal(error, 'bad_request')
      const paths = (details as { path: string }[]).map((detail) => detail.path)
      assert.ok(
        paths.some((one) => one === path || one.startsWith(`${path}.`)),
        JSON.stringify(details),
      )
      assert.equal(await countRows(world, 'messages'), before)
    })
  }

  test('a thread that does not exist, of another inbox or of another account is not found', async () => {
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

  test('in a thread the subject is that of the thread, whatever a send says', async () => {
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
