import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FileToSend, Message } from '@mailroom/sdk'
import { arrived, openSendingTenant, readMail, send } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened } from '#test/world.ts'

const ALL_OCTETS = Buffer.from(Array.from({ length: 256 * 40 }, (_, index) => (index * 7) % 256))

const file = (filename: string, data: Uint8Array = ALL_OCTETS, more = {}): FileToSend => ({
  filename,
  contentType: 'application/octet-stream',
  data,
  ...more,
})

onEachEngine('files of a sent message', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  async function sendFiles(attachments: FileToSend[], fields = {}) {
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { attachments, ...fields })
    const { raw } = await arrived(world, sent)
    const message = await world.client.messages.get(sent.messageId)
    return { mail: await readMail(raw), message, raw }
  }

  const download = async ({ id, attachments }: Message, index: number) => {
    const { filename = '', url = '' } = attachments[index] ?? {}
    const signed = await fetch(url)
    assert.equal(signed.status, 200)
    const bytes = Buffer.from(await signed.arrayBuffer())
    const own = await world.client.attachments.get(id, filename)
    assert.ok(bytes.equals(own.content))
    return bytes
  }

  test('arrive octet for octet, and are downloaded unchanged from the sent message', async () => {
    const contents = [
      ALL_OCTETS,
      Buffer.alloc(0),
      Buffer.from('\r\n.\r\n.\r\n\n.\n'),
      Buffer.from('text with\nbare line feeds\rand returns'),
      Buffer.alloc(300_000, 'From eve '),
    ]
    const types = ['image/png', 'application/pdf', 'text/plain', 'text/html', 'message/rfc822']
    const files = contents.map((data, index) =>
      file(`file${index}.bin`, data, { contentType: types[index] }),
    )
    const { mail, message } = await sendFiles(files)
    assert.equal(mail.attachments.length, contents.length)
    assert.equal(message.attachments.length, contents.length)
    for (const [index, content] of contents.entries()) {
      const received = mail.attachments[index]
      assert.ok(received?.content instanceof ArrayBuffer)
      assert.ok(Buffer.from(received.content).equals(content), `file ${index} arrived`)
      assert.equal(received.disposition, 'attachment')
      const listed = message.attachments[index]
      assert.equal(listed?.sizeBytes, content.length)
      assert.ok((await download(message, index)).equals(content), `file ${index} is kept`)
    }
    const opaque = 'application/octet-stream'
    const expected = ['image/png', 'application/pdf', 'text/plain', 'text/html', opaque]
    assert.deepEqual(
      message.attachments.map(({ contentType }) => contentType),
      expected,
    )
  })

  test('have safe and unique names, at the recipient and here', async () => {
    const names: [given: string, shown: string][] = [
      ['report.pdf', 'report.pdf'],
      ['report.pdf', 'report (2).pdf'],
      ['Übersicht “2026”.pdf', 'Übersicht “2026”.pdf'],
      ['名前.txt', '名前.txt'],
      ['../../etc/passwd', 'passwd'],
      ['C:\\temp\\x.doc', 'x.doc'],
      ['a\r\nX-Evil: 1.txt', 'a X-Evil: 1.txt'],
      ['semi;colon "quoted".txt', 'semi;colon "quoted".txt'],
      [`${'long'.repeat(60)}.txt`, ''],
    ]
    const { mail, message, raw } = await sendFiles(names.map(([name]) => file(name)))
    const shown = message.attachments.map(({ filename }) => filename)
    assert.equal(new Set(shown).size, names.length)
    assert.deepEqual(
      mail.attachments.map(({ filename }) => filename),
      shown,
    )
    for (const [index, [given, expected]] of names.entries()) {
      const name = shown[index] ?? ''
      if (expected !== '') assert.equal(withoutControls(name), withoutControls(expected), given)
      assert.doesNotMatch(name, /[\r\n/\\]/)
      assert.ok(name.length <= 200)
      assert.ok((await download(message, index)).equals(ALL_OCTETS))
    }
    assert.doesNotMatch(raw.toString('latin1'), /^X-Evil/m)
  })

  /** The composer decides whether a control character is removed or becomes a space. */
  const withoutControls = (name: string) => name.replace(/\s+/g, '')

  test('are shown within the HTML that refers to them', async () => {
    const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
    const { mail, message, raw } = await sendFiles(
      [
        file('logo.png', png, { contentType: 'image/png', contentId: 'logo@here' }),
        file('terms.pdf', ALL_OCTETS, { contentType: 'application/pdf' }),
      ],
      { body: '<p>Hello <img src="cid:logo@here"></p>' },
    )
    const [logo, terms] = mail.attachments
    assert.deepEqual([logo?.disposition, terms?.disposition], ['inline', 'attachment'])
    assert.equal(logo?.contentId, '<logo@here>')
    assert.match(raw.toString('latin1'), /multipart\/related/)
    assert.equal(message.attachments.length, 2)
    assert.equal(message.attachments[0]?.filename, 'logo.png')
    assert.ok((await download(message, 0)).equals(png))
  })

  test('with a content type or id that would inject a field are refused or made harmless', async () => {
    const inbox = await world.inbox()
    const tries = [
      { contentType: 'text/plain\r\nX-Evil: 1' },
      { contentType: 'text/plain; charset=utf-8; name="evil.exe"' },
      { contentType: 'no type at all' },
      { contentType: 'multipart/mixed; boundary=x' },
      { contentId: 'a\r\nX-Evil: 1' },
      { contentId: 'a> <b' },
    ]
    let taken = 0
    for (const more of tries) {
      const sending = send(world, inbox, { attachments: [file('a.bin', ALL_OCTETS, more)] })
      const sent = await sending.catch((error: unknown) => {
        assert.equal((error as { status?: number }).status, 400)
        return null
      })
      if (sent === null) continue
      taken += 1
      const { raw } = await arrived(world, sent)
      assert.doesNotMatch(raw.toString('latin1'), /X-Evil|evil\.exe|boundary=x/)
      const [attachment] = (await readMail(raw)).attachments
      assert.ok(Buffer.from(attachment?.content as ArrayBuffer).equals(ALL_OCTETS))
    }
    assert.ok(taken >= 2)
  })
})
