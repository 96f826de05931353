import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { composedFiles, composeMessage, type OutgoingMessage } from '#compose/compose-message.ts'
import { singleLine } from '#compose/header-text.ts'
import { safeFileNames } from '#file-name.ts'
import { textFromHtml } from '#html/text.ts'
import { parseMime, readAttachment } from '#mime/mime-message.ts'
import { signer, splitSigned, tag, verdicts } from '#test/dkim-samples.ts'
import { sizeOf } from '#test/size-of.ts'
import { bare, compose, fieldNames, headerOf, outgoing } from './outgoing.ts'

const MESSAGES = sizeOf('TEST_MAILROOM_COMPOSED_MESSAGES', { quick: 100, usual: 500 })

const attachment = (changes: Partial<OutgoingMessage['attachments'][number]> = {}) => ({
  filename: 'a.pdf',
  contentType: 'application/pdf',
  content: Buffer.from('%PDF-1.7'),
  contentId: null,
  isInline: false,
  ...changes,
})

/** Bodies as every parser returns them: LF line ends, and no NUL. */
const asRead = (text: string) =>
  text
    .replaceAll('\0', '')
    .toWellFormed()
    .replace(/\r\n|\r/g, '\n')

test('a plain message has these octets', async () => {
  const raw = await compose({
    cc: [bare('c@peer.example')],
    replyTo: bare('r@peer.example'),
    inReplyTo: '<p@peer.example>',
    references: ['<o@peer.example>', '<p@peer.example>'],
  })
  assert.deepEqual(Buffer.from(raw).toString().split('\r\n'), [
    'From: Ada <ada@mailroom.example>',
    'To: bob@peer.example',
    'Cc: c@peer.example',
    'Reply-To: r@peer.example',
    'Subject: Sample',
    'In-Reply-To: <p@peer.example>',
    'References: <o@peer.example> <p@peer.example>',
    'Content-Transfer-Encoding: 7bit',
    'Message-ID: <m1.x@mailroom.example>',
    'Date: Fri, 20 Nov 2026 09:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'Hello Bob',
    '',
  ])
})

test('text, HTML, an image in it and a file are placed in the right parts', async () => {
  const raw = await compose({
    html: '<p>Hello <img src="cid:logo@x"></p>',
    attachments: [
      attachment({
        filename: 'logo.png',
        contentType: 'image/png',
        contentId: '<logo@x>',
        isInline: true,
      }),
      attachment(),
    ],
  })
  const text = Buffer.from(raw).toString()
  const types = [...text.matchAll(/^Content-Type: ([a-z/]+)/gm)].map((match) => match[1])
  assert.deepEqual(types, [
    'multipart/mixed',
    'multipart/alternative',
    'text/plain',
    'multipart/related',
    'text/html',
    'image/png',
    'application/pdf',
  ])
  const parsed = parseMime(raw)
  assert.equal(parsed.text, 'Hello Bob')
  assert.equal(parsed.html, '<p>Hello <img src="cid:logo@x"></p>')
  assert.deepEqual(
    parsed.attachments.map(({ filename, contentType, contentId, isInline }) => [
      filename,
      contentType,
      contentId,
      isInline,
    ]),
    [
      ['logo.png', 'image/png', 'logo@x', true],
      ['a.pdf', 'application/pdf', null, false],
    ],
  )
})

test('the same message gives the same octets', async () => {
  const message = outgoing({ html: '<p>x</p>', attachments: [attachment()] })
  const [first, second] = [await composeMessage(message), await composeMessage(message)]
  assert.deepEqual(first.raw, second.raw)
  const other = await composeMessage({ ...message, messageId: '<m2@mailroom.example>' })
  assert.notDeepEqual(
    Buffer.from(first.raw)
      .toString()
      .match(/boundary=.*/),
    Buffer.from(other.raw)
      .toString()
      .match(/boundary=.*/),
  )
})

test('a body that holds the delimiters of its own message is unchanged', async () => {
  const raw = await compose({ html: '<p>x</p>', attachments: [attachment()] })
  const text = Buffer.from(raw).toString().replaceAll('\r\n', '\n')
  const again = await compose({
    text,
    html: text,
    attachments: [attachment({ content: Buffer.from(text) })],
  })
  const parsed = parseMime(again)
  assert.equal(parsed.text, text)
  assert.equal(parsed.html, text)
  assert.equal(parsed.attachments.length, 1)
})

test('a local part outside ASCII is written as UTF-8, its domain as A-labels', async () => {
  const { raw, needsSmtpUtf8 } = await composeMessage(
    outgoing({ to: [bare('jürgen@bücher.example')], cc: [bare('a@bücher.example')] }),
  )
  assert.equal(needsSmtpUtf8, true)
  assert.match(headerOf(raw), /^To: jürgen@xn--bcher-kva\.example\r$/m)
  assert.match(headerOf(raw), /^Cc: a@xn--bcher-kva\.example\r$/m)
  assert.equal(
    (await composeMessage(outgoing({ to: [bare('a@bücher.example')] }))).needsSmtpUtf8,
    false,
  )
})

test('an address or Message-ID that fits no line is refused', async () => {
  const long = 'x'.repeat(1_000)
  await assert.rejects(composeMessage(outgoing({ to: [bare(`${long}@peer.example`)] })), RangeError)
  await assert.rejects(composeMessage(outgoing({ messageId: `<${long}@x>` })), RangeError)
})

test('invalid types, and types that may not be encoded, become application/octet-stream', async () => {
  const cases: [string, string][] = [
    ['message/rfc822', 'application/octet-stream'],
    ['Multipart/Mixed; boundary=x', 'application/octet-stream'],
    ['', 'application/octet-stream'],
    ['pdf', 'application/octet-stream'],
    ['text / plain', 'application/octet-stream'],
    ['a/b/c', 'application/octet-stream'],
    ['text/csv; charset=iso-8859-1', 'text/csv'],
    ['text/calendar; method=REQUEST', 'text/calendar'],
    ['Image/PNG; name="x.png"', 'image/png'],
    ['text/html', 'text/html'],
    ['text/plain', 'text/plain'],
  ]
  const content = Buffer.from('Subject: x\n\nbare lines \xff\n', 'latin1')
  for (const [contentType, expected] of cases) {
    for (const isInline of [true, false]) {
      const raw = await compose({ attachments: [attachment({ contentType, content, isInline })] })
      const read = readAttachment(raw, 0)
      assert.equal(read?.attachment.contentType, expected)
      assert.deepEqual(Buffer.from(read?.content ?? []), content)
    }
  }
})

test('parameters of a content type stay, except those that the composer sets and empty ones', async () => {
  const long = 'x'.repeat(101)
  const cases: [string, string[]][] = [
    ['text/calendar; method=REQUEST; charset="utf-8"', ['method=REQUEST', 'charset=utf-8']],
    ['text/plain;charset=iso-8859-1;format=flowed', ['charset=iso-8859-1', 'format=flowed']],
    ['application/json; charset=utf-8', ['charset=utf-8']],
    ['application/x; profile="a b"', ['profile="a b"']],
    ['text/plain; charset="utf-8 x"', []],
    ["application/pdf; name=evil.exe; boundary=b; name*=utf-8''evil.exe", []],
    [`application/x; a=${long}; b=ü; ${'y'.repeat(41)}=z; d; e="=?utf-8?Q?x?="`, []],
    ['message/rfc822; a=b', []],
    ['multipart/mixed; boundary=b; a=b', []],
  ]
  for (const [contentType, expected] of cases) {
    const raw = await compose({ attachments: [attachment({ contentType })] })
    const fields = Buffer.from(raw)
      .toString()
      .replaceAll(/\r\n[ \t]+/g, ' ')
      .split('\r\n')
    const field = fields.filter((line) => line.startsWith('Content-Type:')).at(-1) ?? ''
    const found = field.split('; ').slice(1)
    const own = found.filter((parameter) => !parameter.startsWith('name='))
    assert.deepEqual([own, found.length], [expected, expected.length + 1], contentType)
  }
  const many = Array.from({ length: 20 }, (_, index) => `p${index}=v`)
  const raw = await compose({
    attachments: [attachment({ contentType: ['application/x', ...many].join('; ') })],
  })
  assert.equal(
    Buffer.from(raw)
      .toString()
      .match(/\bp\d+=v/g)?.length,
    10,
  )
})

test('a content id is written unchanged or left out', async () => {
  const idOf = async (contentId: string) => {
    const raw = await compose({ attachments: [attachment({ contentId })] })
    return readAttachment(raw, 0)?.attachment.contentId
  }
  const good = ['logo@x', 'a.b_c', 'x'.repeat(250)]
  for (const id of good) assert.equal(await idOf(id), id)
  assert.equal(await idOf('<logo@x>'), 'logo@x')
  const bad = ['', ' ', 'lo go', 'logo<x', 'a"b', 'ü@x', 'a\r\nb', 'x'.repeat(251), '<>']
  for (const id of bad) assert.equal(await idOf(id), null, id)
})

test('composing a large attachment yields to other work at every step', async () => {
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const content = Buffer.alloc(18 * 1024 * 1024, 'ab')
  const { raw } = await composeMessage(outgoing({ attachments: [attachment({ content })] }))
  isOver = true
  assert.ok(turns >= 17, `${turns}`)
  assert.deepEqual(Buffer.from(readAttachment(raw, 0)?.content ?? []), content)
})

test('the identifiers of a long thread are folded, and one that fits no line is folded within', async () => {
  const references = Array.from(
    { length: 100 },
    (_, index) => `<${'a'.repeat(70)}${index}@peer.example>`,
  )
  const inReplyTo = `<${'b'.repeat(10_000)}@peer.example>`
  const raw = await compose({ references: [...references, '<ü@peer.example>'], inReplyTo })
  const { headers } = parseMime(raw)
  assert.deepEqual(headers.references, references)
  assert.deepEqual(headers.inReplyTo, [inReplyTo])
})

test('O03: bodies arrive as text with normal line ends, and no line is too long', async () => {
  const bodies = [
    'a\n.\nb',
    'a\r.\rb',
    'a\r\n.\r\nb',
    '.',
    '..\n...\n.',
    'x'.repeat(5_000),
    `${'ü'.repeat(5_000)}\n${'word '.repeat(1_000)}`,
    'nul\0in\0it',
    'blanks   \n\t \nend ',
    'mixed\r\n\r\r\n\n\rends',
    'From here\n>From there\n--\n-- \nsignature',
    '=20=\n==3D',
    'text ends with lines\n\n\n',
    '\n\nbegins with lines',
    '日本語'.repeat(2_000),
    '\ud800 lone',
    '\u2028\u2029\u0085\x07\x7f\x1b[31m',
    ' ',
    '',
  ]
  for (const body of bodies) {
    const text = asRead(body)
    const alone = parseMime(await compose({ text: body }))
    const among = parseMime(await compose({ text: body, attachments: [attachment()] }))
    assert.equal(alone.text, text)
    assert.equal(among.text, text)
    const html = parseMime(await compose({ text: body, html: `<p>${body}` }))
    assert.equal(html.html, `<p>${text}`)
    // A blank text beside HTML says nothing.
    if (!isBlank(text)) assert.equal(html.text, text)
  }
})

const isBlank = (text: string) => !/[^\s\u2800\p{Default_Ignorable_Code_Point}]/u.test(text)

const NEWLINES = ['\r\n', '\n', '\r', '\u2028', '\0', '\u0085', '\u2029', '\v', '\f']

/** Each field of a message, with a text put into its value. */
const FIELDS: Readonly<Record<string, (text: string) => Partial<OutgoingMessage>>> = {
  fromName: (text) => ({ from: { name: `Ada${text}`, address: 'ada@mailroom.example' } }),
  fromAddress: (text) => ({ from: { name: null, address: `ada@mailroom.example${text}` } }),
  fromNamedAddress: (text) => ({ from: { name: 'Ada', address: `ada${text}@mailroom.example` } }),
  toName: (text) => ({ to: [{ name: `Bob${text}`, address: 'bob@peer.example' }] }),
  to: (text) => ({ to: [bare(`bob@peer.example${text}`)] }),
  toLocalPart: (text) => ({ to: [bare(`bob${text}@peer.example`)] }),
  toQuoted: (text) => ({ to: [bare(`"bob${text}"@peer.example`)] }),
  toLiteral: (text) => ({ to: [bare(`bob@[127.0.0.1${text}]`)] }),
  cc: (text) => ({ cc: [bare('c@peer.example'), bare(`d@peer.example${text}`)] }),
  replyTo: (text) => ({ replyTo: bare(`r@peer.example${text}`) }),
  subject: (text) => ({ subject: `Hi${text}` }),
  subjectInternational: (text) => ({ subject: `Grüße${text}` }),
  inReplyTo: (text) => ({ inReplyTo: `<p@peer.example${text}>` }),
  references: (text) => ({ references: [`<o@peer.example>${text}`, '<p@peer.example>'] }),
  messageId: (text) => ({ messageId: `<m@mailroom.example${text}>` }),
  filename: (text) => ({ attachments: [attachment({ filename: `a${text}.pdf` })] }),
  filenameInternational: (text) => ({ attachments: [attachment({ filename: `ä${text}.pdf` })] }),
  contentType: (text) => ({ attachments: [attachment({ contentType: `text/plain${text}` })] }),
  contentTypeCharset: (text) => ({
    attachments: [attachment({ contentType: `text/plain; charset=utf-8${text}` })],
  }),
  contentId: (text) => ({ attachments: [attachment({ contentId: `id@x${text}` })] }),
  contentIdInline: (text) => ({
    html: '<p>x</p>',
    attachments: [attachment({ contentId: `id@x${text}`, isInline: true })],
  }),
}

for (const [name, change] of Object.entries(FIELDS)) {
  test(`O01: no field is injected through ${name}`, async () => {
    // An identifier with anything else in it is invalid and left out.
    const expected = fieldNames(await compose(change(name.startsWith('contentId') ? ' x' : '')))
    for (const newline of NEWLINES) {
      for (const evil of [
        'X-Evil: 1',
        'Bcc: evil@evil.example',
        `${newline}<script>`,
        ' x',
        'X-Evil: 1, <e@evil.example>',
      ]) {
        const raw = await compose(change(`${newline}${evil}`))
        assert.deepEqual(fieldNames(raw), expected)
        const text = Buffer.from(raw).toString()
        assert.ok(!/[\u2028\u2029\u0085\v\f]/.test(text))
        const { headers } = parseMime(raw)
        assert.equal(headers.to.length, 1)
        assert.equal(headers.cc.length, change('').cc?.length ?? 0)
        assert.equal(headers.replyTo.length, change('').replyTo === undefined ? 0 : 1)
      }
    }
  })
}

const word = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(
    '=?utf-8?Q?x?=',
    '"',
    '\\',
    '<a@b.example>',
    ',',
    ';',
    '(',
    '@',
    '  ',
    '😀'.repeat(30),
    'x'.repeat(1_200),
    "'",
    '%41',
    '*',
    '=?',
  ),
)
const line = fc.array(word, { maxLength: 5 }).map((words) => words.join(' '))
const atom = fc.stringMatching(/^[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,12}$/)
const address = fc.oneof(
  fc.tuple(atom, atom).map(([one, two]) => `${one}.${two}@peer.example`),
  atom.map((local) => `${local}ü@peer.example`),
  atom.map((local) => `"${local}, \\" ${local}"@peer.example`),
)
const id = atom.map((local) => `<${local}@peer.example>`)
const body = fc
  .array(fc.oneof(word, fc.constantFrom('\n', '\r\n', '\r', '.', ' ', '\t', 'From ', '--')))
  .map((parts) => parts.join(''))

test('header fields parse back to the given values', async () => {
  const fields = fc.record({
    name: fc.option(line),
    names: fc.array(fc.option(line), { minLength: 8, maxLength: 8 }),
    addresses: fc.array(address, { minLength: 3, maxLength: 8 }),
    subject: line,
    ids: fc.array(id, { minLength: 2, maxLength: 30 }),
  })
  await fc.assert(
    fc.asyncProperty(fields, async ({ name, names, addresses, subject, ids }) => {
      const [from = '', to = '', replyTo = '', ...cc] = addresses
      const [messageId = '', inReplyTo = '', ...references] = ids
      const named = (written: string) => ({
        name: names[addresses.indexOf(written)] ?? null,
        address: written,
      })
      const read = (written: string) => ({
        ...named(written),
        name: singleLine(named(written).name ?? ''),
      })
      const raw = await compose({
        from: { name, address: from },
        to: [named(to)],
        cc: cc.map(named),
        replyTo: named(replyTo),
        subject,
        messageId,
        inReplyTo,
        references,
      })
      const { headers } = parseMime(raw)
      assert.deepEqual(headers.from, { name: singleLine(name ?? ''), address: from })
      assert.deepEqual(headers.to, [read(to)])
      assert.deepEqual(headers.cc, cc.map(read))
      assert.deepEqual(headers.replyTo, [read(replyTo)])
      assert.equal(headers.subject, singleLine(subject))
      assert.equal(headers.messageId, messageId)
      assert.deepEqual(headers.inReplyTo, [inReplyTo])
      assert.deepEqual(headers.references, references)
      assert.equal(headers.date, outgoing().dateMs)
    }),
    { numRuns: MESSAGES },
  )
})

function sentNames(files: OutgoingMessage['attachments']): string[] {
  return safeFileNames(
    files.map(({ filename, contentType }) => ({
      filename: filename.replaceAll('=?', '=_'),
      contentType:
        contentType.includes('/') && !contentType.startsWith('message/') ? contentType : 'x',
    })),
  )
}

test('bodies and files parse back to the given values', async () => {
  const file = fc.record({
    filename: fc.oneof(
      line,
      fc.constantFrom('a.pdf', 'A.PDF', '../../x', '.', 'con.txt', 'ä ö.txt'),
    ),
    contentType: fc.constantFrom(
      'application/pdf',
      'text/plain; charset=utf-8',
      'text/html',
      'image/png',
      'message/rfc822',
      'x',
    ),
    content: fc.uint8Array({ maxLength: 300 }),
    contentId: fc.option(atom),
    isInline: fc.boolean(),
  })
  const calendar = file.map((one) => ({
    ...one,
    contentType: 'text/calendar; charset=utf-8; method=REQUEST',
    isAlternative: true,
  }))
  const parts = fc.record({
    text: body,
    html: fc.oneof(fc.constant(''), body),
    files: fc.array(fc.oneof(file, calendar), { maxLength: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(parts, async ({ text, html, files }) => {
      const raw = await compose({ text, html, attachments: files })
      const parsed = parseMime(raw)
      assert.deepEqual(parsed.defects, [])
      const read = { text: asRead(text), html: asRead(html) }
      assert.equal(parsed.html, read.html)
      const fromHtml = textFromHtml(read.html)
      const isFromHtml = read.html !== '' && isBlank(read.text)
      assert.equal(
        parsed.text,
        isFromHtml && (read.text === '' || !isBlank(read.html)) ? fromHtml : read.text,
      )
      assert.equal(parsed.attachments.length, files.length)
      const names = parsed.attachments.map(({ filename }) => filename)
      const sent = sentNames(files)
      // Files that the HTML shows come first, beside it.
      assert.deepEqual(names.toSorted(), sent.toSorted())
      for (const [index, { content, contentId }] of files.entries()) {
        const read = readAttachment(raw, sent[index] ?? '')
        assert.deepEqual(Buffer.from(read?.content ?? []), Buffer.from(content))
        assert.equal(read?.attachment.contentId, contentId)
      }
      const listed = parsed.attachments.map(({ filename, contentType }) => {
        const { content = [] } = readAttachment(raw, filename) ?? {}
        return { filename, contentType, content: Buffer.from(content) }
      })
      const told = composedFiles({ attachments: files, html })
      assert.deepEqual(
        told.map(({ filename, contentType, content }) => ({
          filename,
          contentType: contentType.split(';')[0],
          content: Buffer.from(content),
        })),
        listed,
      )
    }),
    { numRuns: MESSAGES },
  )
})

const URL_OF_620 = `https://mail.example/unsubscribe/${'A'.repeat(587)}`

test('a link of any length stays on one line, with its one-click field', async () => {
  for (const url of ['https://mail.example/unsubscribe/A', URL_OF_620]) {
    const raw = await compose({ unsubscribeUrl: url })
    const lines = headerOf(raw).split('\r\n')
    assert.ok(lines.includes(`List-Unsubscribe: <${url}>`))
    assert.ok(lines.includes('List-Unsubscribe-Post: List-Unsubscribe=One-Click'))
  }
})

test('a message without an unsubscribe link has neither field', async () => {
  assert.doesNotMatch(headerOf(await compose()), /list-|x-loop/i)
})

test('a link that fits no line is refused', async () => {
  const unsubscribeUrl = `https://mail.example/${'A'.repeat(990)}`
  await assert.rejects(composeMessage(outgoing({ unsubscribeUrl })), RangeError)
})

test('neither a link nor a mark can inject a field or end its brackets', async () => {
  const names = fieldNames(await compose({ unsubscribeUrl: 'https://a.example/', hopMark: 'a' }))
  for (const breaker of ['\r\n', '\n', '\r', '\u2028', '\0', '\u0085', ' ', '>', '>, <']) {
    const text = `https://a.example/${breaker}X-Evil: 1`
    const raw = await compose({ unsubscribeUrl: text, hopMark: text })
    assert.deepEqual(fieldNames(raw), names, JSON.stringify(breaker))
    assert.match(headerOf(raw), /^List-Unsubscribe: <[^<>\s]*>\r$/m)
    assert.match(headerOf(raw), /^X-Loop: [^<>\s]*\r$/m)
  }
})

test('the signature covers both unsubscribe fields', async () => {
  const raw = await compose({ unsubscribeUrl: URL_OF_620, hopMark: 'a' })
  const signed = await signer.sign(raw, Date.UTC(2024, 0, 1))
  assert.deepEqual(await verdicts(signed), ['pass'])
  const names = tag(splitSigned(signed).field, 'h').toLowerCase().split(':')
  for (const name of ['list-unsubscribe', 'list-unsubscribe-post']) assert.ok(names.includes(name))
  const text = Buffer.from(signed).toString('latin1')
  const changes = [
    ['/unsubscribe/A', '/unsubscribe/B'],
    ['List-Unsubscribe=One-Click', 'List-Unsubscribe=No-Click'],
  ] as const
  for (const [from, to] of changes) {
    const changed = Buffer.from(text.replace(from, to), 'latin1')
    assert.deepEqual(await verdicts(changed), ['fail'])
  }
})

test('the marks of a message are read, up to their limits in number and length', () => {
  const marks = Array.from({ length: 120 }, (_, index) => `X-Loop: mark${index}`)
  const raw = Buffer.from(
    [`X-Loop: ${'x'.repeat(101)}`, ...marks, 'X-Loop:', '', 'body'].join('\r\n'),
  )
  const { headers } = parseMime(raw)
  assert.deepEqual(
    headers.loopMarks,
    marks.slice(0, 100).map((line) => line.slice(8)),
  )
  assert.equal(headers.hasListId, false)
  const listed = parseMime(Buffer.from('List-Id: <l.example>\r\n\r\n'))
  assert.equal(listed.headers.hasListId, true)
})
