import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maskSource } from './mask-source.ts'
import { makeSourceFile } from './source-file.ts'

const codeOf = (text: string) => maskSource(text).code.replace(/ +/g, ' ').trim()

const cases: [what: string, text: string, code: string][] = [
  ['a quote in a comment', "a // don't\nb", 'a \nb'],
  ['a comment in a string', 'a(\'// x\', "/* y") // z', 'a(\' \', " ")'],
  ['an escaped quote', String.raw`a('x\'y') + b`, "a(' ') + b"],
  ['a quote in a regular expression', 'a = /[\'"/]/g; b', 'a = / /g; b'],
  ['a division', 'a = b / c / d', 'a = b / c / d'],
  ['code in a template', 'a(`x \x24{b(`y \x24{c} z`)} "w`) + d', 'a(` \x24{b(` \x24{c} `)} `) + d'],
  ['braces in a template', 'a(`\x24{ { b: { c } } }d`) }', 'a(`\x24{ { b: { c } } } `) }'],
]

for (const [what, text, code] of cases) {
  test(`the mask understands ${what}`, () => assert.equal(codeOf(text), code))
}

test('a masked text has the length and lines of the text, and comments keep their place', () => {
  const text = "a /* x\ny */ b 'c' // d\ne"
  const { code, comments } = maskSource(text)
  assert.equal(code.length, text.length)
  assert.equal(comments.length, text.length)
  assert.equal(comments.indexOf('// d'), text.indexOf('// d'))
  assert.equal(code.split('\n').length, 3)
})

test('every way to name a module is seen, with its line and whether it is gone at run time', () => {
  const text = [
    "import a, { b } from './1.ts'",
    "import type { c } from './2.ts'",
    'import {',
    '  type d,',
    "} from './3.ts'",
    "import * as e from './4.ts'",
    "import './5.ts'",
    "export { f } from './6.ts'",
    "export type * from './7.ts'",
    "const g = await import('./8.ts')",
    "new Worker(new URL('./9.ts', import.meta.url))",
    "// import h from './no.ts'",
    'const i = "import j from \'./no.ts\'"',
    "export const k = new URL('./no.ts', base)",
  ]
  const { edges } = makeSourceFile('a.ts', text.join('\n'))
  assert.deepEqual(
    edges.map(({ specifier, isType, line }) => [specifier, isType, line]),
    [
      ['./1.ts', false, 1],
      ['./2.ts', true, 2],
      ['./3.ts', false, 3],
      ['./4.ts', false, 6],
      ['./5.ts', false, 7],
      ['./6.ts', false, 8],
      ['./7.ts', true, 9],
      ['./8.ts', false, 10],
      ['./9.ts', false, 11],
    ],
  )
})
