// Checks the rules of ARCHITECTURE.md: sizes, words, names.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'
import * as exceptions from '#test/tidy/exceptions.ts'
import { FRONT_FILE, findFloorBreaches, isFeatureFront } from '#test/tidy/floors.ts'
import * as imports from '#test/tidy/imports.ts'
import { findDeadLinks } from '#test/tidy/links.ts'
import * as rules from '#test/tidy/rules.ts'
import { type Finding, formatFindings, readSourceFile } from '#test/tidy/source-file.ts'

const root = new URL('../../../', import.meta.url).pathname
const paths = listFiles()
const sources = paths
  .filter((path) => /^(packages|bench)\/.*\.ts$/.test(path))
  .map((path) => readSourceFile(root, path))
const src = sources.filter(({ path }) => /^packages\/[\w-]+\/src\//.test(path))
const server = src.filter(({ path }) => path.startsWith('packages/server/'))
/** These files contain the words that they search for. */
const isTidyItself = (path: string) => /^packages\/server\/test\/tidy[./]/.test(path)
const others = sources.filter(({ path }) => !isTidyItself(path))

check('no import climbs with ../', () => imports.findParentImports(others))
check('no import of the sources is computed', () =>
  imports.findComputedImports(src.filter(({ path }) => !(path in exceptions.COMPUTED_IMPORTS))),
)
check('a package imports only what it may: sdk only types of the contract', () =>
  imports.findPackageBreaches(src),
)
check('a folder of the server imports fronts of its own floor and of those below', () =>
  findFloorBreaches(server),
)
check(`other folders use at most ${rules.FRONT_NAMES_MAX} names of a front`, () =>
  rules.findWideFronts(server, isFeatureFront),
)
check('mail knows no socket, disk or process', () => imports.findImpureMail(src))
check('a source file has at most 700 lines', () => rules.findLongFiles(src, exceptions.LONG_FILES))
check('a function has at most 70 lines', () =>
  rules.findLongFunctions(src, exceptions.LONG_FUNCTIONS),
)
check('nothing is exported as default', () => rules.findDefaultExports(others))
check('there are no barrels but the front files', () =>
  rules.findBarrels(src.filter(({ path }) => !FRONT_FILE.test(path))),
)
check('libraries are imported at home only', () =>
  rules.findStrayLibraries(src, exceptions.KEPT_LIBRARIES),
)
check('time, chance, output, environment and exit are used at home only', () =>
  rules.findBannedWords(server, exceptions.BANNED_WORDS),
)
check('file names say what a file is', () => rules.findBadNames(sources.map(({ path }) => path)))
check('a file is found by its folder and its noun', () =>
  rules.findUnclearNames(server.map(({ path }) => path)),
)
check('nothing is left to be done later', () => rules.findLeftovers(others))
check('nothing escapes the types or silences a check', () => rules.findTypeEscapes(others))
check('no file tells of the machine it was written on', () =>
  rules.findMachineTraces(
    paths
      .filter((path) => /\.(ts|js|json|md|sql|ya?ml|sh|npmrc)$|\/run$/.test(path))
      .filter((path) => !isTidyItself(path))
      .map((path) => ({ path, text: readFileSync(root + path, 'utf8') })),
  ),
)

test('every relative link of the documentation leads to a file and a heading', () => {
  const pages = paths.filter((path) => path.endsWith('.md') && !path.startsWith('.'))
  assert.ok(pages.includes('README.md') && pages.includes('skills/mailroom/SKILL.md'))
  const dead = findDeadLinks(pages, (path) => {
    const isFile = statSync(root + path, { throwIfNoEntry: false })?.isFile()
    if (isFile === undefined) return null
    return isFile && path.endsWith('.md') ? readFileSync(root + path, 'utf8') : ''
  })
  assert.deepEqual(dead, [])
})

test('the SDK has no run-time dependency', () => {
  const sdk = JSON.parse(readFileSync(`${root}packages/sdk/package.json`, 'utf8'))
  assert.deepEqual(Object.keys(sdk.dependencies ?? {}), [])
})

test('the rules have files to check', () => {
  assert.ok(server.length > 10)
  assert.ok(server.some((file) => file.edges.length > 0))
})

function check(name: string, find: () => Finding[]): void {
  test(name, () => {
    const findings = find()
    if (findings.length > 0) assert.fail(formatFindings(findings))
  })
}

/** Tracked files and new ones; without git all files except generated and installed ones. */
function listFiles(): string[] {
  try {
    const options = { cwd: root, encoding: 'utf8', stdio: 'pipe' } as const
    const output = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], options)
    const gone = execFileSync('git', ['ls-files', '-d'], options).split('\n')
    return output.split('\n').filter((path) => path !== '' && !gone.includes(path))
  } catch {
    const exclude = ['**/node_modules/**', 'data/**', '**/dist/**']
    return globSync('**/*.*', { cwd: root, exclude }).map((path) => path.replaceAll('\\', '/'))
  }
}
