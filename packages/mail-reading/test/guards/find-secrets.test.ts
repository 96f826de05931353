import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { messageOf, multipart, part, textPart } from '@mailroom/mail/test/samples.ts'
import fc from 'fast-check'
import { CONTENT_LENGTH_MAX, type SendContent } from '#content/parts.ts'
import { findSecrets, SECRET_FINDINGS_MAX } from '#secrets/find-secrets.ts'

/** Published test numbers of Stripe, and the bank account of Wikipedia's page on IBANs. */
const CARD = '4242424242424242'
const IBAN = 'GB82 WEST 1234 5698 7654 32'

function mailOf(mail: Partial<SendContent>): SendContent {
  return { subject: '', text: '', html: '', attachments: [], ...mail }
}

function find(mail: Partial<SendContent>): string[] {
  const found = findSecrets(mailOf(mail))
  return (found ?? []).map(({ kind, part }) => `${kind} in ${part}`)
}

/** What stands in the text where a secret was found. */
function shown(text: string, html = ''): string[] {
  const found = findSecrets(mailOf({ text, html })) ?? []
  return found.map(({ offset, length }) => (html || text).slice(offset, offset + length))
}

function fileOf(content: string | Uint8Array, filename = 'notes.txt', contentType = 'text/plain') {
  return { filename, contentType, content: Buffer.from(content) }
}

test('secrets are found in subject, bodies, files that are text, and names of files', () => {
  const mail = {
    subject: `Card ${CARD}`,
    text: `Card ${CARD}`,
    html: `<p>Card ${CARD}</p>`,
    attachments: [fileOf('none'), fileOf(`number,${CARD}`, `${CARD}.csv`, 'text/csv')],
  }
  assert.deepEqual(find(mail), [
    'card_number in subject',
    'card_number in bodyText',
    'card_number in bodyHtml',
    'card_number in attachment:1/filename',
    'card_number in attachment:1',
  ])
})

test('a finding has the place of the secret, never its value', () => {
  const text = `First ${IBAN}, then ${CARD}.`
  assert.deepEqual(shown(text), [IBAN, CARD])
  const findings = JSON.stringify(findSecrets(mailOf({ text })))
  for (const value of [IBAN, CARD, CARD.slice(0, 6)]) assert.ok(!findings.includes(value))
})

for (const html of [
  '<b>4242</b>4242<i class="a>b">4242</i>4242',
  '4242<!-- > -->4242<!-->4242<span>4242</span>',
  '&#52;242&#x34;242&shy;4242&ZeroWidthSpace;4242',
  '4242 4242&nbsp;4242\u20094242',
  '４２４２ 4242\u00ad\u200b 4242 4242',
  '<style>a<b c="</style>4242<u></u>424242424242',
  '<a =">4242<b>4242</b>42424242',
  '<script>"4242424242424242"</script>',
  '<!-- 4242424242424242 -->',
  '<img alt="4242-4242-4242-4242">',
  '<img alt=4242424242424242',
  '<textarea>4242424242424242',
]) {
  test(`HTML is searched as it is read, and as it is written: ${html}`, () => {
    const [found = ''] = shown('', `<p>Number ${html} end</p>`)
    assert.match(found, /^(?:4|４|&#52;)[\s\S]*(?:2|２)$/)
  })
}

test('cells, lines and paragraphs do not make one number of several', () => {
  const cells = '<td>4242</td><td>4242</td><td>4242</td><td>4242</td>'
  for (const html of [cells, '4242<br>4242<p>4242<div>4242', `<table><tr>${cells}</table>`]) {
    assert.deepEqual(shown('', html), [], html)
  }
})

test('the place of a secret with tags and unseen characters in it is exact', () => {
  const filler = fc.constantFrom('', '<b>', '</i >', '<!-- x -->', '&shy;', '\u200b', '<a b="2>4">')
  const around = fc.constantFrom(
    '',
    '&amp;&#65;&lt; ',
    'Grüße, 漢字 ',
    '<p>',
    'a &nosuch; b ',
    '&copy; ',
  )
  fc.assert(
    fc.property(
      fc.array(filler, { minLength: 15, maxLength: 15 }),
      around,
      around,
      (fill, before, after) => {
        const secret = [...CARD].map((digit, index) => digit + (fill[index] ?? '')).join('')
        const html = `${before}${secret}${after === '' ? '' : ` ${after}`}`
        assert.deepEqual(shown('', html), [secret], html)
      },
    ),
    { numRuns: 500 },
  )
})

const TOKEN = `mr_${'aB3dE5gH7j'.repeat(4)}`

for (const [name, text] of [
  ['code', `"a\\n${TOKEN}\\n"`],
  ['a URL', `https://a.example/?x%3D${TOKEN}&y=1`],
  ['Markdown', `_${TOKEN}_, **${TOKEN}**`],
  ['a setting', `KEY=${TOKEN}`],
  ['a sentence', `It is ${TOKEN}.`],
] as const) {
  test(`a token is found in ${name}`, () => {
    assert.equal(shown(text)[0], TOKEN)
  })
}

test('a token within a longer word is none', () => {
  assert.deepEqual(shown(`x${TOKEN} ${TOKEN}x1`), [])
})

test('a key in a string of code, quoted in a mail and without its end is found', () => {
  const lines = [
    'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj',
    'MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu',
  ]
  const end = '-----END PRIVATE KEY-----'
  for (const text of [
    ['-----BEGIN PRIVATE KEY-----', ...lines, end].join('\\n'),
    ['-----BEGIN PRIVATE KEY-----', ...lines, end].join('\n> '),
    ['-----BEGIN PRIVATE KEY-----', ...lines].join('\r\n'),
    ['-----BEGIN PRIVATE KEY-----', ...lines, end].join(' '),
    ['"-----BEGIN PRIVATE KEY-----\\n" +', ...lines.map((line) => `"${line}\\n" +`)].join('\n'),
  ]) {
    assert.deepEqual(find({ text }), ['private_key in bodyText'], text)
  }
})

test('a file is read by its octets, whatever its type says, unless they are no text', () => {
  const type = 'application/octet-stream'
  const utf16 = Buffer.from(`\ufeffCard ${CARD}`, 'utf16le')
  assert.deepEqual(find({ attachments: [fileOf(CARD, 'a.bin', type)] }), [
    'card_number in attachment:0',
  ])
  assert.deepEqual(find({ attachments: [fileOf(utf16, 'a.bin', type)] }), [
    'card_number in attachment:0',
  ])
  assert.deepEqual(find({ attachments: [fileOf(utf16.subarray(2))] }), [
    'card_number in attachment:0',
  ])
  assert.deepEqual(find({ attachments: [fileOf(`\xff${CARD} \0`, 'a.txt')] }), [
    'card_number in attachment:0',
  ])
  assert.deepEqual(find({ attachments: [fileOf(`\0 ${CARD}`, 'a.bin', type)] }), [])
  assert.deepEqual(find({ attachments: [fileOf(`%PDF-1.7 ${CARD}`, 'a.pdf', type)] }), [])
})

test('an HTML file is read without its tags', () => {
  const html = `<p>4242<b>4242</b>42424242</p>`
  for (const file of [
    fileOf(html, 'a.html', 'application/octet-stream'),
    fileOf(html, 'a', 'text/html'),
  ]) {
    assert.deepEqual(find({ attachments: [file] }), ['card_number in attachment:0'])
  }
})

test('messages in the mail are read in all of their parts, encoded ones too', () => {
  const base64 = part(
    Buffer.from(`Card ${CARD}`).toString('base64'),
    'Content-Transfer-Encoding: base64',
  )
  const quoted = part(
    `Card 42424242=\r\n42424242`,
    'Content-Transfer-Encoding: quoted-printable',
    'Content-Disposition: attachment; filename=b.txt',
  )
  const inner = messageOf(multipart('mixed', 'b', [base64, quoted, textPart('Hello')]))
  const outer = messageOf(
    part(
      Buffer.from(inner).toString(),
      'Content-Type: message/rfc822',
      'Content-Disposition: attachment; filename=inner.eml',
    ),
  )
  assert.deepEqual(find({ attachments: [fileOf(inner, 'a.eml', 'message/rfc822')] }), [
    'card_number in attachment:0/bodyText',
    'card_number in attachment:0/attachment:0',
  ])
  assert.deepEqual(find({ attachments: [fileOf(outer, 'a.eml', 'application/octet-stream')] }), [
    'card_number in attachment:0/attachment:0/bodyText',
    'card_number in attachment:0/attachment:0/attachment:0',
  ])
})

test('a mail with too much text, or with messages too deep in one another, is not read', () => {
  const half = fileOf(Buffer.alloc(CONTENT_LENGTH_MAX / 2, 'a '))
  assert.deepEqual(find({ attachments: [half] }), [])
  assert.equal(findSecrets(mailOf({ attachments: [half, half] })), null)
  let message: Uint8Array = messageOf(textPart('Hello'))
  for (let depth = 0; depth < 10; depth++) {
    message = messageOf(
      part(
        Buffer.from(message).toString(),
        'Content-Type: message/rfc822',
        'Content-Disposition: attachment',
      ),
    )
  }
  assert.equal(findSecrets(mailOf({ attachments: [fileOf(message, 'a.eml')] })), null)
})

test('a token at the end of a window has its whole length', () => {
  const token = `glpat-${'aB3dE5gH7j'.repeat(10)}`
  for (let missing = 1; missing < 60; missing += 10) {
    const start = 1024 * 1024 - token.length + missing
    const text = `${'a b '.repeat(start / 4)}${' '.repeat(start % 4)}${token}\n${'a b\n'.repeat(10_000)}`
    const found = findSecrets(mailOf({ attachments: [fileOf(text)] }))
    const finding = {
      kind: 'gitlab_token',
      part: 'attachment:0',
      offset: start,
      length: token.length,
      sha256: hash('sha256', token),
    }
    assert.deepEqual(found, [finding], `${missing}`)
  }
})

test('the list of findings is bounded', () => {
  const found = findSecrets(mailOf({ text: `${CARD}\n`.repeat(1_000), html: CARD }))
  assert.equal(found?.length, SECRET_FINDINGS_MAX)
})
