import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as imports from './imports.ts'
import * as rules from './rules.ts'
import { type Finding, makeSourceFile } from './source-file.ts'

const at = (path: string, text: string) => makeSourceFile(`packages/server/src/${path}`, text)
const lines = (findings: readonly Finding[]) => findings.map(({ line }) => line)
const paths = (findings: readonly Finding[]) =>
  findings.map(({ path }) => path.replace('packages/server/src/', ''))

test('../ is found in imports and worker URLs, not in paths to other files', () => {
  const text =
    "import { a } from '../base/a.ts'\nnew URL('../b.ts', import.meta.url)\n" +
    "new URL('../../docs/', import.meta.url)\nimport { c } from './c.ts'"
  assert.deepEqual(lines(imports.findParentImports([at('mail/a.ts', text)])), [1, 2])
})

test('an import of a computed name is found', () => {
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
    "import type { Pod } from '@mailroom/contract/shapes/pod.ts'\n" +
      "import { codes } from '@mailroom/contract/vocabulary.ts'\nimport 'undici'\n" +
      "import { b } from './b.ts'",
  )
  assert.deepEqual(lines(imports.findPackageBreaches([contract])), [2, 3])
  assert.deepEqual(lines(imports.findPackageBreaches([sdk])), [2, 3])
})

test('a socket in mail is found', () => {
  const text = "import { connect } from 'node:net'\nimport { TextDecoder } from 'node:util'"
  assert.deepEqual(
    lines(imports.findImpureMail([makeSourceFile('packages/mail/src/a.ts', text)])),
    [1],
  )
  assert.deepEqual(imports.findImpureMail([at('net/a.ts', text)]), [])
})

test('a long file is found, and an exception that is not needed or names no file', () => {
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

test('a default export is found, the word in a comment is not', () => {
  const text = '// export default\nexport default 1\nexport { a as default }'
  assert.deepEqual(lines(rules.findDefaultExports([at('a.ts', text)])), [2, 3])
})

test('a barrel is found, a file that adds something is none', () => {
  const files = [
    at('a.ts', "export { a } from './b.ts'\nexport type { b } from './c.ts'"),
    at('b.ts', "export * from './c.ts'\nexport const x = 1"),
    at('c.ts', "export { a } from './b.ts'\nexport const x = 1"),
    at('d.ts', "import { a } from './b.ts'\na()"),
  ]
  assert.deepEqual(paths(rules.findBarrels(files)), ['a.ts', 'b.ts'])
})

test('a library away from home, or in too many files, is found', () => {
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

test('a banned word is found in code, not at home, in comments, strings or patterns', () => {
  const banned = [{ word: /\bDate\.now\b/, home: /clock\.ts$/, reason: 'ask the clock' }]
  const text =
    "// Date.now\nconst a = 'Date.now'\nconst b = /Date.now/\nconst c = `Date.now \x24{Date.now()}`\n" +
    '/* Date.now\n */ Date.now()'
  assert.deepEqual(lines(rules.findBannedWords([at('a.ts', text)], banned)), [4, 6])
  assert.deepEqual(rules.findBannedWords([at('base/clock.ts', text)], banned), [])
})

test('vague and unruly file names are found', () => {
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

test('what is left for later is found', () => {
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
