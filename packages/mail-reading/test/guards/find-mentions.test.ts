import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf, multipart, part, textPart } from '@mailroom/mail/test/samples.ts'
import { findMentions, findMentionsIn } from '#mentions/find-mentions.ts'

const EVE = 'eve@attacker.example'
const DOTTED = 'ann.lee@client-a.example'
const INTERNATIONAL = 'eve@xn--bcher-kva.example'
const ADDRESSES = [EVE, DOTTED, INTERNATIONAL]

function inText(text: string, html = ''): string[] | null {
  return findMentions({ subject: '', text, html, attachments: [] }, ADDRESSES)
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
]) {
  test(`an address is told by: ${text.slice(0, 60)}`, () => {
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
  '<table><td>eve<td>@attacker.example</table>',
  '<style>p::after{content:"eve@attacker.example"}</style>',
  'eve&commat;attacker&#46;example',
]) {
  test(`an address is told in HTML by: ${html}`, () => assert.deepEqual(inText('', html), [EVE]))
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
]) {
  test(`no address is told by: ${text}`, () => {
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
  test(`a message tells an address in ${name}`, () => {
    assert.deepEqual(findMentionsIn(raw, ADDRESSES), [EVE])
  })
}

test('the addresses of its header fields are not what a message tells', () => {
  const fields = [
    'From: eve@attacker.example',
    'To: eve@attacker.example',
    'Reply-To: eve@attacker.example',
  ]
  const raw = Buffer.from([...fields, '', 'Hello', ''].join('\r\n'))
  assert.deepEqual(findMentionsIn(raw, ADDRESSES), [])
})
