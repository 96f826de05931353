import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { FILENAME_LENGTH_MAX } from '@mailroom/mail/file-name.ts'
import { filePart, messageOf, multipart, type Part, textPart } from '@mailroom/mail/test/samples.ts'
import { isLongRun } from '@mailroom/mail/test/size-of.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { onEachEngine, opened, openTenant } from '#test/world.ts'

/** As written in a quoted string, and as listed. */
const NAMES: [written: string, listed: string][] = [
  ['plain.pdf', 'plain.pdf'],
  ['../../etc/passwd', 'passwd'],
  ['..\\\\x', 'x'],
  ['C:\\\\Windows\\\\system.ini', 'system.ini'],
  ['a%2Fb', 'a%2Fb'],
  ['%2e%2e', '%2e%2e'],
  ['a%00b', 'a%00b'],
  ['a?b#c&d=e.pdf', 'a?b#c&d=e.pdf'],
  ['a;b,c.pdf', 'a;b,c.pdf'],
  ['100% sure + more.pdf', '100% sure + more.pdf'],
  [`${'n'.repeat(300)}.pdf`, `${'n'.repeat(FILENAME_LENGTH_MAX - 4)}.pdf`],
  [`${'m'.repeat(5_000)}.tar`, `${'m'.repeat(FILENAME_LENGTH_MAX - 4)}.tar`],
  [`${'名'.repeat(300)}.pdf`, `${'名'.repeat(FILENAME_LENGTH_MAX - 4)}.pdf`],
  [`${'o'.repeat(101)}`, `${'o'.repeat(101)}`],
  ['evil\u202efdp.exe', 'evilfdp.exe'],
  ['nul\0in.pdf', 'nulin.pdf'],
  ['CON', '_CON'],
  ['aux.txt', '_aux.txt'],
  ['', 'attachment.pdf'],
  ['.', 'attachment (2).pdf'],
  ['..', 'attachment (3).pdf'],
  ['...', 'attachment (4).pdf'],
  [' ', 'attachment (5).pdf'],
  ['a.txt', 'a.txt'],
  ['a.txt', 'a (2).txt'],
  ['a.txt', 'a (3).txt'],
  ['A.TXT', 'A (4).TXT'],
  ['名前.pdf', '名前.pdf'],
  ['=?utf-8?B?5ZCN5YmN?=.pdf', '名前 (2).pdf'],
  ['\\"', '"'],
  ['quo\\"ted.pdf', 'quo"ted.pdf'],
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['<script>.html', '<script>.html'],
  ['\u{1f600}.png', '\u{1f600}.png'],
]

onEachEngine('a file name', (engine) => {
  const world = opened(() => openTenant(engine))

  const receive = async (parts: Part[]) => {
    const raw = messageOf(multipart('mixed', 'mix', [textPart('Text'), ...parts]))
    return deliver(world, await world.inbox(), Buffer.from(raw))
  }

  test('of any kind is listed safe and unique, and both kinds of download use it', async () => {
    const content = (index: number) => `content ${index}`
    const message = await receive(
      NAMES.map(([written], index) => filePart(written, Buffer.from(content(index)))),
    )
    const listed = message.attachments.map(({ filename }) => filename)
    assert.deepEqual(
      listed,
      NAMES.map(([, name]) => name),
    )
    assert.equal(new Set(listed.map((name) => name.toLowerCase())).size, listed.length)
    for (const [index, { filename, url }] of message.attachments.entries()) {
      const signed = await fetch(url)
      assert.equal(signed.status, 200, filename)
      assert.equal(await signed.text(), content(index), filename)
      const { content: keyed } = await world.client.attachments.get(message.id, filename)
      assert.equal(Buffer.from(keyed).toString(), content(index), filename)
    }
  })

  // The rest does not depend on the database.
  if (engine === 'postgres' && !isLongRun()) return

  test('that looks numbered does not collide with the number of a repeated name', async () => {
    for (const [written, expected] of [
      [
        ['a.pdf', 'a (2).pdf', 'a.pdf'],
        ['a.pdf', 'a (2).pdf', 'a (3).pdf'],
      ],
      [
        ['a.pdf', 'a.pdf', 'a (2).pdf'],
        ['a.pdf', 'a (2).pdf', 'a (2) (2).pdf'],
      ],
      [
        ['a', 'a', 'a'],
        ['a', 'a (2)', 'a (3)'],
      ],
      [
        ['.bashrc', '.bashrc'],
        ['.bashrc', '.bashrc (2)'],
      ],
    ] as const) {
      const files = written.map((name, index) => filePart(name, Buffer.from(`${index}`)))
      const { attachments } = await receive(files)
      assert.deepEqual(
        attachments.map(({ filename }) => filename),
        expected,
      )
      for (const [index, { url }] of attachments.entries()) {
        assert.equal(await (await fetch(url)).text(), `${index}`)
      }
    }
  })

  test('repeated five hundred times at full length stays unique', async () => {
    const name = `${'x'.repeat(400)}.pdf`
    const files = Array.from({ length: 500 }, (_, index) => filePart(name, Buffer.from(`${index}`)))
    const { attachments } = await receive(files)
    assert.equal(new Set(attachments.map(({ filename }) => filename)).size, 500)
    for (const { filename } of attachments) assert.ok([...filename].length <= FILENAME_LENGTH_MAX)
    assert.equal(await (await fetch(attachments[499]?.url ?? '')).text(), '499')
  })

  test('is read from every place where programs write it', async () => {
    const fields = (...lines: string[]): Part => ({ fields: lines, body: 'x' })
    const { attachments } = await receive([
      fields('Content-Type: application/pdf; name="in-type.pdf"'),
      fields(
        'Content-Type: application/pdf; name="type.pdf"',
        'Content-Disposition: attachment; filename="disposition.pdf"',
      ),
      fields(
        'Content-Type: application/pdf',
        `Content-Disposition: attachment; filename*=UTF-8''%e5%90%8d.pdf`,
      ),
      fields(
        'Content-Type: application/pdf',
        `Content-Disposition: attachment;\r\n filename*0*=iso-8859-1''Gr%FC;\r\n filename*1*=%DFe;\r\n filename*2=".pdf"`,
      ),
      fields('Content-Type: image/png', 'Content-Disposition: attachment'),
    ])
    assert.deepEqual(
      attachments.map(({ filename }) => filename),
      ['in-type.pdf', 'disposition.pdf', '名.pdf', 'Grüße.pdf', 'attachment.png'],
    )
  })

  test('in a path without such an attachment is not found, and reads no file', async () => {
    const message = await receive([filePart('a.pdf', Buffer.from('x'))])
    const base = `/v1/attachments/${message.id}`
    for (const name of [
      '..%2f..%2f..%2f..%2fetc%2fpasswd',
      '..%5c..%5cwindows%5cwin.ini',
      '%2fetc%2fpasswd',
      'a.pdf%00',
      '%00',
      '%ff',
      '%252e%252e',
      '%252e%252e%252fetc%252fpasswd',
      '..\\..\\etc\\passwd',
      '.%2f',
      'a.pdf%2f',
      'a.pdf/',
      './a.pdf/..',
      '%2e%2e',
      'x'.repeat(101),
      'x'.repeat(1_000),
      '%e5%90%8d'.repeat(300),
      '__proto__',
      'constructor',
      '%',
      '%zz',
    ]) {
      const { status, body } = await get(`${base}/${name}`)
      assert.ok(status === 404 || status === 400, `${name}: ${status}`)
      assert.match(JSON.parse(body).error, /^(not_found|bad_request)$/)
      assert.ok(!body.includes('root:'))
    }
    for (const path of [
      `${base}/../../inboxes`,
      `${base}/%2e%2e/%2e%2e/inboxes`,
      `${base}//a.pdf`,
    ]) {
      assert.ok((await get(path)).status >= 400, path)
    }
    assert.equal((await get(`${base}/a.pdf`)).status, 200)
    assert.equal((await get(`${base}/%61%2epdf`)).status, 200)
  })

  /** The path is sent unchanged. */
  function get(path: string): Promise<{ status: number; body: string }> {
    const { hostname, port } = new URL(world.baseUrl)
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${world.key}` }
      request({ hostname, port, path, headers }, async (response) => {
        let body = ''
        for await (const chunk of response) body += chunk
        resolve({ status: response.statusCode ?? 0, body })
      })
        .on('error', reject)
        .end()
    })
  }
})
