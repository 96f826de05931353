import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { textFromHtml } from '#html/text.ts'
import { HTML_LENGTH_MAX, HTML_TAGS_MAX } from '#html/tree.ts'

test('paragraphs, breaks, lists and quotes keep their lines', () => {
  const html = `<html><body><h1>Minutes</h1><p>First<br>second</p><ul><li>one<li>two</ul>
    <blockquote>said<blockquote>before</blockquote></blockquote></body></html>`
  const text = 'Minutes\n\nFirst\nsecond\n\n- one\n- two\n\n> said\n>\n> > before'
  assert.equal(textFromHtml(html), text)
})

test('a link shows its address only when its text differs', () => {
  const same =
    '<a href="https://a.example/">a.example</a> <a href="mailto:bo@a.example">bo@a.example</a>'
  assert.equal(textFromHtml(same), 'a.example bo@a.example')
  const other =
    '<a href="https://a.example/x?y=1">the page</a> <a href="mailto:bo@a.example?x=1">Bo</a>'
  assert.equal(textFromHtml(other), 'the page <https://a.example/x?y=1> Bo <bo@a.example>')
})

test('URLs that lead nowhere outside the mail are not shown', () => {
  for (const href of ['#top', 'cid:1', 'javascript:alert(1)', 'data:text/html,x', '/path', 'a b']) {
    assert.equal(textFromHtml(`<a href="${href}">text</a>`), 'text')
  }
})

test('an image is shown as its alternative text, never as its URL', () => {
  const html = '<p>Dear<img src="https://a.example/t.gif"> <img src="cid:1" alt="Logo"></p>'
  assert.equal(textFromHtml(html), 'Dear Logo')
})

test('invisible text is left out', () => {
  const html = `<head><title>t</title><style>p{color:red}</style></head><!-- c -->
    <script>alert(1)</script><p>&zwnj;&nbsp;&#847;</p><p>seen</p>`
  assert.equal(textFromHtml(html), 'seen')
})

test('cells of text share a line, cells of layout do not', () => {
  const data = '<table><tr><th>Item<th>Price<tr><td>Pen<td>2.00</table>'
  assert.equal(textFromHtml(data), 'Item | Price\nPen | 2.00')
  const layout = '<table><tr><td><p>left</p><td><div>right</div></table>'
  assert.equal(textFromHtml(layout), 'left\n\nright')
})

test('long lines are not wrapped', () => {
  const line = 'word '.repeat(500).trim()
  assert.equal(textFromHtml(`<p>${line}</p>`), line)
})

test('text below the deepest level of layout is kept', () => {
  assert.equal(textFromHtml(`${'<font>'.repeat(5_000)}still <b>here</b>`), 'still here')
})

test('markup beyond the limit of tags keeps its text', () => {
  const html = `<style>x</style>${'<p>a &amp; b &#8364;'.repeat(HTML_TAGS_MAX)}<!-- c --><script>y`
  const text = textFromHtml(html.slice(0, HTML_LENGTH_MAX))
  assert.equal(text.slice(0, 18), 'a & b €\na & b €\na ')
  assert.ok(!text.includes('<'))
})

test('any text is accepted', () => {
  const pieces = fc.constantFrom(
    ...['<p>', '</p>', '<table>', '<td>', '<a href="', '">', '<!--', '-->', '<script>', '</', '&#'],
    ...['&#0;', '&#xffffff;', '<ul>', '<li>', '<blockquote>', '<pre>', '<![CDATA[', '<?x', '\0'],
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 30 }), (parts) => {
      assert.equal(typeof textFromHtml(parts.join('')), 'string')
    }),
    { numRuns: 500 },
  )
})

test('a blockquote that only indents is no quote', () => {
  const styles = [
    'margin:0 0 0 40px;border:none;padding:0px',
    'margin: 0px 0px 0px 40px; border: medium none; padding: 0px;',
  ]
  for (const style of styles) {
    const html = `<p>Bring:</p><blockquote style="${style}"><div>two boxes</div></blockquote>`
    assert.equal(textFromHtml(html), 'Bring:\n\ntwo boxes')
    assert.match(textFromHtml(html.replace('<blockquote', '<blockquote type="cite"')), /> two/)
  }
  assert.match(textFromHtml('<blockquote style="padding:0">two</blockquote>'), /> two/)
})
