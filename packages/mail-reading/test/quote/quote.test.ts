import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textFromHtml } from '@mailroom/mail/html/text.ts'
import { compose } from '@mailroom/mail/test/compose/outgoing.ts'
import fc from 'fast-check'
import { visibleTextOf } from '#html/visible-text.ts'
import { parseMessage } from '#parse-message.ts'
import {
  bodyParts,
  isQuick,
  type Original,
  plainBodyParts,
  QUOTED_HTML_LENGTH_MAX,
  QUOTED_TAGS_MAX,
  QUOTED_TEXT_LENGTH_MAX,
  quoteHtml,
  quoteText,
  sanitiseHtml,
} from '#quote/body-parts.ts'
import { extractReply } from '#reply/reply-text.ts'
import { SHOWN, UNSEEN } from '#test/view/hidden/bodies.ts'

function original(changes: Partial<Original> = {}): Original {
  return {
    dateMs: Date.UTC(2026, 10, 20, 9, 0),
    fromName: 'Bob Peer',
    text: 'Hello\n\n> older\nbye',
    html: '',
    ...changes,
  }
}

const ATTRIBUTION = 'On Fri, 20 Nov 2026 at 09:00 UTC, Bob Peer wrote:'

/** The content between the tags of our own block. */
function quotedMarkup(html: string): string {
  const quote = quoteHtml(original({ html }))
  return quote.slice(
    quote.indexOf('>', quote.indexOf('<blockquote')) + 1,
    quote.lastIndexOf('</blockquote>'),
  )
}

test('a text quote has a blank line, an attribution, and the marked lines', () => {
  assert.equal(quoteText(original()), `\n\n${ATTRIBUTION}\n> Hello\n>\n>> older\n> bye`)
  assert.equal(
    quoteText(original({ text: 'a\r\nb\rc  \n\n' })),
    `\n\n${ATTRIBUTION}\n> a\n> b\n> c`,
  )
  assert.equal(quoteText(original({ text: '', html: '<p>Hi</p>' })), `\n\n${ATTRIBUTION}\n> Hi`)
  assert.equal(quoteText(original({ text: '' })), `\n\n${ATTRIBUTION}\n>`)
})

test('a quote holds what a person sees of a message, as text and as HTML', () => {
  const both = (changes: Partial<Original>) => {
    const quote = original({ text: '', ...changes })
    return [quoteText(quote), quoteHtml(quote)]
  }
  for (const { name, ...body } of UNSEEN) {
    for (const quoted of both(body)) {
      assert.match(quoted, /SEEN/, name)
      assert.doesNotMatch(quoted, /MARKER|\udb40/, `${name}: ${quoted}`)
    }
  }
  for (const { name, ...body } of SHOWN) {
    if (/soft hyphen|zero-width/.test(name)) continue
    for (const quoted of both(body)) assert.match(quoted, /MARKER/, name)
  }
  const [text = '', html = ''] = both({
    html: '<details open><summary>s</summary>MARKER</details>',
  })
  assert.match(visibleTextOf(html), /MARKER/)
  assert.match(text, /MARKER/)
})

test('of a message in which there is nothing to see nothing is quoted', () => {
  const html = '<style>.x{color:#fff}</style><p class="x">SECRET</p><p style="opacity:0">SECRET</p>'
  const quote = original({ text: '', html })
  const parts = bodyParts({ body: 'Hi', bodyHtml: '<p>Hi</p>', quote })
  assert.equal(parts.text, `Hi\n\n${ATTRIBUTION}\n>`)
  assert.doesNotMatch(parts.html, /SECRET/)
  const forwarded = { header: [{ name: 'From', value: 'Bob' }], text: '', html, hasFiles: false }
  const passed = bodyParts({ body: 'Hi', bodyHtml: null, quote: forwarded })
  assert.match(passed.text, /^Hi\n\n-+ Forwarded message -+\nFrom: Bob$/)
  assert.doesNotMatch(passed.html, /SECRET/)
  // HTML that cannot be laid out is not searched for hidden text: a mark says that there is something.
  assert.match(plainBodyParts({ body: 'Hi', bodyHtml: null, quote }).text, /wrote:\n> \[…\]$/)
})

test('the text that is made of the HTML of a body is what its reader sees', () => {
  const hidden = '<style>.pre{font-size:0}</style><p class="pre">preview</p>'
  const seen = bodyParts({ body: `${hidden}<p>Hi</p>`, bodyHtml: null, quote: null })
  assert.deepEqual(seen, { text: 'Hi', html: `${hidden}<p>Hi</p>`, ownText: 'Hi' })
  const unseen = bodyParts({ body: hidden, bodyHtml: null, quote: null })
  assert.deepEqual(unseen, { text: '', html: hidden, ownText: '' })
})

test('text without HTML is quoted verbatim in HTML', () => {
  const quote = quoteHtml(original({ text: 'a < b\n</blockquote>\n& c', fromName: '<b>Bob</b>' }))
  assert.ok(quote.includes('a &lt; b<br>\n&lt;/blockquote&gt;<br>\n&amp; c</blockquote></div>'))
  assert.ok(quote.includes('&lt;b&gt;Bob&lt;/b&gt; wrote:'))
})

test("only the content of a document's body is quoted", () => {
  const html = `<!DOCTYPE html><html><head><title>T</title><style>p{}</style><meta charset=x>
    <base href="https://evil.example/"><link rel=stylesheet href=x></head>
    <body onload="x()"><p class="a" onclick="x()" style="color:red;position:fixed">Hi <b>there</b></p></body></html>`
  assert.equal(quotedMarkup(html).trim(), '<p class="a" style="color:red">Hi <b>there</b></p>')
})

test('quotes hold no scripts, resources, forms or animation', () => {
  const cases: [string, string][] = [
    ['a<script>alert(1)</script>b', 'ab'],
    ['a<script>never closed', 'a'],
    [
      'a<style>x</style>b<iframe src=x>y</iframe>c<object>d</object>e<svg><text>x</text></svg>',
      'abce',
    ],
    // As browsers read it, a paragraph ends the picture.
    ['<svg><text>x</text><p>y</p></svg>', '<p>y</p>'],
    ['<form action=x><input name=y><button>Go</button><textarea>t</textarea></form>', 'Go'],
    ['<a href="javascript:alert(1)">x</a>', '<a>x</a>'],
    ['<a href=" java\nscript:alert(1)">x</a>', '<a>x</a>'],
    ['<a href="&#106;avascript:alert(1)">x</a>', '<a>x</a>'],
    ['<a href="data:text/html,x">x</a>', '<a>x</a>'],
    [
      '<a href="https://peer.example/?a=1&b=%22">x</a>',
      '<a href="https://peer.example/?a=1&amp;b=%22">x</a>',
    ],
    ['<a href=" https://peer.example/\n">x</a>', '<a href="https://peer.example/">x</a>'],
    ['<img src="cid:x" alt="Logo <b>">', 'Logo &lt;b&gt;'],
    ['<img src="https://peer.example/x.png" onerror=x>', '<img src="https://peer.example/x.png">'],
    ['<p style="background:url(https://evil.example)">x</p>', '<p>x</p>'],
    [
      '<p style="margin-top:-5px;color:red;color:expression(x)">x</p>',
      '<p style="color:red">x</p>',
    ],
    ["<p title='\"><script>'>x</p>", '<p title="&quot;&gt;&lt;script&gt;">x</p>'],
    ['<plaintext>x</blockquote>', 'x&lt;/blockquote&gt;'],
    ['<!-- --><x-y>z</x-y><![CDATA[q]]>', 'z'],
    ['&lt;script&gt;', '&lt;script&gt;'],
  ]
  for (const [html, expected] of cases) assert.equal(quotedMarkup(html), expected, html)
})

/** Names of the tags open at the end, or null when an end tag does not match the last open tag. */
function openAtEnd(html: string): string[] | null {
  const open: string[] = []
  for (const [, slash, name = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)(?:\s[^<>]*)?>/g)) {
    if (slash === '/') {
      if (open.pop() !== name) return null
    } else if (!['br', 'img', 'hr', 'wbr', 'col'].includes(name)) open.push(name)
  }
  return open
}

test('quotes close only tags that they opened, and brackets occur only in our tags', () => {
  const piece = fc.constantFrom(
    ...`</blockquote> </div> <div> <blockquote> <p> </p> <b> </b> <table> <tr> <td> </table>
    <script> </script> <style> </style> <svg> </svg> <math> <title> </title> <textarea>
    <body> </body> </html> <!-- --> <![CDATA[ ]]> " ' > < &lt; & text <plaintext> <xmp> <li>
    <option> <h1> </br> <br/> <div/> <template> <noscript> </noscript>`.split(/\s+/),
    '<img src=x ',
    '\0',
    '<a href="',
    '<x ',
  )
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 60 }),
      fc.integer({ min: 0, max: 400 }),
      (pieces, lengthMax) => {
        for (const bound of [lengthMax, QUOTED_HTML_LENGTH_MAX]) {
          const markup = sanitiseHtml(pieces.join(''), { lengthMax: bound, cut: '[…]' }) ?? ''
          assert.deepEqual(openAtEnd(markup), [], markup)
          assert.ok(!/<(?!\/?[a-z][a-z0-9]*(?: [a-z]+="[^"<>]*")*>)/.test(markup), markup)
          assert.ok(
            !/<\/?(?:script|style|svg|math|title|textarea|body|html|template|noscript|option|xmp|plaintext)\b/.test(
              markup,
            ),
            markup,
          )
        }
      },
    ),
    { numRuns: 3_000 },
  )
})

test('quotes are bounded, and a mark shows where they are cut', () => {
  const long = quoteText(original({ text: `${'x'.repeat(70)}\n`.repeat(10_000) }))
  assert.ok(
    long.length < QUOTED_TEXT_LENGTH_MAX + 200 && long.endsWith(`\n> ${'x'.repeat(70)}\n> […]`),
  )
  assert.ok(
    quoteText(original({ text: 'x'.repeat(1_000_000) })).length < QUOTED_TEXT_LENGTH_MAX + 200,
  )
  const lines = quoteText(original({ text: 'x\n'.repeat(100_000) }))
  assert.ok(lines.split('\n').length < 10_010 && lines.endsWith('> […]'))
  for (const html of [
    '<p>xyz</p>'.repeat(9_000),
    `<p>${'&'.repeat(600_000)}`,
    'x'.repeat(2_000_000),
  ]) {
    const quote = quoteHtml(original({ html }))
    assert.ok(quote.length < QUOTED_HTML_LENGTH_MAX + 1_000)
  }
  const cut = quoteHtml(
    original({ html: `<div><p>${'x'.repeat(300_000)}</p><p>${'y'.repeat(300_000)}</p><p>z` }),
  )
  assert.ok(cut.length < QUOTED_HTML_LENGTH_MAX + 1_000 && cut.includes('[…]'))
  assert.deepEqual(openAtEnd(cut), [])
  const tags = quoteHtml(original({ html: '<b>'.repeat(QUOTED_TAGS_MAX + 1), text: 'the text' }))
  assert.ok(tags.includes('>the text</blockquote>'))
  const name = quoteText(original({ fromName: `${'n'.repeat(100_000)}\nX: y` }))
  assert.ok(name.length < 400)
})

test('our own quote is removed when reading, from text and HTML', async () => {
  const names = [
    'Bob Peer',
    'bob@peer.example',
    'Müller, Jörg',
    '山田太郎',
    'x'.repeat(500),
    'Bob "B" <b@c.example>',
    'Re: On 1.1.2020 Ann wrote:',
    'שלום',
    'A\r\nB',
    '',
  ]
  const texts = [
    'Hello',
    'Hello\n\nOn Thu, 19 Nov 2026 at 08:00 UTC, Ada wrote:\n> first\n\nend',
    '',
    '> quoted\n\n-- \nBob',
    '-----Original Message-----\nFrom: x',
    'x'.repeat(5_000),
  ]
  const reply = 'My answer.\n\nTwo paragraphs.'
  for (const fromName of names) {
    for (const text of texts) {
      for (const html of ['', `<p>${text}</p></div></blockquote>after`]) {
        const quote = original({ fromName, text, html })
        const plain = bodyParts({ body: reply, bodyHtml: null, quote })
        assert.equal(plain.html, '')
        assert.equal(extractReply(plain.text), reply)
        const rich = bodyParts({
          body: '<p>My answer.</p><p>Two paragraphs.</p>',
          bodyHtml: null,
          quote,
        })
        assert.equal(extractReply(rich.text), reply)
        assert.equal(extractReply(textFromHtml(rich.html)), reply, rich.html)
      }
    }
  }
  const parts = bodyParts({ body: reply, bodyHtml: '<p>My answer.</p>', quote: original() })
  const parsed = parseMessage(await compose(parts))
  assert.equal(parsed.extractedText, reply)
  const htmlOnly = parseMessage(await compose({ ...parts, text: '' }))
  assert.equal(htmlOnly.extractedText, 'My answer.')
})

test('a body is stored as given: text, HTML with a text made of it, or both', () => {
  const of = (body: string, bodyHtml: string | null = null) => {
    const { text, html, ownText } = bodyParts({ body, bodyHtml, quote: null })
    assert.equal(ownText, text)
    return { text, html }
  }
  assert.deepEqual(of('Hi <b>you</b>'), { text: 'Hi <b>you</b>', html: '' })
  assert.deepEqual(of('<p>Hi <b>you</b></p>'), { text: 'Hi you', html: '<p>Hi <b>you</b></p>' })
  assert.deepEqual(of('Hi', '<p>Hello'), { text: 'Hi', html: '<p>Hello' })
  assert.deepEqual(of('<i>Hi</i>', '<p>Hello'), { text: '<i>Hi</i>', html: '<p>Hello' })
  assert.deepEqual(of('Hi', ''), { text: 'Hi', html: '' })
})

test('HTML that would show nothing is sent as text that looks like it', () => {
  const of = (body: string) => {
    const { text, html } = bodyParts({ body, bodyHtml: null, quote: null })
    return html === '' ? text : 'HTML'
  }
  const texts = ['<i like cheese>', '<b and c>', '<link to doc>', '<title> of the doc', '<p></p>']
  for (const text of texts) assert.equal(of(text), text)
  for (const html of ['<p><img src="https://a.example/x.png"></p>', '<IMG src=x>', '<b>x</b>']) {
    assert.equal(of(html), 'HTML')
  }
})

test('costly HTML is recognised in advance and quoted in a cheap form', () => {
  const many = '<p>x'.repeat(25_000)
  const quote = original({ html: many })
  const source = { body: 'Hi', bodyHtml: null, quote: null }
  assert.deepEqual(
    [
      source,
      { ...source, body: '<p>Hi' },
      { ...source, body: many, bodyHtml: '<p>Hi' },
      { ...source, quote },
      { ...source, body: many },
      { ...source, bodyHtml: '<p>Hi', quote },
      { ...source, quote: original({ html: many, text: '' }) },
      { ...source, bodyHtml: '<p>Hi', quote: original({ text: '&'.repeat(100_000) }) },
      { ...source, body: `<p>${'x'.repeat(2_000)}` },
      { ...source, body: `<p style="">${'x'.repeat(2_000)}` },
      { ...source, quote: original({ html: `<p>${'x'.repeat(2_000)}`, text: '' }) },
      { ...source, quote: original({ html: `<p style="">${'x'.repeat(2_000)}`, text: '' }) },
    ].map(isQuick),
    [true, true, true, true, false, false, false, false, true, false, true, false],
  )
  const parts = plainBodyParts({ body: '<p>Hi</p><b>you</b>', bodyHtml: null, quote })
  assert.match(parts.ownText, /^\s*Hi\s+you$/)
  assert.match(parts.text, /Hi\s+you\n\nOn Fri.*\n> Hello/s)
  assert.match(parts.html, /^<p>Hi<\/p><b>you<\/b>\n<br>\n<div.*Hello/s)
  const quoted = plainBodyParts({
    body: 'Hi',
    bodyHtml: null,
    quote: original({ html: '<p>old', text: '' }),
  })
  assert.match(quoted.text, /^Hi\n\nOn .*> \[…\]$/s)
})

test('the quote is placed within the body of a document', () => {
  const html = (body: string) => bodyParts({ body, bodyHtml: null, quote: original() }).html
  assert.match(
    html('<html><body><p>x</p></body></html>'),
    /^<html><body><p>x<\/p>\n<br>\n<div.*<\/blockquote><\/div>\n<\/body><\/html>$/s,
  )
  assert.match(html('<html><p>x</p></HTML>\n'), /<\/div>\n<\/HTML>\n$/)
  assert.match(html('<p>x</p></body>more'), /^<p>x<\/p><\/body>more\n<br>\n<div/)
  assert.match(html('<p>x</p>'), /<\/blockquote><\/div>\n$/)
})

test('hostile bodies take linear time', () => {
  const started = process.cpuUsage()
  const quote = original({ html: '<b>'.repeat(QUOTED_TAGS_MAX), text: ' '.repeat(1_000_000) })
  bodyParts({
    body: `x${'\n'.repeat(100_000)}x`,
    bodyHtml: `<p></body>${' '.repeat(490_000)}x`,
    quote,
  })
  bodyParts({
    body: '<b>'.repeat(33_000),
    bodyHtml: null,
    quote: original({ html: '<'.repeat(1_000_000) }),
  })
  quoteHtml(
    original({ html: `<a style="${'a:b;'.repeat(200_000)}" href="${' '.repeat(500_000)}">x` }),
  )
  const { user, system } = process.cpuUsage(started)
  assert.ok(user + system < 3_000_000, `${(user + system) / 1_000} ms`)
})
