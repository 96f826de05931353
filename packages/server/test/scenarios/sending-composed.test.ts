import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { listServiceRecords } from '#domains/signing/signing.ts'
import { refusalOf } from '#test/scenarios/outcomes.ts'
import {
  arrived,
  fieldNamesOf,
  fieldOf,
  openSendingTenant,
  PLAIN,
  readMail,
  send,
} from '#test/scenarios/sending-world.ts'
import { onAnyEngine, opened } from '#test/world.ts'

const DISPLAY_NAMES = [
  'Support',
  'Support Team 24/7',
  'Müller, "Jörg"',
  'O"Brien \\ Sons',
  '株式会社サポート・チーム',
  'a <eve@evil.example>, b',
  '=?UTF-8?Q?not_encoded?=',
  "it's (not) a comment; or: a group",
  `${'long name '.repeat(19)}end`,
  'e\u0301 \u{1f600} family \u{1f469}\u200d\u{1f467}',
]

const SUBJECTS = [
  'plain',
  'Grüße aus München',
  '日本語の件名がここに入ります。とても長いので折り返されます。'.repeat(5),
  '=?UTF-8?B?bm8=?= is not encoded',
  'two  spaces   and\u00a0one more',
  'x'.repeat(998),
  `${'word '.repeat(199)}end`,
  'a: b; c="d" <e@f>',
  '\u{1f4e7}'.repeat(300),
]

/** Texts as a reader returns them: with LF, and one line end after the last line. */
const BODIES: Record<string, string> = {
  'lines that are dots': 'before\n.\n..\n...\nafter',
  'only dots': '.\n.\n.',
  'a bare CR around a dot': 'before\r.\rafter',
  'lines of 5,000 characters': `${'x'.repeat(5_000)}\n${'word '.repeat(1_000)}\nend`,
  'white space at the ends of lines': 'one  \ntwo\t\n\n\nthree   ',
  'what looks like the end of the header': '\n\nFrom: eve@evil.example\n\nbody',
  'a From at the start of a line': 'From here\nFrom there',
  'all kinds of letters': 'Grüße, 日本語, \u{1f600}, \u2028 and =3D',
  'what looks like a boundary': '--=_boundary--\n--\n-- \nAnn',
}

onAnyEngine('a sent message as received', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  test('has the requested fields, once each, and no others', async () => {
    const inbox = await world.client.inboxes.create({ displayName: 'Ada' })
    const cc = ['ann@friend.example', 'cid@friend.example']
    const sent = await send(world, inbox, { cc, replyTo: 'desk@elsewhere.example' })
    const { raw, reversePath, tls } = await arrived(world, sent)
    assert.deepEqual(fieldNamesOf(raw).sort(), [
      'cc',
      'content-transfer-encoding',
      'content-type',
      'date',
      'dkim-signature',
      'from',
      'message-id',
      'mime-version',
      'reply-to',
      'subject',
      'to',
      'x-loop',
    ])
    assert.equal(fieldOf(raw, 'message-id'), sent.providerMessageId)
    assert.equal(fieldOf(raw, 'from'), `Ada <${inbox.address}>`)
    assert.equal(fieldOf(raw, 'to'), PLAIN.to)
    assert.equal(fieldOf(raw, 'cc'), cc.join(', '))
    assert.equal(fieldOf(raw, 'reply-to'), 'desk@elsewhere.example')
    assert.equal(tls, 'TLSv1.3')
    assert.match(reversePath, /^[^@]+@mailroom\.localhost$/)
    const date = fieldOf(raw, 'date') ?? ''
    assert.match(date, /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{1,2} \w{3} \d{4} [\d:]{8} \+0000$/)
    assert.equal(Date.parse(date), Math.floor(Date.parse(sent.createdAt) / 1_000) * 1_000)
    const stored = await world.client.messages.raw(sent.messageId)
    assert.ok(raw.equals(stored.content), 'what is stored is what left')
  })

  test('says that a program sends it if it is automatic: a reply, a new message, a draft, a forward', async () => {
    const inbox = await world.inbox()
    const isAutomatic = true
    const first = await send(world, inbox, { isAutomatic })
    const { threadId, messageId } = first
    const { id } = await world.client.drafts.create(inbox.id, { ...PLAIN, isAutomatic })
    assert.equal((await world.client.drafts.get(id)).isAutomatic, true)
    const form = new FormData()
    for (const [name, value] of Object.entries({ ...PLAIN, isAutomatic: 'true' })) {
      form.append(name, String(value))
    }
    const posted = await world.fetch(`/v1/inboxes/${inbox.id}/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.key}`, 'idempotency-key': 'a form' },
      body: form,
    })
    const item = { ...PLAIN, isAutomatic, idempotencyKey: 'an item' }
    const batch = await world.client.inboxes.sendBatch(inbox.id, [item])
    const sends = [
      [first, 'auto-generated'],
      [await send(world, inbox, { threadId, isAutomatic }), 'auto-replied'],
      [await send(world, inbox, { threadId }), null],
      [await world.client.drafts.send(id), 'auto-generated'],
      [
        await world.client.messages.forward(messageId, { to: PLAIN.to, isAutomatic }),
        'auto-generated',
      ],
      [(await posted.json()) as typeof first, 'auto-generated'],
      [batch.data[0]?.body as typeof first, 'auto-generated'],
    ] as const
    for (const [sent, expected] of sends) {
      const { raw } = await arrived(world, sent)
      assert.equal(fieldOf(raw, 'auto-submitted'), expected)
    }
  })

  test('has one mark of its service, which no caller can add to', async () => {
    const inbox = await world.inbox()
    for (const name of ['X-Loop', 'x-loop']) {
      const refused = await refusalOf(send(world, inbox, { headers: { [name]: 'mine' } }))
      assert.deepEqual([refused.status, refused.code], [400, 'bad_request'])
      assert.match(refused.message, /X-Loop/)
    }
    const { raw } = await arrived(world, await send(world, inbox, { headers: { 'X-Loops': '1' } }))
    assert.equal(fieldNamesOf(raw).filter((name) => name === 'x-loop').length, 1)
  })

  test('names its sender as the inbox does, whatever the name contains', async () => {
    const named = DISPLAY_NAMES.map(async (displayName) => {
      const inbox = await world.client.inboxes.create({ displayName })
      const sent = await send(world, inbox)
      const { raw } = await arrived(world, sent)
      const { from, headers } = await readMail(raw)
      assert.deepEqual(from, { address: inbox.address, name: displayName.trim() })
      assert.equal(headers.filter(({ key }) => key === 'from').length, 1)
      const { fromAddr } = await world.client.messages.get(sent.messageId)
      assert.ok(fromAddr.endsWith(`<${inbox.address}>`))
    })
    await Promise.all(named)
    const bare = await world.inbox()
    const { raw } = await arrived(world, await send(world, bare))
    assert.equal(fieldOf(raw, 'from'), bare.address)
  })

  test('has a changed display name from the next message on', async () => {
    const inbox = await world.client.inboxes.create({ displayName: 'Before' })
    await world.client.inboxes.update(inbox.id, { displayName: 'After' })
    const { raw } = await arrived(world, await send(world, inbox))
    assert.equal(fieldOf(raw, 'from'), `After <${inbox.address}>`)
  })

  test('has its subject unchanged, in ASCII and in lines that every server accepts', async () => {
    const inbox = await world.inbox()
    const titled = SUBJECTS.map(async (subject) => {
      const { raw } = await arrived(world, await send(world, inbox, { subject }))
      assert.equal((await readMail(raw)).subject, subject)
      assertLines(raw)
    })
    await Promise.all(titled)
  })

  test('has its text unchanged and signed, whatever its lines', async () => {
    const inbox = await world.inbox()
    const written = Object.entries(BODIES).map(async ([name, body]) => {
      const { raw } = await arrived(world, await send(world, inbox, { body }))
      const { text = '' } = await readMail(raw)
      const asRead = body.replace(/\r/g, '\n')
      assert.equal(text.replaceAll('\r\n', '\n').replace(/\n$/, ''), asRead, name)
      assertLines(raw)
      assert.equal(await dkimResult(raw), 'pass', name)
    })
    await Promise.all(written)
  })

  test('is signed for the domain of its sender, and the signature covers its content', async () => {
    const inbox = await world.client.inboxes.create({ displayName: 'Jörg' })
    const attachments = [{ filename: 'ö.bin', contentType: 'image/png', data: Buffer.alloc(5_000) }]
    const sent = await send(world, inbox, {
      subject: 'Grüße',
      body: '<p>Hello</p>',
      cc: ['ann@friend.example'],
      attachments,
    })
    const { raw } = await arrived(world, sent)
    assert.equal(await dkimResult(raw), 'pass')
    const text = raw.toString('latin1')
    const changed = [
      text.replace('Subject: ', 'Subject: x'),
      text.replace('\r\nTo: ', '\r\nTo: eve@evil.example, '),
      text.replace('\r\nFrom: ', '\r\nFrom: eve@evil.example\r\nFrom: '),
      `${text}more\r\n`,
    ]
    for (const one of changed) assert.notEqual(await dkimResult(Buffer.from(one, 'latin1')), 'pass')
  })

  async function dkimResult(raw: Buffer): Promise<string | undefined> {
    const { settings, app, clock } = world
    const records = await listServiceRecords(app.deps, settings)
    const resolver = async (name: string, type: string) => {
      const record = records.find((one) => one.name === name && one.type === type)
      if (record === undefined) throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
      return [[record.value]]
    }
    const { results } = await dkimVerify(raw, { resolver, curTime: clock.now() })
    assert.equal(results.length, 1)
    assert.equal(results[0]?.signingDomain, 'mailroom.localhost')
    return results[0]?.status.result
  }

  test('is HTML with a text part when its body is markup, and text alone otherwise', async () => {
    const inbox = await world.inbox()
    const table: [body: string, html: boolean, text: RegExp][] = [
      ['<p>Hello <b>Bob</b></p><ul><li>one</li></ul>', true, /^Hello Bob\n[^<]*one\n?$/],
      [' \n<!DOCTYPE html><html><body>Hello</body></html>', true, /^Hello\n?$/],
      ['<!-- comment --><table><tr><td>cell</td></tr></table>', true, /^cell\n?$/],
      ['a < b and b > c', false, /^a < b and b > c\n?$/],
      ['<john@example.com> wrote this', false, /^<john@example\.com> wrote this\n?$/],
      ['See <b>this</b>', false, /^See <b>this<\/b>\n?$/],
    ]
    for (const [body, isHtml, expected] of table) {
      const sent = await send(world, inbox, { body })
      const mail = await readMail((await arrived(world, sent)).raw)
      assert.match(mail.text?.replaceAll('\r\n', '\n') ?? '', expected)
      assert.equal(mail.html?.trim(), isHtml ? body.trim() : undefined)
      const message = await world.client.messages.get(sent.messageId)
      assert.equal(message.bodyHtml, isHtml ? body : '')
      assert.match(message.bodyText, expected)
    }
  })

  test('has the given HTML beside another text', async () => {
    const inbox = await world.inbox()
    const fields = { body: 'The text.', bodyHtml: '<h1>The <i>HTML</i></h1>' }
    const sent = await send(world, inbox, fields)
    const mail = await readMail((await arrived(world, sent)).raw)
    assert.deepEqual([mail.text?.trim(), mail.html?.trim()], Object.values(fields))
    const { bodyText, bodyHtml } = await world.client.messages.get(sent.messageId)
    assert.deepEqual({ body: bodyText, bodyHtml }, fields)
  })

  /** CRLF only, ASCII only, and no line that a server may break (RFC 5322 §2.1.1). */
  function assertLines(raw: Buffer): void {
    const text = raw.toString('latin1')
    assert.doesNotMatch(text, /[^\x00-\x7f]/)
    assert.doesNotMatch(text.replaceAll('\r\n', ''), /[\r\n]/)
    for (const line of text.split('\r\n')) assert.ok(line.length <= 998, `${line.length} octets`)
  }
})
