import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scanMarkup } from '@mailroom/mail/html/scan-markup.ts'
import fc from 'fast-check'
import { fromHtml } from 'hast-util-from-html'

function read(html: string): string[] {
  const found: string[] = []
  scanMarkup(
    html,
    {
      open: (name, attributes, count) =>
        found.push(`<${name} ${JSON.stringify(attributes)} ${count}`),
      close: (name) => found.push(`/${name}`),
      text: (source) => found.push(source),
    },
    new Set(['a', 'href']),
  )
  return found
}

const CASES: Readonly<Record<string, readonly string[]>> = {
  'a<B A=1 b c="2">d</b >e': ['a', '<b {"a":"1"} 3', 'd', '/b', 'e'],
  '<a href="x>y" A=\'1\' a=2>': ['<a {"href":"x>y","a":"1"} 3'],
  '1 < 2 <3 <>': ['1 < 2 <3 <>'],
  'a<!-- <b> -->c<!-->d<!--x--!>e': ['a', 'c', 'd', 'e'],
  '<!doctype html><?xml?></ x>a': ['a'],
  '<style><b></b></style a>x': ['<style {} 0', '<b></b>', '/style', 'x'],
  '<script></scripta></SCRIPT>x': ['<script {} 0', '</scripta>', '/script', 'x'],
  '<title>a': ['<title {} 0'],
  'a<b c="': ['a'],
  'a<!-- b': ['a'],
  '<br/><a/b>': ['<br {} 0', '<a {} 1'],
}
for (const [html, expected] of Object.entries(CASES)) {
  test(`${html} is read`, () => assert.deepEqual(read(html), expected))
}

test('of inline elements and texts a parser finds the same', () => {
  const piece = fc.constantFrom(
    '<b>',
    '</b>',
    '<i a="1">',
    '</i>',
    '<!-- x',
    '-->',
    '<',
    '>',
    '"',
    "'",
    ' ',
    '=',
    'x',
    '/',
    '<u ',
    '&amp;',
    '<s a=',
    '!',
    '?',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const html = pieces.join('')
      const names: string[] = []
      scanMarkup(html, { open: (name) => names.push(name), close: () => {} })
      const tree = JSON.stringify(fromHtml(html, { fragment: true }))
      for (const name of ['b', 'i', 'u', 's']) {
        const isInTree = tree.includes(`"tagName":"${name}"`)
        assert.equal(names.includes(name), isInTree, html)
      }
    }),
    { numRuns: 2_000 },
  )
})
