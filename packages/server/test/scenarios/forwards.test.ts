import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox, Message } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { refusal } from '#test/scenarios/outcomes.ts'
import {
  arrived,
  deliveriesOf,
  fieldOf,
  openSendingTenant,
  readMail,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, plainMail } from '#test/world.ts'

const ANN = 'ann@friend.example'
const CAT = 'cat@friend.example'
const DAN = 'dan@friend.example'
const LOGO = Buffer.from(Array.from({ length: 512 }, (_, index) => (index * 31) % 256))
const PAPER = Buffer.from('a,b\r\n1,2\r\n')

/** Text and HTML with an image, and a file. */
function withFiles(inbox: Inbox, more: string[] = []): string {
  const part = (fields: string[], body: string) => `${fields.join('\r\n')}\r\n\r\n${body}\r\n`
  const base64 = 'Content-Transfer-Encoding: base64'
  const related = [
    part(
      ['Content-Type: text/html'],
      '<p onclick="x()">Hello <img src="cid:logo@here"><br>A & B</p><script>x()</script>',
    ),
    part(
      [
        'Content-Type: image/png; name=logo.png',
        base64,
        'Content-ID: <logo@here>',
        'Content-Disposition: inline',
      ],
      LOGO.toString('base64'),
    ),
  ].map((one) => `--r\r\n${one}`)
  const alternative = [
    part(['Content-Type: text/plain'], 'Hello [logo]\r\n> quoted\r\nA & B'),
    part(['Content-Type: multipart/related; boundary=r'], `${related.join('')}--r--`),
  ].map((one) => `--a\r\n${one}`)
  const mixed = [
    part(['Content-Type: multipart/alternative; boundary=a'], `${alternative.join('')}--a--`),
    part(
      [
        'Content-Type: text/csv',
        base64,
        'Content-ID: <f_1>',
        'Content-Disposition: attachment; filename="table.csv"',
      ],
      PAPER.toString('base64'),
    ),
  ].map((one) => `--m\r\n${one}`)
  return plainMail({
    from: `"Bob, the friend" <bob@friend.example>`,
    to: `${inbox.address}, Ann <${ANN}>`,
    subject: 'Figures',
    messageId: `<files.${inbox.id}@friend.example>`,
    headers: [
      `Cc: ${CAT}`,
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=m',
      ...more,
    ],
    body: `${mixed.join('')}--m--`,
  })
}

onEachEngine('a forwarded message', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  async function received(
    raw: (inbox: Inbox) => string,
  ): Promise<{ inbox: Inbox; message: Message }> {
    const inbox = await world.inbox()
    await deliver(world, inbox, raw(inbox), 'bob@friend.example')
    const [message] = (await world.client.messages.list(inbox.id).page()).data
    assert.ok(message !== undefined)
    return { inbox, message: await world.client.messages.get(message.id) }
  }

  test('is refused for now when its files are not found as the message lists them', async () => {
    const { message } = await received(withFiles)
    await runSql(
      world,
      `update messages set attachments = replace(attachments, 'table.csv', 'other.csv') where id = '${message.id}'`,
    )
    const asked = { to: DAN, body: 'See below.' }
    const forward = world.client.messages.forward(message.id, asked, { maxRetries: 0 })
    assert.equal(await refusal(forward), '503 service_unavailable')
    await world.client.messages.forward(message.id, { ...asked, includeAttachments: false })
  })

  test('stands whole below the text, with its header lines and its files', async () => {
    const { inbox, message } = await received(withFiles)
    const sent = await world.client.messages.forward(message.id, {
      to: [DAN, 'eve@friend.example'],
      body: 'See below.',
    })
    assert.notEqual(sent.threadId, message.threadId)
    const { raw } = await arrived(world, sent)
    assert.equal(fieldOf(raw, 'subject'), 'Fwd: Figures')
    assert.equal(fieldOf(raw, 'to'), `${DAN}, eve@friend.example`)
    assert.equal(fieldOf(raw, 'references'), null)
    const mail = await readMail(raw)
    const date = new Date(message.createdAt).toUTCString().replace('GMT', '+0000')
    const lines = [
      'See below.',
      '',
      '---------- Forwarded message ---------',
      'From: "Bob, the friend" <bob@friend.example>',
      `Date: ${date}`,
      'Subject: Figures',
      `To: ${inbox.address}, Ann <${ANN}>`,
      `Cc: ${CAT}`,
      '',
      'Hello [logo]',
      '> quoted',
      'A & B',
    ]
    assert.equal(mail.text?.replaceAll('\r\n', '\n').trim(), lines.join('\n'))
    assert.match(
      mail.html ?? '',
      /<div>See below\.<\/div>[\s\S]*From: &quot;Bob, the friend&quot; &lt;bob@friend\.example&gt;<br>/,
    )
    assert.match(mail.html ?? '', /<p>Hello <img src="cid:logo@here"><br>A &amp; B<\/p>/)
    assert.doesNotMatch(mail.html ?? '', /script|onclick/)
    const files = mail.attachments.map(
      ({ filename, disposition, contentId, mimeType, content }) => {
        assert.ok(content instanceof ArrayBuffer)
        return [filename, mimeType, disposition, contentId, Buffer.from(content).toString('hex')]
      },
    )
    assert.deepEqual(files, [
      ['logo.png', 'image/png', 'inline', '<logo@here>', LOGO.toString('hex')],
      ['table.csv', 'text/csv', 'attachment', '<f_1>', PAPER.toString('hex')],
    ])
    const kept = await settled(world, sent)
    assert.deepEqual(
      kept.attachments.map(({ filename, isInline }) => [filename, isInline]),
      [
        ['logo.png', true],
        ['table.csv', false],
      ],
    )
    assert.equal(kept.extractedText, kept.bodyText, 'nothing of it is a quote of this thread')
    const thread = await world.client.threads.get(sent.threadId)
    assert.deepEqual(
      [thread.subject, thread.messageCount, thread.isRead],
      ['Fwd: Figures', 1, true],
    )
    const original = await world.client.threads.get(message.threadId)
    assert.deepEqual([original.messageCount, original.isRead], [1, false])
  })

  test('comes without files if they are not wanted, and without a text of its own', async () => {
    const { message } = await received(withFiles)
    const sent = await world.client.messages.forward(message.id, {
      to: DAN,
      includeAttachments: false,
    })
    const mail = await readMail((await arrived(world, sent)).raw)
    assert.equal(mail.attachments.length, 0)
    assert.ok(!(mail.html ?? '').includes('cid:'))
    assert.match(mail.text ?? '', /^---------- Forwarded message/)
  })

  test('that was sent is passed on without its hidden recipients', async () => {
    const inbox = await world.inbox()
    const sent = await send(world, inbox, {
      to: [ANN],
      bcc: ['hidden@friend.example'],
      subject: 'Fw: RE: A plan',
      attachments: [{ filename: 'a.bin', contentType: 'application/octet-stream', data: LOGO }],
    })
    const passed = await world.client.messages.forward(sent.messageId, { to: CAT, bcc: [DAN] })
    const { raw } = await arrived(world, passed)
    assert.equal(fieldOf(raw, 'subject'), 'Fwd: RE: A plan')
    const text = raw.toString('latin1')
    assert.ok(!text.includes('hidden@') && !text.includes('dan@'))
    const { text: body, html, attachments } = await readMail(raw)
    assert.match(body ?? '', new RegExp(`To: ${ANN}\\s+A body\\.`))
    assert.equal(html, undefined)
    assert.equal(attachments.length, 1)
    const recipients = (await deliveriesOf(world, passed)).map(({ recipient }) => recipient)
    assert.deepEqual(recipients, [CAT, DAN])
  })

  test('is sent once for each key, and refused as a send is', async () => {
    const { message } = await received(withFiles)
    const { client } = world
    const key = { idempotencyKey: `forward ${message.id}` }
    const first = await client.messages.forward(message.id, { to: DAN }, key)
    const again = await client.messages.forward(
      message.id,
      { to: DAN, includeAttachments: true, cc: [], bcc: [] },
      key,
    )
    assert.deepEqual(again, first)
    const refusedAs = async (
      code: string,
      id: string,
      body: { to: string | string[] },
      options = {},
    ) => {
      const error = await client.messages.forward(id, body, options).catch((thrown) => thrown)
      assert.equal(error.code, code)
      return error
    }
    await refusedAs('idempotency_key_reused', message.id, { to: ANN }, key)
    await refusedAs('not_found', 'msg_none', { to: ANN })
    const wrong = await refusedAs('bad_request', message.id, { to: [ANN, 'nobody'] })
    assert.equal(wrong.details[0].path, 'to[1]')
    await client.suppressions.create({ address: 'no@friend.example' })
    await refusedAs('recipient_suppressed', message.id, { to: 'no@friend.example' })
    const many = Array.from({ length: 50 }, (_, at) => `p${at}@friend.example`)
    const over = { to: DAN, bcc: many }
    const error = await client.messages.forward(message.id, over).catch((thrown) => thrown)
    assert.equal(error.code, 'bad_request')
    const other = await world.newAccount()
    await assert.rejects(other.client.messages.forward(message.id, { to: ANN }), {
      code: 'not_found',
    })
    const { total } = await client.messages.list(message.inboxId).page()
    assert.equal(total, 2, 'no refusal left a message')
  })

  test('in quarantine is not there', async () => {
    const { client } = await world.newAccount()
    await client.senderRules.create({ type: 'block', value: 'spam.example' })
    const inbox = await client.inboxes.create()
    const raw = plainMail({
      from: 'eve@spam.example',
      to: inbox.address,
      messageId: `<q.${inbox.id}@s>`,
    })
    await world.send({ to: inbox.address, from: 'eve@spam.example', raw })
    const [held] = (await client.quarantine.list().page()).data
    assert.ok(held !== undefined)
    await assert.rejects(client.messages.forward(held.id, { to: ANN }), { code: 'not_found' })
  })

  test('is refused when it would be larger than 25 MiB', async () => {
    const size = 19 * 1024 * 1024
    const { message } = await received((inbox) =>
      plainMail({
        from: 'bob@friend.example',
        to: inbox.address,
        messageId: `<large.${inbox.id}@friend.example>`,
        headers: [
          'Content-Type: application/octet-stream',
          'Content-Transfer-Encoding: binary',
          'Content-Disposition: attachment; filename=large.bin',
        ],
        body: `${'x'.repeat(900)}\r\n`.repeat(size / 902),
      }),
    )
    assert.ok((message.attachments[0]?.sizeBytes ?? 0) > 18 * 1024 * 1024)
    await assert.rejects(world.client.messages.forward(message.id, { to: ANN }), {
      code: 'payload_too_large',
      message: /25 MiB/,
      fix: /includeAttachments/,
    })
    const without = { to: ANN, includeAttachments: false }
    await settled(world, await world.client.messages.forward(message.id, without))
  })

  test('has at most as many files as a send', async () => {
    const files = (count: number) => (inbox: Inbox) => {
      const file =
        'Content-Type: text/csv; name=a.csv\r\nContent-Disposition: attachment\r\n\r\na\r\n'
      const headers = ['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=m']
      const body = `${`--m\r\n${file}`.repeat(count)}--m--`
      const messageId = `<many${count}.${inbox.id}@friend.example>`
      return plainMail({ from: ANN, to: inbox.address, messageId, headers, body })
    }
    const { message } = await received(files(101))
    assert.equal(message.attachments.length, 101)
    const { client } = world
    await assert.rejects(client.messages.forward(message.id, { to: ANN }), {
      code: 'payload_too_large',
      message: 'The message would have 101 files; at most 100 are allowed.',
      fix: /includeAttachments/,
    })
    const without = { to: ANN, includeAttachments: false }
    await settled(world, await client.messages.forward(message.id, without))
    const { message: allowed } = await received(files(100))
    await settled(world, await client.messages.forward(allowed.id, { to: ANN }))
  })

  test('cannot add lines to the header, neither of the mail nor of the original', async () => {
    const evil = 'x\r\n =?utf-8?q?=0D=0ABcc:_evil@friend.example?='
    const { message } = await received((inbox) =>
      plainMail({
        from: '=?utf-8?q?Bob=0D=0AFrom:_boss@x.example?= <bob@friend.example>',
        to: inbox.address,
        subject: evil,
        messageId: `<evil.${inbox.id}@friend.example>`,
        body: 'Hello',
      }),
    )
    const sent = await world.client.messages.forward(message.id, { to: DAN })
    const { raw } = await arrived(world, sent)
    assert.equal(fieldOf(raw, 'bcc'), null)
    const { text } = await readMail(raw)
    const lines = (text ?? '').split(/\r?\n/)
    assert.deepEqual(
      lines.slice(0, 5).map((line) => line.split(':')[0]),
      ['---------- Forwarded message ---------', 'From', 'Date', 'Subject', 'To'],
    )
    assert.equal(lines[5], '')
  })
})
