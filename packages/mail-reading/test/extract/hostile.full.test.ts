import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { extractFrom, readContent } from '#extract/extract.ts'

const PIECES = [
  ...`482913 ４８２９ ٤٨٢٩ KX7-29Q 验证码 認証コード： ( ) <p> </p> <td> <style>.a{display:none}</style>
  &#52;`.split(/\s+/),
  'Your verification code is ',
  'code: ',
  'رمز التحقق ',
  ' is your code',
  'order ',
  '\n',
  '\n\n',
  ' | ',
  '. ',
  '> ',
  'https://a.example/verify?code=482913 ',
  'On Fri, Nov 20, 2026 at 9:14 AM A <a@b.example> wrote:\n',
  '<b style="display:none">',
  '<blockquote type=cite>',
  '<a href="https://b.example/?a=1">',
  '\u200b',
  '\ud83d',
]
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc
    .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 8 })), { maxLength: 60 })
    .map((all) => all.join('')),
)

test('every reported value occurs in the message, within the limits', () => {
  fc.assert(
    fc.property(anyText, anyText, (subject, text) => {
      const { codes, links } = extractFrom({ subject, text, html: '' })
      // Invisible characters, and blanks that look alike.
      const seen = `${subject}\n${text}`
        .replace(/\p{Default_Ignorable_Code_Point}|[\u180e\u2000-\u200f\u2028-\u202e]/gu, '')
        .replace(/[^\S\r\n]/g, ' ')
      assert.ok(codes.length <= 10 && links.length <= 50)
      for (const { value, source, confidence } of codes) {
        assert.ok(seen.includes(value) && source.includes(value), value)
        assert.ok(seen.includes(source) && [...source].length <= 200, source)
        assert.match(value, /[\p{Nd}A-Z]/u)
        assert.ok(confidence >= 0 && confidence <= 1)
        assert.equal(Math.round(confidence * 100) / 100, confidence)
      }
      for (const { url } of links) assert.ok(text.includes(url), url)
    }),
    { numRuns: 2_000 },
  )
})

test('every link reported for any HTML occurs in it, and a second run gives the same', () => {
  fc.assert(
    fc.property(anyText, anyText, (text, html) => {
      const found = extractFrom({ subject: '', text, html })
      assert.deepEqual(extractFrom({ subject: '', text, html }), found)
      for (const { url } of found.links) assert.ok(/^https?:\/\//i.test(url))
      for (const { value, source } of found.codes) assert.ok(source.includes(value))
    }),
    { numRuns: 1_000 },
  )
})

const SIZE = 300_000
const list = (length: number, make: (at: number) => string) =>
  Array.from({ length }, (_, at) => make(100 + at)).join('')
const BOMBS: Readonly<Record<string, { text?: string; html?: string }>> = {
  'elements left open': { html: '<b>'.repeat(SIZE / 6) + '</i>'.repeat(SIZE / 8) },
  'elements within each other': { html: '<div>'.repeat(SIZE / 5) },
  'links left open': { html: '<a href="https://a.example/x">'.repeat(SIZE / 30) },
  attributes: { html: `<p ${'a=b '.repeat(SIZE / 4)}>` },
  rules: { html: `<style>${'.a{display:none}'.repeat(SIZE / 16)}</style>` },
  'rules with :has': {
    html: `<style>${'div:has(div div div .x){opacity:0}'.repeat(500)}</style>${'<div>'.repeat(150)}${'<p>'.repeat(20_000)}`,
  },
  'rules with :has of siblings': {
    html: `<style>${'p:has(~ p ~ p + i){opacity:0}'.repeat(500)}</style>${'<p>'.repeat(20_000)}`,
  },
  'sheets within sheets': {
    html: `<style>${'@import url("data:text/css,'.repeat(2_000)}</style><p>a`,
  },
  'sheets in addresses': {
    html: `<link rel=stylesheet href="data:text/css,.a%7Bcolor:red%7D">`.repeat(2_000),
  },
  gradients: {
    html: list(
      800,
      (at) => `<p style="background:${`linear-gradient(#fff,#${at})`.padEnd(200, ',#ff0')}">a`,
    ),
  },
  transformations: {
    html: list(800, (at) => `<p style="transform:${`rotate3d(1,1,0,${at}deg) `.repeat(9)}">a`),
  },
  'mixed colours': {
    html: list(
      800,
      (at) => `<p style="color:${'color-mix(in srgb,'.repeat(9)}red${`,#${at})`.repeat(9)}">a`,
    ),
  },
  'closed details': { html: '<details>'.repeat(SIZE / 10) },
  braces: { html: `<style>${'{'.repeat(SIZE)}` },
  comments: { html: '<!--'.repeat(SIZE / 4) },
  cells: { html: `<table><tr>${'<td>1</td>'.repeat(SIZE / 10)}` },
  'codes in lines': { text: 'your code is 4829\n'.repeat(SIZE / 18) },
  'codes in one line': { text: 'your code is 4829 '.repeat(SIZE / 18) },
  parentheses: { text: `${'('.repeat(900)}code) 4829\n`.repeat(300) },
  'digits apart': { text: '1 '.repeat(SIZE / 2) },
  'one long word': { text: 'a'.repeat(SIZE) },
  'at signs': { text: '@'.repeat(SIZE) },
  schemes: { text: 'https://'.repeat(SIZE / 8) },
  brackets: { text: `https://a.example/${')'.repeat(SIZE)}` },
  quotes: { text: '> 4829 code\n'.repeat(SIZE / 12) },
  'marks that nobody sees': { text: `4829${'\u200b'.repeat(SIZE)}` },
  labels: { text: '验证码番号認証'.repeat(SIZE / 7) },
}
/** Hangs are caught here; each case takes a tenth of a second at most. */
const HANGING_MS = 20_000

for (const [name, { text = '', html = '' }] of Object.entries(BOMBS)) {
  test(`many ${name} are read to the end`, { timeout: HANGING_MS }, () => {
    const start = process.cpuUsage()
    readContent({ subject: '', text, html })
    const { user } = process.cpuUsage(start)
    assert.ok(user < HANGING_MS * 1000)
  })
}

test('rules that take too many comparisons are told', () => {
  const { html = '' } = BOMBS['rules with :has'] ?? {}
  const { hidden } = readContent({ subject: '', text: '', html })
  assert.equal(hidden.at(-1)?.kind, 'unread-styles')
})
