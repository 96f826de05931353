import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openParserPool } from '#parser/parser.ts'

const HANG_MS_MAX = 20_000
const MEGABYTES_25 = 25_000_000
const hidden = (index: number) => `.c${index}{display:none}`

const HOSTILE: Record<string, () => string> = {
  '100,000 elements within each other': () => '<div>'.repeat(100_000),
  '100,000 elements within each other, with text': () => '<div>x'.repeat(100_000),
  'formatting that is never closed': () => '<b><i><font color=red><p>x'.repeat(20_000),
  'anchors within paragraphs that are never closed': () => '<a href=x><p>'.repeat(20_000),
  '25 MB of text': () => `<p>${'x '.repeat(MEGABYTES_25 / 2)}</p>`,
  'a tag without an end': () => `<a ${'x '.repeat(1_000_000)}`,
  'a million attributes': () =>
    `<p ${Array.from({ length: 200_000 }, (_, i) => `a${i}=1`).join(' ')}>x`,
  'a million attributes on many elements': () => '<p a=1 b=2 c=3 d=4 e=5>x</p>'.repeat(35_000),
  'a table of a million cells': () => `<table>${'<tr><td>x<td>y'.repeat(60_000)}</table>`,
  'a table of as many cells as there may be': () =>
    `<table>${'<tr><td>x</td><td>y</td></tr>'.repeat(4_900)}</table>`,
  'tables within each other': () => '<table><tr><td>'.repeat(150),
  'a huge style sheet': () =>
    `<style>${Array.from({ length: 50_000 }, (_, i) => hidden(i)).join('')}</style>${'<p class=c1>x</p>'.repeat(5_000)}`,
  'rules for all elements': () =>
    `<style>${'* * * *{color:red} '.repeat(5_000)}</style>${'<p><b>x</b></p>'.repeat(5_000)}`,
  'selectors that have to be searched for': () =>
    `<style>${'p:nth-child(2n+1) ~ p:not(.a){color:red} '.repeat(500)}</style>${'<p>x</p>'.repeat(5_000)}`,
  'style sheets within each other': () => `<style>${'@media screen{'.repeat(20_000)}</style>x`,
  'brackets in a style sheet': () => `<style>p{color:${'('.repeat(50_000)}}</style><p>x</p>`,
  'a comment without an end': () => `<p>x</p>${'<!--'.repeat(200_000)}`,
  'scripts without an end': () => '<script>'.repeat(100_000),
  'quotes within each other': () => '<blockquote type=cite>x'.repeat(150),
  'lists within each other': () => '<ul><li>x'.repeat(190),
  'emphasis next to emphasis': () => '<b>x</b><i>y</i>'.repeat(7_000),
  'stars and underscores': () => `<p>${'*_'.repeat(200_000)}</p>`,
  'long addresses': () => `<p>${`https://a.example/${'x'.repeat(500)} `.repeat(1_000)}</p>`,
  'data: in data:': () => `<p>${'data:a/b;base64,'.repeat(50_000)}</p>`,
  'a line of references to characters': () => '&#8203;&zwj;&shy;'.repeat(50_000),
}

describe('hostile HTML', () => {
  const pool = openParserPool()
  after(() => pool.close())

  for (const [name, make] of Object.entries(HOSTILE)) {
    test(`${name}: there is a view`, { timeout: HANG_MS_MAX }, async () => {
      const html = make()
      const view = await pool.makeView({ html, text: 'THE TEXT', hasFullLinks: false })
      assert.ok(view.text.length <= 2 * html.length + 100)
      if (view.source === 'unread-html') assert.equal(view.text, 'THE TEXT')
    })
  }

  test('that defeats its thread is shown by its text, and the next mail is parsed', async () => {
    const impatient = openParserPool({ timeoutMs: 1 })
    const html = '<p>x <b>y</b></p>'.repeat(5_000)
    const view = await impatient.makeView({ html, text: 'THE TEXT', hasFullLinks: false })
    assert.deepEqual([view.text, view.source], ['THE TEXT', 'unread-html'])
    const long = 'A line.\n'.repeat(4_000)
    const cut = await impatient.makeView({ html, text: long, hasFullLinks: false })
    assert.ok(cut.text.startsWith('A line.\n'))
    await impatient.close()
    const next = await pool.makeView({ html: '<p>fine</p>', text: '', hasFullLinks: false })
    assert.equal(next.text, 'fine')
  })

  test('a short mail without HTML needs no thread', async () => {
    const lazy = openParserPool({ workersMax: 0 })
    const view = await lazy.makeView({ html: '', text: 'Hello', hasFullLinks: false })
    assert.equal(view.text, 'Hello')
    await lazy.close()
  })
})
