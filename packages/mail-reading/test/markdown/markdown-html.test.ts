import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isElement, readHtml } from '@mailroom/mail/html/tree.ts'
import fc from 'fast-check'
import { markdownHtml } from '#markdown/markdown-html.ts'

/** The HTML of a body, without the element around it. */
function html(body: string, contentIds: string[] = []): string {
  const made = markdownHtml({ body, signature: null, contentIds })
  assert.equal(made.kind, 'html', body)
  return made.kind === 'html' ? made.body.replace(/^<div[^>]*>|<\/div>$/g, '') : ''
}

/** The same without styles and line ends, to compare what the markup means. */
function plain(body: string, contentIds: string[] = []): string {
  return html(body, contentIds)
    .replaceAll(/ style="[^"]*"/g, '')
    .replaceAll('\n', '')
}

type Found = { name: string; attributes: Record<string, string> }

/** Every element as a browser finds it. */
function elementsIn(markup: string): Found[] {
  const tree = readHtml(markup)
  assert.ok(tree !== null, 'the service shows the HTML')
  const found: Found[] = []
  const visit = (node: Parameters<typeof isElement>[0]): void => {
    if (isElement(node)) {
      const attributes = Object.fromEntries(node.attrs.map(({ name, value }) => [name, value]))
      found.push({ name: node.tagName, attributes })
    }
    if ('childNodes' in node) for (const child of node.childNodes) visit(child)
  }
  visit(tree)
  return found
}

const ELEMENTS = `html head body div p h1 h2 h3 h4 h5 h6 blockquote ul ol li table tbody tr th td
  pre code hr br a img em strong s`.split(/\s+/)
const ATTRIBUTES = ['style', 'dir', 'align', 'cellspacing', 'start', 'href', 'src', 'alt']

function assertSafe(markup: string, contentIds: readonly string[]): void {
  for (const { name, attributes } of elementsIn(markup)) {
    assert.ok(ELEMENTS.includes(name), `<${name}> in ${markup}`)
    for (const [attribute, value] of Object.entries(attributes)) {
      assert.ok(ATTRIBUTES.includes(attribute), `${attribute} in ${markup}`)
      if (attribute === 'href') assert.match(value, /^(?:https?:\/\/|mailto:)\S+$/i)
      if (attribute === 'src') assert.ok(contentIds.includes(value.replace(/^cid:/, '')), value)
      if (attribute === 'style') assert.doesNotMatch(value, /url|expression|[<>"\\]/i)
    }
  }
}

test('Markdown becomes the elements of CommonMark and of the extensions of GitHub', () => {
  assert.equal(
    plain('# Title\n\nText **bold** *it* `a<b`'),
    '<h1>Title</h1><p>Text <strong>bold</strong> <em>it</em> <code>a&lt;b</code></p>',
  )
  assert.equal(plain('one\ntwo'), '<p>one<br>two</p>')
  assert.equal(plain('~~gone~~'), '<p><s>gone</s></p>')
  assert.equal(
    plain('3. x\n4. y\n   - z'),
    '<ol start="3"><li>x</li><li>y<ul><li>z</li></ul></li></ol>',
  )
  assert.equal(plain('- [x] done\n- [ ] open'), '<ul><li>☑ done</li><li>☐ open</li></ul>')
  assert.equal(plain('- a\n\n- b'), '<ul><li><p>a</p></li><li><p>b</p></li></ul>')
  assert.equal(
    plain('| a | b |\n|---|--:|\n| 1 | 2 |'),
    '<table cellspacing="0"><tr><th align="left">a</th><th align="right">b</th></tr><tr><td align="left">1</td><td align="right">2</td></tr></table>',
  )
  assert.equal(plain('> said\n\n---'), '<blockquote><p>said</p></blockquote><hr>')
  assert.equal(plain('```js\nif (a < b) {}\n```'), '<pre>if (a &lt; b) {}</pre>')
  assert.equal(
    plain('5 * 3 * 2 &copy; &lt;b&gt; AT&T \\*x\\*'),
    '<p>5 * 3 * 2 &copy; &lt;b&gt; AT&amp;T *x*</p>',
  )
  assert.equal(html(' \n\n[a]: https://a.example\n'), '')
})

test('links lead to web pages and mailboxes only, and keep their addresses', () => {
  const page = '<a href="https://a.example/?x=1&amp;y=2">'
  assert.equal(plain('[t](https://a.example/?x=1&y=2 "unseen")'), `<p>${page}t</a></p>`)
  assert.equal(plain('[t](https://a.example/?x=1&amp;y=2)'), `<p>${page}t</a></p>`)
  assert.equal(
    plain('https://a.example/?x=1&y=2.'),
    `<p>${page}https://a.example/?x=1&amp;y=2</a>.</p>`,
  )
  assert.equal(plain('www.a.example'), '<p><a href="http://www.a.example">www.a.example</a></p>')
  assert.equal(plain('ann@a.example'), '<p><a href="mailto:ann@a.example">ann@a.example</a></p>')
  assert.equal(
    plain('[a *b*][r]\n\n[r]: mailto:x@a.example'),
    '<p><a href="mailto:x@a.example">a <em>b</em></a></p>',
  )
  for (const target of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    '&#106;avascript:alert(1)',
    '<java\tscript:alert(1)>',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'cid:x',
    '/path',
    '//a.example',
    'https:a.example',
  ]) {
    assert.equal(plain(`[text](${target})`), '<p>text</p>', target)
  }
})

test('an image is shown only if it is a file of the message; another becomes a link', () => {
  assert.equal(plain('![Logo](cid:logo)', ['logo']), '<p><img src="cid:logo" alt="Logo"></p>')
  assert.equal(plain('![Logo](cid:other)', ['logo']), '<p>Logo</p>')
  assert.equal(
    plain('![A "b" <c>](cid:logo)', ['logo']),
    '<p><img src="cid:logo" alt="A &quot;b&quot; &lt;c&gt;"></p>',
  )
  const link = '<a href="https://evil.example/pixel.gif">chart</a>'
  assert.equal(plain('![chart](https://evil.example/pixel.gif)'), `<p>${link}</p>`)
  assert.equal(
    plain('[![chart](https://evil.example/pixel.gif)](https://a.example)'),
    '<p><a href="https://a.example">chart</a></p>',
  )
})

test('markup is shown as text', () => {
  assert.equal(plain('<script>alert(1)</script>'), '<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>')
  assert.equal(plain('<div>**a**</div>'), '<p>&lt;div&gt;<strong>a</strong>&lt;/div&gt;</p>')
  assert.equal(plain('<!-- unseen -->'), '<p>&lt;!-- unseen --&gt;</p>')
  assert.equal(plain('a <img src=x onerror=y> b'), '<p>a &lt;img src=x onerror=y&gt; b</p>')
})

test('the signature follows the body, within its fonts', () => {
  const source = { body: 'Hi', signature: '**Ann**', contentIds: [] }
  const made = markdownHtml(source)
  assert.ok(made.kind === 'html')
  assert.match(
    made.signature,
    /^<div style="[^"]*"><p style="[^"]*"><strong>Ann<\/strong><\/p>\n<\/div>$/,
  )
  assert.ok(made.body.endsWith(`Hi</p>\n${made.signature}</div>`))
  const alone = markdownHtml({ ...source, body: null })
  assert.deepEqual(alone, { kind: 'html', body: '', signature: made.signature })
})

test('Markdown that is nested too deeply or becomes too much HTML is refused', () => {
  const kind = (body: string) => markdownHtml({ body, signature: null, contentIds: [] }).kind
  assert.equal(kind('> '.repeat(40)), 'html')
  assert.equal(kind('> '.repeat(60)), 'too-deep')
  assert.equal(kind('>'.repeat(100_000)), 'too-deep')
  assert.equal(kind('- a\n'.repeat(10_000)), 'html')
  assert.equal(kind('- a\n'.repeat(20_000)), 'too-large')
})

const PIECES = [
  ...[
    '*',
    '**',
    '_',
    '~~',
    '`',
    '```\n',
    '[',
    ']',
    '(',
    ')',
    '](',
    '![',
    '<',
    '>',
    '"',
    "'",
    '&',
    '\\',
    '|',
    '\n',
    '\n\n',
    '- ',
    '1. ',
    '> ',
    '# ',
    '    ',
    '\t',
    ' ',
  ],
  ...[
    '<script>',
    '</p>',
    '<img src=x onerror=a>',
    '<a href="',
    '<!--',
    '-->',
    '<![CDATA[',
    '<svg/onload=a>',
    '&#60;',
    '&lt;',
    '&#x3c;',
  ],
  ...[
    'javascript:',
    'https://a.example',
    'http://',
    'mailto:',
    'cid:',
    'cid:own',
    'cid:other',
    'data:text/html,',
    'www.a.example',
    'x@a.example',
    '|-|-|',
    '[r]: ',
    '[r]',
    'word',
  ],
]

const OPENINGS = ['[word](', '![word](', '[![word](cid:own)](', '<', '[r]: ', '']
const TARGETS = [
  ...['javascript:', 'java\tscript:', '&#106;avascript:', 'data:text/html,', 'file:///', 'cid:'],
  ...['cid:own', 'https://', 'http:', '//', 'mailto:', 'CID:', 'HTTPS://', '"onload="', '<script>'],
]
const ENDS = ['x)', 'x "title")', 'x>', 'x\n', '"x)', "'x)", '<x>)']
const link = fc
  .tuple(fc.constantFrom(...OPENINGS), fc.constantFrom(...TARGETS), fc.constantFrom(...ENDS))
  .map((parts) => parts.join(''))

test('no tag, script or remote image of any Markdown leaves', () => {
  const markdown = fc
    .array(
      fc.oneof(link, fc.constantFrom(...PIECES), fc.string({ unit: 'grapheme', maxLength: 5 })),
      {
        maxLength: 40,
      },
    )
    .map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(markdown, markdown, (body, signature) => {
      const made = markdownHtml({ body, signature, contentIds: ['own'] })
      if (made.kind !== 'html') return
      assertSafe(made.body, ['own'])
      assertSafe(made.signature, ['own'])
    }),
    { numRuns: 2_000 },
  )
})

test('Markdown that would take quadratic time is refused early, and ordinary Markdown is not', () => {
  const lasting = {
    emphasis: '_a_'.repeat(33_333),
    nested: '***a* '.repeat(16_000),
    stars: `${'*'.repeat(50_000)}a${'*'.repeat(50_000)}`,
    blanks: `a${' '.repeat(99_998)}b`,
    cell: `|a|\n|-|\n|${' '.repeat(99_000)}b|`,
    heading: `# a${' '.repeat(99_000)}b`,
    lazy: `- a\n${'b\n'.repeat(49_000)}`,
  }
  for (const [name, body] of Object.entries(lasting)) {
    const before = process.cpuUsage()
    const { kind } = markdownHtml({ body, signature: null, contentIds: [] })
    const { user } = process.cpuUsage(before)
    assert.equal(kind, 'too-slow', name)
    assert.ok(user < 2_000_000, `${name} took ${user} µs`)
  }
  const deep = { body: `${'- '.repeat(50_000)}a`, signature: null, contentIds: [] }
  assert.equal(markdownHtml(deep).kind, 'too-deep')
  const ordinary = [
    `${'A *long* line with __many__ words of **some** kind. '.repeat(20)}\n\n`.repeat(50),
    `${'- **Name**: a *value* and `code`\n'.repeat(1_000)}`,
    `|a|b|\n|-|-|\n${`| **x** |${' '.repeat(60)}y |\n`.repeat(1_000)}`,
    `1. a\n${'   a line of the same item that is somewhat longer than others\n'.repeat(400)}`,
  ]
  for (const body of ordinary) {
    assert.equal(markdownHtml({ body, signature: null, contentIds: [] }).kind, 'html', body)
  }
})
