import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf, multipart, type Part, textPart } from '@mailroom/mail/test/samples.ts'
import { isLongRun } from '@mailroom/mail/test/size-of.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

/** One text, in charsets that can and must write it, as octets in hexadecimal. */
const CHARSETS: [charset: string, octets: string, text: string][] = [
  ['iso-2022-jp', '1b2442467c4b5c386c1b284220616263', '日本語 abc'],
  ['windows-1252', '938082e991fc94', '“€‚é‘ü”'],
  ['gb18030', 'c4e3bac320b2e2cad4', '你好 测试'],
  ['gb18030', '9439da33', '💩'],
  ['koi8-r', 'f0d2c9d7c5d42c20cdc9d2', 'Привет, мир'],
  ['utf-16', 'feff00480069263a', 'Hi☺'],
  ['utf-16le', '480069003a26', 'Hi☺'],
  ['shift_jis', '93fa967b8cea', '日本語'],
  ['big5', 'a7da', '我'],
  ['euc-kr', 'c7d1b1db', '한글'],
  ['iso-8859-15', 'a4', '€'],
  ['utf-8', 'f09f9880', '😀'],
  ['x-unknown-charset', 'c3a9', 'é'],
]

onEachEngine('a body', (engine) => {
  const world = opened(() => openTenant(engine))
  const inbox = prepared(() => world.inbox())

  const receive = (part: Part) => deliver(world, inbox, messageOf(part))
  const html = (body: string): Part => ({
    fields: ['Content-Type: text/html; charset=utf-8', 'Content-Transfer-Encoding: 8bit'],
    body,
  })

  // Decoding a text does not depend on the database.
  const charsets = engine === 'sqlite' || isLongRun() ? CHARSETS : CHARSETS.slice(0, 2)
  for (const [charset, hex, text] of charsets) {
    for (const encoding of ['base64', 'quoted-printable', '8bit']) {
      // UTF-16 has octets that end lines, so it cannot be sent unencoded.
      if (encoding === '8bit' && charset.startsWith('utf-16')) continue
      test(`in ${charset} and ${encoding} is read as ${text}`, async () => {
        const octets = Buffer.from(hex, 'hex')
        const head = [
          'From: a@x.example',
          `Content-Type: text/plain; charset="${charset}"`,
          `Content-Transfer-Encoding: ${encoding}`,
        ].join('\r\n')
        const raw = Buffer.concat([
          Buffer.from(`${head}\r\n\r\n`),
          encode(octets, encoding),
          Buffer.from('\r\n'),
        ])
        assert.equal((await deliver(world, inbox, raw)).bodyText, text)
      })
    }
  }

  test('of text alone has no HTML', async () => {
    const message = await receive(textPart('Grüße,\r\n\r\nAnn'))
    assert.deepEqual([message.bodyText, message.bodyHtml], ['Grüße,\n\nAnn', ''])
  })

  test('of HTML alone is also given as text', async () => {
    const markup = '<html><body><h1>Hello</h1><p>One &amp; <b>two</b>.<br>Three</p></body></html>'
    const message = await receive(html(markup))
    assert.equal(message.bodyHtml, markup)
    assert.match(message.bodyText, /^hello\n+One & two\.\nThree$/i)
    assert.equal(message.extractedText, message.bodyText)
  })

  test('of HTML alone is without hidden text in every field, and the message says what it hides', async () => {
    const markup = `<p>Zqseen</p><p style="display:none">Zqhidden words</p><!-- a comment -->`
    const message = await receive(html(markup))
    const parts = [{ kind: 'display-none', characters: 14 }]
    assert.deepEqual([message.bodyText, message.extractedText], ['Zqseen', 'Zqseen'])
    assert.deepEqual([message.hiddenText, message.hiddenTextParts], [true, parts])
    const whole = await world.client.messages.get(message.id)
    assert.deepEqual([whole.hiddenText, whole.hiddenTextParts], [true, parts])
    const thread = await world.client.threads.get(message.threadId)
    assert.equal(thread.snippet, 'Zqseen')
    const { data } = await world.client.events.list({ order: 'desc', limit: 1 }).page()
    const told = data[0]?.message
    assert.deepEqual([told?.body_text, told?.extracted_text], ['Zqseen', 'Zqseen'])
    assert.deepEqual([told?.hidden_text, told?.hidden_text_parts], [true, parts])
    const found = (q: string) => world.client.inboxes.search(inbox.id, { q }).page()
    assert.equal((await found('zqhidden')).total, 0)
    assert.deepEqual((await found('zqseen')).data[0]?.snippet, 'Zqseen')
  })

  test('of alternatives stays as sent, and the message says what its HTML hides', async () => {
    const hiding = html('<p>Hello</p><p style="opacity:0">four</p>')
    const both = await receive(multipart('alternative', 'alt', [textPart('Hello four'), hiding]))
    assert.equal(both.bodyText, 'Hello four')
    assert.deepEqual(both.hiddenTextParts, [{ kind: 'opacity', characters: 4 }])
    const plain = await receive(
      multipart('alternative', 'alt', [textPart('Hello'), html('<p>Hello</p>')]),
    )
    assert.deepEqual([plain.hiddenText, plain.hiddenTextParts], [false, []])
    const tagged = await receive(textPart('Hello\u{e0041}\u{e0042}'))
    assert.deepEqual(tagged.hiddenTextParts, [{ kind: 'tag', characters: 2 }])
  })

  test('of alternatives has text and HTML, each as sent', async () => {
    const message = await receive(
      multipart('alternative', 'alt', [textPart('The text.'), html('<p>The HTML.</p>')]),
    )
    assert.deepEqual([message.bodyText, message.bodyHtml], ['The text.', '<p>The HTML.</p>'])
    assert.deepEqual(message.attachments, [])
  })

  test('of alternatives within multipart/mixed has both beside the attachments', async () => {
    const alternatives = multipart('alternative', 'alt', [textPart('Text'), html('<i>HTML</i>')])
    const file = textPart('the file', 'Content-Disposition: attachment; filename=notes.txt')
    const message = await receive(multipart('mixed', 'mix', [alternatives, file]))
    assert.deepEqual([message.bodyText, message.bodyHtml], ['Text', '<i>HTML</i>'])
    assert.deepEqual(
      message.attachments.map(({ filename }) => filename),
      ['notes.txt'],
    )
  })

  test('in format=flowed has its soft line breaks joined', async () => {
    const fields = ['Content-Type: text/plain; charset=utf-8; format=flowed']
    const body = 'One line that \r\nflows on.\r\nAnother.\r\n> quoted \r\n> too\r\n-- \r\nAnn'
    const { bodyText } = await receive({ fields, body })
    assert.equal(bodyText, 'One line that flows on.\nAnother.\n> quoted too\n-- \nAnn')
  })

  test('that answers has its new text without the history, and the full text as well', async () => {
    const body =
      'Yes, on Monday.\n\nBest\n\nOn Fri, 20 Nov 2026 at 09:00, Box wrote:\n> When?\n> Soon?'
    const message = await deliver(world, inbox, plainMail({ subject: 'Re: When', body }))
    assert.equal(message.bodyText, body)
    assert.equal(message.extractedText, 'Yes, on Monday.\n\nBest')
  })

  test('that forwards is kept whole', async () => {
    const body = [
      'For you.',
      '',
      '---------- Forwarded message ---------',
      'From: Carl <carl@x.example>',
      'Date: Fri, 20 Nov 2026 at 09:00',
      'Subject: Offer',
      'To: Ann <ann@x.example>',
      '',
      'The offer itself.',
    ].join('\n')
    const message = await deliver(world, inbox, plainMail({ subject: 'Fwd: Offer', body }))
    assert.equal(message.extractedText, body)
  })

  test('holds no lone surrogate, whatever its escapes say', async () => {
    const octets = Buffer.from('d83d0041dc00', 'hex')
    const fields = [
      'Content-Type: text/plain; charset=utf-16be',
      'Content-Transfer-Encoding: base64',
    ]
    const message = await receive({ fields, body: octets.toString('base64') })
    assert.equal(message.bodyText, '\ufffdA\ufffd')
    const markup = await receive(html('<p>a&#xD83D;b&#0;c</p>'))
    assert.equal(markup.bodyText.isWellFormed(), true)
    assert.equal(markup.bodyText.includes('\0'), false)
    const cesu = Buffer.concat([
      Buffer.from('Subject: \ud83d\r\nFrom: a@x.example\r\n\r\n'),
      Buffer.from('eda0bdedb880', 'hex'),
      Buffer.from('\r\n'),
    ])
    const wrong = await deliver(world, inbox, cesu)
    assert.equal(JSON.stringify(wrong).isWellFormed(), true)
    assert.ok(!/\\ud[89a-f]/i.test(JSON.stringify(wrong)))
  })

  test('of a megabyte is returned unshortened', async () => {
    const body = `${'Zeile mit Grüßen. '.repeat(55)}\n`.repeat(1_000)
    const message = await deliver(world, inbox, plainMail({ body }))
    assert.ok((await world.client.messages.get(message.id)).bodyText === body)
  })
})

function encode(octets: Buffer, encoding: string): Buffer {
  if (encoding === 'base64') return Buffer.from(octets.toString('base64'))
  if (encoding === '8bit') return octets
  // The last line break is soft: no octet of the charset may be read as one.
  return Buffer.from(`${octets.toString('hex').replace(/../g, '=$&').toUpperCase()}=`)
}
