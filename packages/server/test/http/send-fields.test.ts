import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { errorOf, openTestServer, type TestServer } from '#test/http/test-server.ts'

let server: TestServer
let seen: unknown[] = []
before(async () => {
  server = await openTestServer({
    answers: {
      'inboxes.send': (input) => {
        seen.push(input.body)
        return { isReplay: false, body: {} as never }
      },
    },
  })
})
after(() => server.close(0))

const good = { to: 'ann@example.com', subject: 'A subject', body: 'A body.' }
const complete = {
  format: 'auto',
  includeQuote: true,
  includeSignature: true,
  isAutomatic: false,
  unsubscribe: false,
  attachments: [],
}

let keys = 0
function send(body: object, path = '/v1/inboxes/inb_1/send') {
  seen = []
  keys += 1
  const headers = { 'content-type': 'application/json', 'idempotency-key': `key-${keys}` }
  return server.request(path, { method: 'POST', body: JSON.stringify(body), headers })
}

const file = { filename: 'a.txt', contentType: 'text/plain', data: 'aGk=' }
const files = (count: number) => Array(count).fill(file)

const accepted: [string, object][] = [
  ['a body of one character', { body: 'x' }],
  ['a body of 100,000 characters', { body: 'x'.repeat(100_000) }],
  ['a body of 100,000 characters outside the BMP', { body: '😀'.repeat(100_000) }],
  ['a subject of one character', { subject: 'x' }],
  ['a subject of 998 characters', { subject: 'ä'.repeat(998) }],
  ['no subject with threadId', { subject: undefined, threadId: 'thr_1' }],
  ['a subject and threadId', { threadId: 'thr_1' }],
  ['no bodyHtml', { bodyHtml: '' }],
  ['a bodyHtml of 500,000 characters', { bodyHtml: 'x'.repeat(500_000) }],
  ['includeQuote false', { includeQuote: false }],
  ['unsubscribe', { unsubscribe: true }],
  ['replyTo', { replyTo: 'bob@example.com' }],
  ['no cc', { cc: [] }],
  ['50 cc', { cc: Array(50).fill('bob@example.com') }],
  ['an address literal', { to: 'ann@[127.0.0.1]' }],
  ['an international address', { to: 'päivi@münchen.example' }],
  ['a quoted local part', { to: '"ann lee"@example.com' }],
  ['a local part of 255 octets', { to: `${'a'.repeat(255)}@example.com` }],
]

for (const [name, fields] of accepted) {
  test(`${name} is accepted and reaches the handler unchanged`, async () => {
    const response = await send({ ...good, ...fields })
    assert.equal(response.status, 200, await response.text())
    const expected = JSON.parse(JSON.stringify({ ...complete, ...good, ...fields }))
    assert.deepEqual(seen, [expected])
  })
}

/** The mailbox, and in what form the handler gets it. */
const named: [string, string][] = [
  ['Ann <ann@example.com>', 'Ann <ann@example.com>'],
  ['Ann Lee-Smith & Co <ann@example.com>', 'Ann Lee-Smith & Co <ann@example.com>'],
  ['"Lee, Ann (Sales) <x>" <ann@example.com>', '"Lee, Ann (Sales) <x>" <ann@example.com>'],
  [
    '"Ann \\"the boss\\" \\\\ Lee" <ann@example.com>',
    '"Ann \\"the boss\\" \\\\ Lee" <ann@example.com>',
  ],
  ['"ann@other.example" <ann@example.com>', '"ann@other.example" <ann@example.com>'],
  ['Päivi 東京 😀 <päivi@münchen.example>', 'Päivi 東京 😀 <päivi@münchen.example>'],
  ['"=?utf-8?Q?Ann?=" <ann@example.com>', '"=?utf-8?Q?Ann?=" <ann@example.com>'],
  ['=?utf-8?Q?Ann=20Lee?= <ann@example.com>', 'Ann Lee <ann@example.com>'],
  ['John Q. Public <ann@example.com>', '"John Q. Public" <ann@example.com>'],
  ["O'Neill <ann@example.com>", "O'Neill <ann@example.com>"],
  ['Ann <"ann lee"@example.com>', 'Ann <"ann lee"@example.com>'],
  ['<ann@example.com>', 'ann@example.com'],
  ['""<ann@example.com>', 'ann@example.com'],
]
for (const [mailbox, written] of named) {
  test(`${mailbox} is one mailbox with its name`, async () => {
    const fields = { to: mailbox, replyTo: mailbox, cc: ['bob@example.com', mailbox] }
    const response = await send({ ...good, ...fields })
    assert.equal(response.status, 200, await response.text())
    const taken = { to: written, replyTo: written, cc: ['bob@example.com', written] }
    assert.deepEqual(seen, [{ ...complete, ...good, ...taken }])
  })
}

const noMailboxes = [
  'Ann <ann@example.com>, Bob <bob@example.com>',
  'Ann <ann@example.com> <bob@example.com>',
  'Ann <<ann@example.com>>',
  'Ann <ann@example.com> (work)',
  'Ann (work) <ann@example.com>',
  'Friends: Ann <ann@example.com>;',
  'Ann\r\nBcc: x@example.com <ann@example.com>',
  'Ann\u0085 <ann@example.com>',
  'Ann\u2028 <ann@example.com>',
  'Ann <ann@example.com\r\n>',
  'Ann <ann@example.com>\n',
  'Lee, Ann <ann@example.com>',
  '"Ann <ann@example.com>',
  'Ann <>',
  'Ann <ann>',
  'Ann < ann@example.com >',
  'Ann <@route.example:ann@example.com>',
  `${'x'.repeat(20_000)} <ann@example.com>`,
  `${'" '.repeat(4_000)}<ann@example.com`,
]
for (const mailbox of noMailboxes) {
  test(`${JSON.stringify(mailbox.slice(0, 60))} is not one mailbox`, async () => {
    for (const fields of [{ to: mailbox }, { replyTo: mailbox }, { cc: [mailbox] }]) {
      const response = await send({ ...good, ...fields })
      assert.equal(response.status, 400, JSON.stringify(fields))
      const { details } = await errorOf(response)
      const [first] = details as { path: string }[]
      assert.ok(first?.path.startsWith(Object.keys(fields)[0] ?? ''))
    }
    assert.deepEqual(seen, [])
  })
}

test('null for an optional field is the same as leaving it out', async () => {
  const optional = {
    bodyHtml: null,
    threadId: null,
    includeQuote: null,
    replyTo: null,
    cc: null,
    unsubscribe: null,
  }
  const attachments = [{ ...file, contentId: null }]
  const response = await send({ ...good, ...optional, attachments })
  assert.equal(response.status, 200, await response.text())
  const [body] = seen as { attachments: { contentId: unknown }[] }[]
  assert.equal(body?.attachments[0]?.contentId, null)
  assert.deepEqual({ ...body, attachments: [] }, { ...complete, ...good })
  const without = await send({ ...good, attachments: null })
  assert.equal(without.status, 200, await without.text())
  for (const field of ['body', 'subject']) {
    assert.equal((await send({ ...good, [field]: null })).status, 400, field)
  }
  assert.equal((await send({ ...good, subject: null, threadId: 'thr_1' })).status, 200)
})

const CONTENT_ID_RULE = 'must contain only printable ASCII, without white space and <>()[]\\",;'

test('every other character of printable ASCII is allowed in a contentId', async () => {
  const contentId = "!#$%&'*+-./0123456789:=?@ABCXYZ^_`abcxyz{|}~".padEnd(250, 'x')
  const response = await send({ ...good, attachments: [{ ...file, contentId }] })
  assert.equal(response.status, 200, await response.text())
})

test('blanks at the ends of a subject are dropped, those within it kept', async () => {
  const response = await send({ ...good, subject: '\ufeff \u3000A  subject\u00a0 ' })
  assert.equal(response.status, 200, await response.text())
  assert.equal(Reflect.get(Object(seen[0]), 'subject'), 'A  subject')
  const padded = await send({ ...good, subject: `${' '.repeat(100_000)}x` })
  assert.equal(padded.status, 200)
  await padded.arrayBuffer()
})

const refused: [string, object, string, string][] = [
  ['a number as to', { to: 1 }, 'to', 'must be a string or an array'],
  ['an empty list as to', { to: [] }, 'to', 'must not be empty'],
  ['no body', { body: undefined }, 'body', 'is required'],
  ['an empty body', { body: '' }, 'body', 'must not be empty'],
  ['a body too long', { body: 'x'.repeat(100_001) }, 'body', 'must have at most 100000 characters'],
  [
    'a body of 100,001 characters outside the BMP',
    { body: '😀'.repeat(100_001) },
    'body',
    'must have at most 100000 characters',
  ],
  ['a body of another type', { body: 7 }, 'body', 'must be a string'],
  ['no subject', { subject: undefined }, 'subject', 'is required'],
  ['an empty subject', { subject: '' }, 'subject', 'must not be empty'],
  [
    'an empty subject in a thread',
    { subject: '', threadId: 'thr_1' },
    'subject',
    'must not be empty',
  ],
  [
    'a subject too long',
    { subject: 'x'.repeat(999) },
    'subject',
    'must have at most 998 characters',
  ],
  [
    'a bodyHtml too long',
    { bodyHtml: 'x'.repeat(500_001) },
    'bodyHtml',
    'must have at most 500000 characters',
  ],
  ['a threadId that is no text', { threadId: 5 }, 'threadId', 'must be a string'],
  ['null for a field that must be there', { body: null }, 'body', 'must be a string'],
  ['a word for unsubscribe', { unsubscribe: 'true' }, 'unsubscribe', 'must be true or false'],
  ['a word for includeQuote', { includeQuote: 'true' }, 'includeQuote', 'must be true or false'],
  ['51 cc', { cc: Array(51).fill('bob@example.com') }, 'cc', 'must have at most 50 entries'],
  ['a text as cc', { cc: 'bob@example.com' }, 'cc', 'must be an array'],
  ['101 attachments', { attachments: files(101) }, 'attachments', 'must have at most 100 entries'],
  ['an unknown field', { sender: 'bob@example.com' }, 'sender', 'is not a known field'],
  [
    'an unknown field of an attachment',
    { attachments: [{ ...file, path: '/etc/passwd' }] },
    'attachments[0].path',
    'is not a known field',
  ],
  [
    'an attachment without a name',
    { attachments: [file, { ...file, filename: '' }] },
    'attachments[1].filename',
    'must not be empty',
  ],
  [
    'an attachment without a type',
    { attachments: [{ ...file, contentType: undefined }] },
    'attachments[0].contentType',
    'is required',
  ],
  [
    'a contentId with brackets',
    { attachments: [{ ...file, contentId: '<a@b>' }] },
    'attachments[0].contentId',
    CONTENT_ID_RULE,
  ],
  ...['a b', 'a(b', 'a)b', 'a[b', 'a]b', 'a"b', 'a,b', 'a;b', 'a\\b', 'é'].map(
    (contentId): [string, object, string, string] => [
      `the contentId ${contentId}`,
      { attachments: [{ ...file, contentId }] },
      'attachments[0].contentId',
      CONTENT_ID_RULE,
    ],
  ),
  [
    'a contentId of 251 characters',
    { attachments: [{ ...file, contentId: 'x'.repeat(251) }] },
    'attachments[0].contentId',
    'must have at most 250 characters',
  ],
  ['a subject of blanks', { subject: ' \u00a0\u3000\ufeff' }, 'subject', 'must not be empty'],
  ['an empty to', { to: '' }, 'to', 'must not be empty'],
  ['an address without a name', { to: '@b.com' }, 'to', 'must have a name before the @'],
]

for (const [name, fields, path, message] of refused) {
  test(`${name} is refused with the words "${path} ${message}"`, async () => {
    const response = await send({ ...good, ...fields })
    const error = await errorOf(response)
    assert.equal(response.status, 400)
    assert.equal(error.error, 'bad_request')
    assert.deepEqual(error.details, [{ path, message }])
    assert.deepEqual(seen, [])
  })
}

test('a header field may not contain a character that ends a line', async () => {
  for (const end of ['\r\n', '\n', '\r', '\u2028', '\u0085', '\u0000', '\u007f']) {
    const evil = `x${end}X-Evil: 1`
    const fields = [
      { subject: evil },
      { to: `a@example.com${end}X-Evil: 1` },
      { to: `${evil}@example.com` },
      { replyTo: `a@example.com${end}X-Evil: 1` },
      { cc: ['b@example.com', `a@example.com${end}RCPT TO:<c@example.com>`] },
      { attachments: [{ ...file, contentType: `text/plain${end}X-Evil: 1` }] },
      { attachments: [{ ...file, contentId: evil }] },
    ]
    for (const field of fields) {
      const response = await send({ ...good, ...field })
      assert.equal(response.status, 400, JSON.stringify(field))
      await response.arrayBuffer()
    }
  }
  assert.deepEqual(seen, [])
})

const noAddresses = [
  '',
  'ann',
  '@example.com',
  'ann@',
  'ann@example.com,bob@example.com',
  'ann@example.com; bob@example.com',
  ' ann@example.com',
  'ann@example.com ',
  'ann@example.com\t',
  '@relay.example:ann@example.com',
  'ann@exa mple.com',
  'ann lee@example.com',
  'ann@example..com',
  'ann@.example.com',
  'ann@example.com.',
  'ann@-example.com',
  '.ann@example.com',
  'ann.@example.com',
  'a..b@example.com',
  'ann@bob@example.com',
  'ann@@example.com',
  'ann@example.com> SIZE=1',
  'ann@example.com>\r\nRCPT TO:<eve@evil.example',
  'ann@example!.com',
  `ann@${'x'.repeat(64)}.example`,
  'ann@[127.0.0.1',
  'ann@[300.0.0.1]',
  'ann@(comment)example.com',
  'ann(comment)@example.com',
  '"ann@example.com',
  `${'a'.repeat(256)}@example.com`,
  `ann@${'a.'.repeat(130)}example`,
  'ann\u202e@example.com',
  'ann@exam\u200bple.com',
  'mailto:ann@example.com',
  `ann@${'ü'.repeat(80)}.example`,
]

test('only exactly one address is accepted in fields that take an address', async () => {
  for (const text of noAddresses) {
    // A colon cannot be part of an address, so this one is refused as well.
    for (const [path, fields] of [
      ['to', { to: text }],
      ['replyTo', { replyTo: text }],
      ['cc[3]', { cc: ['a@b.example', 'a@b.example', 'a@b.example', text] }],
    ] as const) {
      const response = await send({ ...good, ...fields })
      const { error, details } = await errorOf(response)
      assert.equal(response.status, 400, JSON.stringify(fields))
      assert.equal(error, 'bad_request')
      assert.equal((details as { path: string }[])[0]?.path, path, text)
    }
    const headers = { 'content-type': 'application/json' }
    const post = (path: string, body: object) =>
      server.request(path, { method: 'POST', body: JSON.stringify(body), headers })
    for (const response of [
      await post('/v1/suppressions', { address: text }),
      await post('/v1/sandbox/inbound', { from: text, to: 'a@b.example', subject: '' }),
      await post('/v1/sandbox/inbound', { from: 'a@b.example', to: text, subject: '' }),
      await post('/v1/sandbox/inbound', { from: 'a@b.example', to: [text], subject: '' }),
    ]) {
      assert.equal(response.status, 400, text)
      await response.arrayBuffer()
    }
    assert.deepEqual(seen, [])
  }
})

test('attachments reach the handler as octets with their names', async () => {
  const attachments = [
    { filename: 'ä.txt', contentType: 'text/plain; charset=utf-8', data: 'aGk=' },
    { filename: 'empty', contentType: 'application/octet-stream', data: '' },
    { filename: 'a.png', contentType: 'image/png', data: '////', contentId: 'a@b' },
  ]
  const response = await send({ ...good, attachments })
  assert.equal(response.status, 200, await response.text())
  const [body] = seen as { attachments: { content: Uint8Array }[] }[]
  const expected = attachments.map(({ data, contentId = null, ...rest }) => ({
    ...rest,
    contentId,
    content: Buffer.from(data, 'base64'),
  }))
  assert.deepEqual(body?.attachments, expected)
})

const noBase64: [string, string][] = [
  ['rubbish', '!!!aGk='],
  ['no padding', 'aGk'],
  ['too much padding', 'aGk=='],
  ['padding within', 'aG=k'],
  ['the alphabet of URLs', '_-__'],
  ['a line break', 'aGk=\n'],
  ['a space', 'aG k='],
  ['a data URL', 'data:text/plain;base64,aGk='],
  ['bits left over', 'aGl='],
  ['a letter outside ASCII', 'aGkä'],
]

for (const [name, data] of noBase64) {
  test(`base64 with ${name} is refused with the number of the attachment`, async () => {
    const response = await send({ ...good, attachments: [file, { ...file, data }] })
    const error = await errorOf(response)
    assert.equal(response.status, 400)
    const [detail, ...others] = error.details as { path: string }[]
    assert.equal(detail?.path, 'attachments[1].data')
    assert.deepEqual(others, [])
    assert.deepEqual(seen, [])
  })
}
