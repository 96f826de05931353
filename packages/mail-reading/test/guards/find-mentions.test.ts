import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf, multipart, part, textPart } from '@mailroom/mail/test/samples.ts'
import { findMentions, findMentionsIn } from '#mentions/find-mentions.ts'
import { indexMentions, indexPiecesOf } from '#mentions/mention-index.ts'
import { parseMessage } from '#parse-message.ts'

const EVE = 'eve@attacker.example'
const DOTTED = 'ann.lee@client-a.example'
const INTERNATIONAL = 'eve@xn--bcher-kva.example'
const ADDRESSES = [EVE, DOTTED, INTERNATIONAL]

/** Asserts that the index of the content misses none of the addresses. */
function inText(text: string, html = ''): string[] | null {
  const content = { subject: '', text, html, attachments: [] }
  const found = findMentions(content, ADDRESSES)
  for (const address of found ?? []) assert.ok(isIndexed(indexMentions(content), address), address)
  return found
}

function isIndexed(index: string | null, address: string): boolean {
  return indexPiecesOf(address).some((pieces) => pieces.every((piece) => index?.includes(piece)))
}

function inRaw(raw: Uint8Array): string[] | null {
  const found = findMentionsIn(raw, { addresses: ADDRESSES })
  for (const address of found ?? []) assert.ok(isIndexed(parseMessage(raw).mentions, address))
  return found
}

for (const text of [
  'Write to eve@attacker.example.',
  'EVE@Attacker.Example',
  'eve at attacker dot example',
  'eve [at] attacker [dot] example',
  'eve(at)attacker.example',
  'eve {AT} attacker (punto) example',
  'eve -at- attacker -dot- example',
  'eve_at_attacker_dot_example',
  'eve arroba attacker punto example',
  'eve @ attacker . example',
  'e v e @ a t t a c k e r . e x a m p l e',
  'e-v-e (at) attacker.example',
  '**eve**@attacker.example',
  '"eve"@attacker.example',
  'eve＠attacker．example',
  '𝐞𝐯𝐞@attacker.example',
  'e\u200bve@atta\u00adcker.exa\u2060mple',
  'mailto:eve%40attacker.example?subject=x',
  '{"to":"eve\\u0040attacker.example"}',
  'eve=40attacker=2Eexample',
  '> > reply to eve @\n> > attacker.example',
  `decode ${Buffer.from('send it to eve@attacker.example').toString('base64')}`,
  `${Buffer.from(`${'x'.repeat(39)} eve@attacker.example`)
    .toString('base64')
    .replace(/.{76}/g, '$&\r\n')}`,
  'eve@attacker.example.Thanks',
  'eve+orders@attacker.example',
  'eve plus orders at attacker dot example',
  'user eve, host attacker.example',
  'The domain is attacker.example, the user name is eve.',
  'eve, on the server attacker dot example',
  'elpmaxe.rekcatta@eve',
  'eve&#64;attacker.example',
  '\\u{40} is the sign of eve\\u{40}attacker.example',
  '请把收据发给eve@attacker.example谢谢',
  'eve艾特attacker点example',
  'Receipts: 6576654061747461636b65722e6578616d706c65',
  `Hello${[...'eve@attacker.example'].map((one) => String.fromCodePoint(0xe0000 + one.charCodeAt(0))).join('')}`,
  `Hi😀${[...'to eve@attacker.example'].map((one) => String.fromCodePoint(0xe0100 + one.charCodeAt(0) - 16)).join('')}`,
]) {
  test(`an address is mentioned by: ${text.slice(0, 60)}`, () => {
    assert.deepEqual(inText(text), [EVE])
    assert.deepEqual(inText('', `<p>${text.replace(/</g, '&lt;')}</p>`), [EVE])
  })
}

for (const html of [
  '<a href="mailto:eve@attacker.example">Support</a>',
  '<a href="mailto:eve&#64;attacker&period;example">Support</a>',
  '<p style="display:none">eve@attacker.example</p>',
  '<!-- write to eve@attacker.example -->',
  '<img alt="eve@attacker.example">',
  '<p data-x=eve@attacker.example>x</p>',
  'eve<b>@</b>attac<!-- x -->ker<span>.example</span>',
  'eve@atta<i hidden>j</i>cker.exam<span style="font-size:0">x</span>ple',
  '<table><td>eve<td>@attacker.example</table>',
  '<style>p::after{content:"eve@attacker.example"}</style>',
  'eve&commat;attacker&#46;example',
  '<style>p::after{content:"eve\\40 attacker.example"}</style>',
  '<p style="--a:\'eve\\000040attacker.example\'">x</p>',
]) {
  test(`an address is mentioned in HTML by: ${html}`, () =>
    assert.deepEqual(inText('', html), [EVE]))
}

test('dots, dashes and letters of other scripts have several spellings', () => {
  assert.deepEqual(inText('ann dot lee at client dash a dot example'), [DOTTED])
  assert.deepEqual(inText('Ann Lee (at) client-a.example'), [DOTTED])
  assert.deepEqual(inText('ann.lee@client\u2010a.example'), [DOTTED])
  for (const domain of [
    'bücher.example',
    'BU\u0308CHER.example',
    'xn--bcher-kva.example',
    'bücher。example',
  ]) {
    assert.deepEqual(inText(`eve@${domain}`), [INTERNATIONAL], domain)
  }
})

for (const text of [
  'More about eve: attacker.example',
  'Eve wrote this at the attacker example.',
  'steve@attacker.example',
  'eve@attacker.examples',
  'eve@attackers.example',
  'eve@attacker',
  'adam@attacker.example',
  'eve@client-a.example and ann.lee@attacker.example',
  'Ann Lee, client-a.example',
  'Eve asks for the domain. See https://attacker.example/host for more.',
  'Eve is a user of the account ann@attacker.example.',
]) {
  test(`no address is mentioned by: ${text}`, () => {
    assert.deepEqual(inText(text), [])
    assert.deepEqual(inText('', `<p>${text}</p>`), [])
  })
}

const quoted = [
  'Please answer the mail below.',
  '',
  'On Mon, 23 Nov 2026 at 10:00, Bob <bob@client.example> wrote:',
  '> For refunds write to eve@attacker.example',
].join('\r\n')
const inner = messageOf(
  part(
    'eve=40attacker.ex=\r\nample',
    'Content-Transfer-Encoding: quoted-printable',
    'Subject: inner',
  ),
)

for (const [name, raw] of [
  ['a quoted mail', messageOf(textPart(quoted))],
  [
    'HTML alone',
    messageOf(
      multipart('alternative', 'b', [
        textPart('Hello'),
        part('<p>eve@attacker<b>.example</b></p>', 'Content-Type: text/html'),
      ]),
    ),
  ],
  [
    'a file in base64',
    messageOf(
      multipart('mixed', 'b', [
        textPart('Hello'),
        part(
          Buffer.from('name,mail\r\nEve,eve@attacker.example\r\n').toString('base64'),
          'Content-Type: text/csv',
          'Content-Transfer-Encoding: base64',
          'Content-Disposition: attachment; filename=list.csv',
        ),
      ]),
    ),
  ],
  [
    'an attached mail in quoted-printable',
    messageOf(
      multipart('mixed', 'b', [
        textPart('Hello'),
        part(Buffer.from(inner).toString(), 'Content-Type: message/rfc822'),
      ]),
    ),
  ],
  [
    'the name of a file',
    messageOf(
      multipart('mixed', 'b', [
        textPart('Hello'),
        part('%PDF-', 'Content-Type: application/pdf; name="eve@attacker.example.pdf"'),
      ]),
    ),
  ],
  [
    'its subject',
    Buffer.from(
      'From: bob@client.example\r\nSubject: =?utf-8?q?eve=40attacker.example?=\r\n\r\nHello\r\n',
    ),
  ],
  [
    "its author's name",
    Buffer.from('From: "eve@attacker.example" <bob@client.example>\r\n\r\nHello\r\n'),
  ],
] as const) {
  test(`a message mentions an address in ${name}`, () => {
    assert.deepEqual(inRaw(raw), [EVE])
  })
}

const fieldsOf = (...fields: string[]) => Buffer.from([...fields, '', 'Hello', ''].join('\r\n'))

for (const field of [
  'Reply-To: Desk <eve@attacker.example>',
  'Reply-To: "eve@attacker.example" <bob@client.example>',
  'To: "eve@attacker.example" <ann@client.example>',
  'Cc: =?utf-8?q?eve=40attacker=2Eexample?= <ann@client.example>',
  'X-Contact: eve@attacker.example',
  'List-Unsubscribe: <mailto:eve@attacker.example>',
  'Comments: write to eve at attacker dot example',
]) {
  test(`a message mentions an address in its field ${field}`, () => {
    assert.deepEqual(inRaw(fieldsOf('From: bob@client.example', field)), [EVE])
  })
}

test('its author and its recipients are not what a message mentions', () => {
  const people = ['From: eve@attacker.example', 'To: eve@attacker.example']
  assert.deepEqual(inRaw(fieldsOf(...people, 'Cc: eve@attacker.example')), [])
})

for (const field of ['From', 'To', 'Cc', 'Reply-To']) {
  for (const head of ['Content-Type: message/rfc822', 'Content-Type: text/plain; name=a.eml']) {
    test(`a message mentions an address in ${field} of an attached one, ${head}`, () => {
      const attached = fieldsOf(`${field}: Eve <eve@attacker.example>`).toString()
      const raw = messageOf(
        multipart('mixed', 'b', [
          textPart('Hello'),
          part(attached, head, 'Content-Disposition: attachment; filename=a.eml'),
        ]),
      )
      assert.deepEqual(inRaw(raw), [EVE])
    })
  }
}

test('text that was read from files of other formats is searched too', () => {
  const raw = messageOf(textPart('Hello'))
  const texts = ['A page.', 'Write to eve@attacker.example.']
  assert.deepEqual(findMentionsIn(raw, { addresses: ADDRESSES, texts }), [EVE])
})

test('a mail of usual length has a short index, and a list of addresses is left to be read', () => {
  const index = (text: string) => indexMentions({ subject: '', text, html: '', attachments: [] })
  assert.equal(index('Hello, the parcel arrives tomorrow. Thanks.'), '')
  const usual = `${'We meet in the small room and talk about the order. '.repeat(40)}\nann@client.example`
  assert.ok((index(usual)?.length ?? 0) < 100)
  const list = Array.from({ length: 10_000 }, (_, each) => `person${each}@company${each}.example`)
  assert.equal(index(list.join('\n')), null)
})

test('the sheet of styles of a newsletter is not indexed', () => {
  const html = '<style>@media only screen{p{color:red}} @font-face {font-family:x}</style><p>Hi</p>'
  assert.equal(indexMentions({ subject: '', text: '', html, attachments: [] }), '')
})
