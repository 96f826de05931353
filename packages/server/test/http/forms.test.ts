import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AttachedFile } from '#http/handler.ts'
import { FORM_PART_HEAD_BYTES_MAX, FORM_PARTS_MAX } from '#http/read-body.ts'
import { errorOf, openTestServer, type TestServer } from '#test/http/test-server.ts'

let server: TestServer
type Seen = { attachments: readonly AttachedFile[] }
let seen: Seen[] = []
const firstFile = () => seen[0]?.attachments[0]
before(async () => {
  server = await openTestServer({
    answers: {
      'inboxes.send': (input) => {
        const { attachments, ...fields } = input.body
        seen.push({ ...fields, attachments: attachments.filter((file) => 'content' in file) })
        return { isReplay: false, body: {} as never }
      },
    },
  })
})
after(() => server.close(0))

const PATH = '/v1/inboxes/inb_1/send'
const BOUNDARY = 'bbb'
const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`

let keys = 0
function post(body: RequestInit['body'], type?: string) {
  seen = []
  keys += 1
  const headers = {
    'idempotency-key': `key-${keys}`,
    ...(type === undefined ? {} : { 'content-type': type }),
  }
  return server.request(PATH, { method: 'POST', body, headers })
}

type Content = string | Uint8Array

function part(disposition: string, content: Content, ...headers: string[]): Buffer {
  const lines = [`Content-Disposition: form-data; ${disposition}`, ...headers]
  const head = `--${BOUNDARY}\r\n${lines.join('\r\n')}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from('\r\n')])
}

const field = (name: string, text: Content) => part(`name="${name}"`, text)
const file = (name: string, content: Content, type = 'text/plain') =>
  part(`name="attachments"; filename="${name}"`, content, `Content-Type: ${type}`)
const END = Buffer.from(`--${BOUNDARY}--\r\n`)
const good = [
  field('to', 'ann@example.com'),
  field('subject', 'A subject'),
  field('body', 'A body.'),
]

const send = (...parts: Buffer[]) => post(Buffer.concat([...parts, END]), FORM_TYPE)

test("a form of the runtime's fetch is read like JSON", async () => {
  const form = new FormData()
  form.append('to', 'päivi@example.com')
  form.append('body', 'Zeile\nzwei 🙂')
  form.append('subject', 'ä'.repeat(998))
  form.append('includeQuote', 'false')
  form.append('unsubscribe', 'true')
  form.append('threadId', 'thr_1')
  form.append('replyTo', 'bob@example.com')
  form.append('bodyHtml', '<p>x</p>')
  for (const address of ['a@b.example', 'c@d.example']) form.append('cc', address)
  const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => (index * 7) % 256)
  form.append('attachments', new File([bytes], '名前 "1".bin', { type: 'image/png' }))
  form.append('attachments', new File([''], 'empty'))
  const response = await post(form)
  assert.equal(response.status, 200, await response.text())
  const [body] = seen
  assert.deepEqual(
    { ...body },
    {
      to: 'päivi@example.com',
      // Forms are sent with CRLF, whatever the text has.
      body: 'Zeile\nzwei 🙂',
      subject: 'ä'.repeat(998),
      format: 'auto',
      includeQuote: false,
      includeSignature: true,
      isAutomatic: false,
      unsubscribe: true,
      threadId: 'thr_1',
      replyTo: 'bob@example.com',
      bodyHtml: '<p>x</p>',
      cc: ['a@b.example', 'c@d.example'],
      attachments: [
        {
          filename: '名前 "1".bin',
          contentType: 'image/png',
          contentId: null,
          content: Buffer.from(bytes),
        },
        {
          filename: 'empty',
          contentType: 'application/octet-stream',
          contentId: null,
          content: Buffer.alloc(0),
        },
      ],
    },
  )
})

test('a form repeats to and bcc for each recipient', async () => {
  const twice = await send(
    ...good,
    field('to', 'Bob <bob@example.com>'),
    field('bcc', 'c@d.example'),
  )
  assert.equal(twice.status, 200, await twice.text())
  const [body] = seen
  assert.deepEqual(
    [Reflect.get(body ?? {}, 'to'), Reflect.get(body ?? {}, 'bcc')],
    [['ann@example.com', 'Bob <bob@example.com>'], ['c@d.example']],
  )
  const wrong = await send(...good, field('to', 'nonsense'))
  assert.match(await wrong.text(), /"to\[1\]"/)
})

test('a file keeps any octets, including those that look like a delimiter', async () => {
  const tricks = [
    '\r\n',
    '--',
    '\r\n--',
    `\r\n--${BOUNDARY.slice(0, 2)}`,
    `\n--${BOUNDARY}`,
    '\r\n-',
  ]
  const content = tricks.join('\r\n\r\n x')
  const response = await send(...good, file('a.txt', content))
  assert.equal(response.status, 200, await response.text())
  assert.equal(Buffer.from(firstFile()?.content ?? []).toString(), content)
})

const names: [string, string][] = [
  ['filename="a\\"b.txt"', 'a"b.txt'],
  ['filename="a%22b.txt"', 'a"b.txt'],
  ['filename="C:\\dir\\a.txt"', 'C:\\dir\\a.txt'],
  ['filename=plain.txt', 'plain.txt'],
  [`filename="fallback"; filename*=UTF-8''%E5%90%8D%20a.txt`, '名 a.txt'],
  ['filename="a;b=c.txt"', 'a;b=c.txt'],
  ['filename="a%0D%0Ab%0a.txt"', 'ab.txt'],
  ['filename="../../etc/passwd"', '../../etc/passwd'],
]

for (const [written, read] of names) {
  test(`a file with ${written} is named ${read}`, async () => {
    const response = await send(...good, part(`name="attachments"; ${written}`, 'x'))
    assert.equal(response.status, 200, await response.text())
    assert.equal(firstFile()?.filename, read)
  })
}

const whole = Buffer.concat([...good, END])

const refused: [string, () => Promise<Response>, RegExp][] = [
  ['an unknown field', () => send(...good, field('sender', 'x')), /"sender" is not a known field/],
  ['__proto__', () => send(...good, field('__proto__', 'x')), /"__proto__" is not a known/],
  ['constructor', () => send(...good, field('constructor', 'x')), /not a known field/],
  ['hasOwnProperty', () => send(...good, field('hasOwnProperty', 'x')), /not a known field/],
  ['a field without a name', () => send(...good, field('', 'x')), /a field without a name/],
  [
    'a single field twice',
    () => send(...good, field('subject', 'Another')),
    /"subject" must occur only once/,
  ],
  ['a field missing', () => send(...good.slice(0, 2)), /"body" is required/],
  ['a field empty', () => send(...good.slice(0, 2), field('body', '')), /"body" must not be empty/],
  [
    'a file as text',
    () => send(...good, part('name="bodyHtml"; filename="a.html"', 'x')),
    /"bodyHtml" must be text, not a file/,
  ],
  ['text as a file', () => send(...good, field('attachments', 'x')), /must be a file/],
  ['a file without a name', () => send(...good, file('', 'x')), /filename" must not be empty/],
  [
    'another word for true',
    () => send(...good, field('includeQuote', '1')),
    /must be true or false/,
  ],
  [
    'a bad address',
    () => send(...good, field('cc', 'Ann <a@b.c>, Bob <b@b.c>')),
    /"cc\[0\]" must be one email/,
  ],
  [
    '51 cc',
    () => send(...good, ...Array(51).fill(field('cc', 'a@b.example'))),
    /at most 50 entries/,
  ],
  [
    '101 files',
    () => send(...good, ...Array(101).fill(file('a', 'x'))),
    /must have at most 100 entries/,
  ],
  [
    'too many parts',
    () => send(...good, ...Array(FORM_PARTS_MAX).fill(field('cc', 'a@b.example'))),
    /more than \d+ parts/,
  ],
  ['invalid UTF-8', () => send(...good, field('bodyHtml', Buffer.from([0xff]))), /be in UTF-8/],
  ['U+0000', () => send(...good, field('bodyHtml', 'a\0b')), /U\+0000/],
  [
    'another charset',
    () => send(...good, part('name="bodyHtml"', 'x', 'Content-Type: text/html; charset=utf-16')),
    /must be in UTF-8/,
  ],
  [
    'a file name in invalid UTF-8',
    () =>
      send(
        ...good,
        Buffer.from(
          part('name="attachments"; filename="~"', 'x').map((b) => (b === 0x7e ? 255 : b)),
        ),
      ),
    /part 4 has a filename that is not in UTF-8/,
  ],
  [
    'an encoded part',
    () => send(...good, part('name="bodyHtml"', 'eA==', 'Content-Transfer-Encoding: base64')),
    /part 4 is encoded \(base64\); send its bytes unencoded/,
  ],
  [
    'a part that is no field',
    () => send(...good, Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: inline\r\n\r\nx\r\n`)),
    /part 4 has a Content-Disposition other than form-data/,
  ],
  [
    'a part without a header',
    () => send(...good, Buffer.from(`--${BOUNDARY}\r\n\r\nx\r\n`)),
    /part 4 has no Content-Disposition/,
  ],
  [
    'a part that is all header',
    () => send(...good, Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data\r\n`)),
    /part 4 has no empty line after its header/,
  ],
  [
    'a header line without a colon',
    () =>
      send(
        ...good,
        Buffer.from(`--${BOUNDARY}\r\nnonsense\r\n${field('cc', 'a@b.c').subarray(7)}`),
      ),
    /part 4 has a header line without a name and a colon/,
  ],
  [
    'a parameter twice',
    () => send(...good, part('name="cc"; name="to"', 'a@b.example')),
    /part 4 has a name twice/,
  ],
  [
    'a quote that is not closed',
    () => send(...good, part('name="attachments"; filename="a.txt', 'x')),
    /part 4 has a malformed Content-Disposition/,
  ],
  [
    'a line break in a name',
    () => send(...good, part('name="attachments"; filename="a\nX: y"', 'x')),
    /part 4 has a line break within a line of its header/,
  ],
  [
    'a part in quoted-printable',
    () => send(...good, part('name="cc"', 'a', 'Content-Transfer-Encoding: Quoted-Printable')),
    /part 4 is encoded \(Quoted-Printable\)/,
  ],
  ['a part without a name', () => send(...good, part('x=y', 'a')), /part 4 has no field name/],
  [
    'two types of a part',
    () => send(part('name="cc"', 'a', 'Content-Type: a/b', 'Content-Type: a/b'), ...good),
    /part 1 has Content-Type twice/,
  ],
  [
    'a part whose header is too long',
    () => send(...good, part('name="cc"', 'a', `X: ${'x'.repeat(FORM_PART_HEAD_BYTES_MAX)}`)),
    /part 4 has a header of more than 16384 bytes/,
  ],
  [
    'a line that begins with the boundary',
    () => send(...good, field('bodyHtml', `x\r\n--${BOUNDARY}x\r\n`)),
    /has other text after it/,
  ],
  ['no end', () => post(Buffer.concat(good), FORM_TYPE), /ends too early/],
  ['an end within a part', () => post(whole.subarray(0, 60), FORM_TYPE), /ends too early/],
  ['nothing in it', () => post('', FORM_TYPE), /ends too early/],
  ['something else in it', () => post('{"to":"a@b.c"}', FORM_TYPE), /ends too early/],
  ['no parts', () => send(), /is required/],
  ['another boundary', () => post(whole, 'multipart/form-data; boundary=other'), /too early/],
  ['no boundary', () => post(whole, 'multipart/form-data'), /no valid boundary/],
  ['an empty boundary', () => post(whole, 'multipart/form-data; boundary='), /no valid boundary/],
  [
    'a boundary of 71 characters',
    () => post(whole, `multipart/form-data; boundary=${'b'.repeat(71)}`),
    /no valid boundary/,
  ],
  [
    'a boundary of odd characters',
    () => post(whole, 'multipart/form-data; boundary="a*b"'),
    /no valid boundary/,
  ],
]

for (const [name, run, message] of refused) {
  test(`a form with ${name} is 400 bad_request`, async () => {
    const response = await run()
    const error = await errorOf(response)
    assert.equal(response.status, 400, JSON.stringify(error))
    assert.equal(error.error, 'bad_request')
    assert.match(String(error.message), message)
    assert.ok(Array.isArray(error.details) && error.details.length > 0)
    assert.deepEqual(seen, [])
    assert.equal(Reflect.get({}, 'x'), undefined)
  })
}

test("a browser's form without any optional value is one without those fields", async () => {
  const names = ['cc', 'replyTo', 'threadId', 'includeQuote', 'bodyHtml', 'unsubscribe']
  const empty = names.map((name) => field(name, ''))
  const response = await send(...good, ...empty, file('', '', 'application/octet-stream'))
  assert.equal(response.status, 200, await response.text())
  const expected = { to: 'ann@example.com', subject: 'A subject', body: 'A body.' }
  const [body] = seen
  const defaults = {
    format: 'auto',
    includeQuote: true,
    includeSignature: true,
    isAutomatic: false,
    unsubscribe: false,
    attachments: [],
  }
  assert.deepEqual({ ...body }, { ...expected, ...defaults })
  const reply = await send(
    field('to', 'ann@example.com'),
    field('body', 'x'),
    field('subject', ''),
    field('threadId', 'thr_1'),
  )
  assert.equal(reply.status, 200, await reply.text())
  assert.equal(Object.hasOwn(seen[0] ?? {}, 'subject'), false)
})

test('a part may state that it is not encoded, and its delimiter may be followed by blanks', async () => {
  for (const encoding of ['7bit', '8BIT', 'binary']) {
    const note = part('name="bodyHtml"', 'é', `Content-Transfer-Encoding: ${encoding}`)
    const response = await send(...good, note)
    assert.equal(response.status, 200, await response.text())
  }
  const padded = whole.toString('latin1').replaceAll(`--${BOUNDARY}\r\n`, `--${BOUNDARY} \t\r\n`)
  const response = await post(padded, FORM_TYPE)
  assert.equal(response.status, 200, await response.text())
})

test('texts in ISO 8859-1 and in ASCII are decoded', async () => {
  const latin = Buffer.from('caf\u00e9 \u0080', 'latin1')
  for (const [content, charset, text] of [
    [latin, 'iso-8859-1', 'café €'],
    [latin, '"ISO-8859-1"', 'café €'],
    [Buffer.from('cafe'), 'us-ascii', 'cafe'],
  ] as const) {
    const note = part('name="bodyHtml"', content, `Content-Type: text/html; charset=${charset}`)
    const response = await send(...good, note)
    assert.equal(response.status, 200, await response.text())
    assert.equal(Reflect.get(seen[0] ?? {}, 'bodyHtml'), text)
  }
})

test('a part without content may end with its header', async () => {
  const bare = Buffer.from(
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="attachments"; filename="a"\r\n\r\n`,
  )
  const response = await send(...good, bare)
  assert.equal(response.status, 200, await response.text())
  assert.equal(firstFile()?.content.length, 0)
})

test('text before and after a form is ignored', async () => {
  const body = Buffer.concat([Buffer.from('preamble\r\n'), whole, Buffer.from('epilogue')])
  const response = await post(body, `multipart/form-data; charset=utf-8; boundary="${BOUNDARY}"`)
  assert.equal(response.status, 200, await response.text())
})

test('a boundary may have 70 characters of all kinds', async () => {
  const boundary = "'()+_,-./:=? aZ09".padEnd(70, 'x')
  const body = whole.toString('latin1').replaceAll(`--${BOUNDARY}`, `--${boundary}`)
  const response = await post(body, `multipart/form-data; boundary="${boundary}"`)
  assert.equal(response.status, 200, await response.text())
})

test('operations without forms answer 415 unsupported_media_type', async () => {
  for (const [path, type] of [
    ['/v1/pods', FORM_TYPE],
    ['/v1/sandbox/inbound', FORM_TYPE],
    ['/v1/pods', 'message/rfc822'],
    [PATH, 'message/rfc822'],
    [PATH, 'text/plain'],
    [PATH, 'multipart/mixed; boundary=bbb'],
  ] as const) {
    const headers = { 'content-type': type, 'idempotency-key': 'k' }
    const response = await server.request(path, { method: 'POST', body: whole, headers })
    assert.equal(response.status, 415)
    const { error, message } = await errorOf(response)
    assert.equal(error, 'unsupported_media_type')
    assert.match(String(message), /^The Content-Type must be application\/json/)
  }
})
