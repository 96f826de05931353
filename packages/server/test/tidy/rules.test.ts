import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findFloorBreaches } from './floors.ts'
import * as imports from './imports.ts'
import { anchorsOf, findDeadLinks } from './links.ts'
import { maskSource } from './mask-source.ts'
import * as rules from './rules.ts'
import { type Finding, makeSourceFile } from './source-file.ts'

const at = (path: string, text: string) => makeSourceFile(`packages/server/src/${path}`, text)
const lines = (findings: readonly Finding[]) => findings.map(({ line }) => line)
const paths = (findings: readonly Finding[]) =>
  findings.map(({ path }) => path.replace('packages/server/src/', ''))

test('../ is found in imports and worker URLs, and not in paths to other files', () => {
  const text =
    "import { a } from '../base/a.ts'\nnew URL('../b.ts', import.meta.url)\n" +
    "new URL('../../docs/', import.meta.url)\nimport { c } from './c.ts'"
  assert.deepEqual(lines(imports.findParentImports([at('mail/a.ts', text)])), [1, 2])
})

test('an import with a computed name is found', () => {
  const text = `await import(name)\nawait import(\`./\${name}.ts\`)\nawait import('pino')`
  assert.deepEqual(lines(imports.findComputedImports([at('base/a.ts', text)])), [1, 2])
})

test('the contract imports nothing of ours, the SDK only types of the contract', () => {
  const contract = makeSourceFile(
    'packages/contract/src/a.ts',
    "import { Type } from 'typebox'\nimport { x } from '@mailroom/sdk/x.ts'\nimport 'node:fs'\n" +
      "import { b } from './b.ts'\nimport { c } from '#c.ts'",
  )
  const sdk = makeSourceFile(
    'packages/sdk/src/client.ts',
    "import type { Pod } from '@mailroom/contract/pods.ts'\n" +
      "import { codes } from '@mailroom/contract/vocabulary.ts'\nimport 'undici'\n" +
      "import { b } from './b.ts'",
  )
  assert.deepEqual(lines(imports.findPackageBreaches([contract])), [2, 3])
  assert.deepEqual(lines(imports.findPackageBreaches([sdk])), [2, 3])
})

test('a folder imports neither a higher floor nor what is no front', () => {
  const text =
    "import { a } from '#api/api.ts'\nimport { b } from '#inboxes/inner.ts'\n" +
    "import { c } from '#inboxes/inboxes.ts'\nimport { d } from '#platform/ids.ts'\nimport './e.ts'"
  assert.deepEqual(lines(findFloorBreaches([at('mailbox/a.ts', text)])), [1, 2])
  assert.deepEqual(lines(findFloorBreaches([at('unknown/a.ts', "import 'pg'")])), [1])
})

test('a front of which others use too many names is found', () => {
  const names = Array.from({ length: 16 }, (_, index) => `a${index},`).join(' ')
  const using = (path: string) => at(path, `import { ${names} } from '#a/a.ts'\n`)
  const isFront = (path: string) => path.endsWith('a/a.ts')
  assert.deepEqual(rules.findWideFronts([using('a/b.ts')], isFront), [])
  assert.equal(rules.findWideFronts([using('b/b.ts')], isFront).length, 1)
})

test('names that differ by one letter are found, and a suffix', () => {
  const names = ['a/pods.ts', 'a/pod.ts', 'b/pods.ts', 'a/pole.ts', 'a/pole-rows.ts', 'a/mole.ts']
  assert.deepEqual(paths(rules.findUnclearNames(names)), [
    'a/pods.ts',
    'a/pole.ts',
    'a/pole-rows.ts',
    'a/mole.ts',
  ])
})

test('a socket in mail is found', () => {
  const text = "import { connect } from 'node:net'\nimport { TextDecoder } from 'node:util'"
  assert.deepEqual(
    lines(imports.findImpureMail([makeSourceFile('packages/mail/src/a.ts', text)])),
    [1],
  )
  assert.deepEqual(imports.findImpureMail([at('net/a.ts', text)]), [])
})

test('a long file is found, and an exception that is unnecessary or names no file', () => {
  const long = at('base/long.ts', 'x\n'.repeat(701))
  const short = at('base/short.ts', 'x\n'.repeat(700))
  assert.deepEqual(paths(rules.findLongFiles([long, short], {})), ['base/long.ts'])
  const excused = { [long.path]: 'a', [short.path]: 'b', gone: 'c' }
  assert.deepEqual(paths(rules.findLongFiles([long, short], excused)), ['base/short.ts', 'gone'])
})

test('a long function is found, and the short ones around it are not', () => {
  const body = (count: number) => '  x()\n'.repeat(count)
  const text = `function a(): void {}\nfunction b() {\n${body(68)}}\nexport async function c(\n  x: { y: 1 },\n): T {\n${body(67)}}\n`
  const file = at('base/a.ts', text)
  assert.deepEqual(lines(rules.findLongFunctions([file], {})), [72])
  assert.deepEqual(rules.findLongFunctions([file], { [`${file.path} c`]: 'reason' }), [])
})

test('a default export is found, and the word in a comment is not', () => {
  const text = '// export default\nexport default 1\nexport { a as default }'
  assert.deepEqual(lines(rules.findDefaultExports([at('a.ts', text)])), [2, 3])
})

test('a barrel is found, and a file that adds something is not', () => {
  const files = [
    at('a.ts', "export { a } from './b.ts'\nexport type { b } from './c.ts'"),
    at('b.ts', "export * from './c.ts'\nexport const x = 1"),
    at('c.ts', "export { a } from './b.ts'\nexport const x = 1"),
    at('d.ts', "import { a } from './b.ts'\na()"),
  ]
  assert.deepEqual(paths(rules.findBarrels(files)), ['a.ts', 'b.ts'])
})

test('a library in the wrong file, or in too many files, is found', () => {
  const kept = [{ library: 'pg', home: /\/db\//, files: 1 }]
  const text = "import pg from 'pg'\nimport { x } from 'pg-pool'"
  const found = rules.findStrayLibraries([at('db/a.ts', text), at('store/b.ts', text)], kept)
  assert.deepEqual(paths(found), ['store/b.ts'])
  const both = rules.findStrayLibraries([at('db/a.ts', text), at('db/b.ts', text)], kept)
  assert.deepEqual(paths(both), ['db/b.ts'])
  assert.deepEqual(
    paths(rules.findStrayLibraries([at('http/c.ts', "await import('pg/native')")], kept)),
    ['http/c.ts'],
  )
})

test('a banned word is found in code, but not in its own file, comments, strings or patterns', () => {
  const banned = [{ word: /\bDate\.now\b/, home: /clock\.ts$/, reason: 'ask the clock' }]
  const text =
    "// Date.now\nconst a = 'Date.now'\nconst b = /Date.now/\nconst c = `Date.now \x24{Date.now()}`\n" +
    '/* Date.now\n */ Date.now()'
  assert.deepEqual(lines(rules.findBannedWords([at('a.ts', text)], banned)), [4, 6])
  assert.deepEqual(rules.findBannedWords([at('base/clock.ts', text)], banned), [])
})

test('vague and malformed file names are found', () => {
  const names = [
    'a/utils.ts',
    'a/mail-helpers.ts',
    'common/a.ts',
    'a/BadName.ts',
    'a/good-name.test.ts',
  ]
  assert.deepEqual(
    rules.findBadNames(names).map(({ path }) => path),
    names.slice(0, 4),
  )
})

test('notes of unfinished work are found', () => {
  const text = '// TODO: x\nconst todo = 1\n/* FIXME */'
  assert.deepEqual(lines(rules.findLeftovers([at('a.ts', text)])), [1, 3])
})

test('escapes from the types and silenced checks are found', () => {
  const text = [
    'const a = b as any',
    'function c(d: any) {}',
    '// @ts-ignore',
    '// biome-ignore lint: x',
    'const e = f as unknown as G',
    "const g = 'as any'",
    'const company: Company = as',
  ]
  const found = rules.findTypeEscapes([at('a.ts', text.join('\n'))])
  assert.deepEqual(lines(found).sort(), [1, 2, 3, 4, 5])
})

test('paths and registries of one machine are found', () => {
  const texts = [
    'run /home/ann/mailroom',
    '"resolved": "https://mirror.example/x.tgz"',
    'registry=http://10.0.0.1:4873/',
    '"resolved": "https://registry.npmjs.org/x.tgz"',
    'https://example.com/home/page and /v1/root and a/work/b',
  ]
  const found = rules.findMachineTraces([{ path: 'a', text: texts.join('\n') }])
  assert.deepEqual(lines(found), [1, 2, 3])
})

test('headings have the anchors that GitHub gives them', () => {
  const page =
    '# A page\n## `npm ci`, and *why*?\n## A page\n```sh\n# no heading\n```\n### Port 25 – out\n'
  assert.deepEqual([...anchorsOf(page)], ['a-page', 'npm-ci-and-why', 'a-page-1', 'port-25--out'])
})

test('a broken link to a file or a heading is reported', () => {
  const files: Record<string, string> = {
    'docs/a.md':
      '# A\n[b](b.md) [there](b.md#there) [here](#a) [up](../README.md) ![c](c.png) [x](https://x.example/y#z)\n' +
      '[gone](gone.md) [no](b.md#no) [nor](#nor) `[code](code.md)`\n[ref]: gone-too.md\n<img src="d.png">\n',
    'docs/b.md': '# B\n## There\n',
    'docs/c.png': '',
    'README.md': '',
  }
  assert.deepEqual(
    findDeadLinks(['docs/a.md'], (path) => files[path] ?? null),
    [
      'docs/a.md: gone.md leads to no file',
      'docs/a.md: b.md#no leads to no heading',
      'docs/a.md: #nor leads to no heading',
      'docs/a.md: gone-too.md leads to no file',
      'docs/a.md: d.png leads to no file',
    ],
  )
})

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

test('every form of import is found, with its line and whether it is erased at run time', () => {
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
