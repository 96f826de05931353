// The entry of `npm run check:python`: pyright, strict, over the Python client, the programs in the documentation
// and the reference that use it, and the programs in `tests/typing`, whose mistakes it must find. mypy, if it is
// installed, checks the client and the latter, too.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clientOperationIds, describedOperationIds } from '@mailroom/contract/operations.ts'
import { pythonSample } from '@mailroom/contract/samples.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const CLIENT = join(ROOT, 'packages/sdk-python')
const PYTHON = process.env.PYTHON ?? 'python3'

/** A line that ends with this comment must be refused. */
const MISTAKE = /# mistake$/

type Report = {
  readonly generalDiagnostics: readonly {
    readonly file: string
    readonly severity: string
    readonly message: string
    readonly rule?: string
    readonly range: { readonly start: { readonly line: number } }
  }[]
}

/** What pyright finds in a project: the message of each complaint by `file:line`. */
function check(project: string): Map<string, string> {
  const pyright = fileURLToPath(import.meta.resolve('pyright/index.js'))
  const args = [pyright, '-p', project, '--pythonpath', PYTHON, '--outputjson']
  const options = { encoding: 'utf8', maxBuffer: 2 ** 26 } as const
  const { stdout, error } = spawnSync(process.execPath, args, options)
  if (error) throw error
  const { generalDiagnostics } = JSON.parse(stdout) as Report
  return new Map(
    generalDiagnostics.map(({ file, message, rule = '', range }) => [
      `${basename(file)}:${range.start.line + 1}`,
      `${message} (${rule})`,
    ]),
  )
}

/** What mypy finds in the client and in some programs, in the same form; null if it is not installed. */
function checkWithMypy(programs: readonly string[]): Map<string, string> | null {
  const run = (...args: string[]) =>
    spawnSync(PYTHON, ['-m', 'mypy', ...args], { cwd: CLIENT, encoding: 'utf8' })
  if (run('--version').status !== 0) return null
  const { stdout } = run('--cache-dir', join(folder, 'cache'), 'src/mailroom', ...programs)
  return new Map(
    [...stdout.matchAll(/^(.*?):(\d+): error: (.*)$/gm)].map(
      ([, file = '', line, message = '']) => [`${basename(file)}:${line}`, message],
    ),
  )
}

/** What was found except the mistakes that the programs mark, and the marked mistakes that were not. */
function withoutMistakes(found: Map<string, string>, programs: readonly string[]): string[] {
  const left = new Map(found)
  for (const path of programs) {
    for (const [index, line] of readFileSync(path, 'utf8').split('\n').entries()) {
      const place = `${basename(path)}:${index + 1}`
      if (MISTAKE.test(line) && !left.delete(place)) left.set(place, 'The mistake is not found.')
    }
  }
  return [...left].map(([place, message]) => `${place} ${message}`)
}

/** The programs in the documentation that import the client, by the name of a file. */
function documentedPrograms(): Map<string, string> {
  const programs = new Map<string, string>()
  const pages = ['README.md', 'docs/*.md', 'packages/sdk-python/README.md', 'skills/*/*.md']
  for (const page of globSync(pages, { cwd: ROOT })) {
    const text = readFileSync(join(ROOT, page), 'utf8')
    for (const [, block = ''] of text.matchAll(/^```python\n(.*?)^```$/gms)) {
      if (!/^from mailroom\b/m.test(block)) continue
      // The frameworks are not installed, so the types of their objects are unknown.
      const rules = page.endsWith('/frameworks.md')
        ? '# pyright: basic, reportMissingImports=false'
        : ''
      programs.set(`${page.replaceAll(/\W/g, '_')}_${programs.size}.py`, `${block}${rules}\n`)
    }
  }
  for (const path of globSync('examples/*.py', { cwd: ROOT })) {
    programs.set(basename(path), readFileSync(join(ROOT, path), 'utf8'))
  }
  return programs
}

/** The samples of the reference, one after another. */
function referenceProgram(): string {
  const ids = clientOperationIds.filter((id) => describedOperationIds.includes(id))
  const samples = ids.map((id) => pythonSample(id, 'http://a.example'))
  assert.ok(samples.length > 100)
  return `import os
from pathlib import Path

from mailroom import Mailroom

client = Mailroom()
${samples.join('\n')}
print(os.environ, Path)
`
}

function report(title: string, complaints: readonly string[]): void {
  console.log(`${title}: ${complaints.length === 0 ? 'clean' : `${complaints.length} complaints`}`)
  for (const complaint of complaints) console.log(`  ${complaint}`)
  if (complaints.length > 0) process.exitCode = 1
}

const folder = mkdtempSync(join(tmpdir(), 'mailroom-types-'))
try {
  report('pyright, the client', withoutMistakes(check(CLIENT), []))
  const programs = documentedPrograms()
  assert.ok(programs.size > 6)
  for (const [name, text] of programs) writeFileSync(join(folder, name), text)
  writeFileSync(join(folder, 'reference.py'), referenceProgram())
  cpSync(join(CLIENT, 'tests/typing'), folder, { recursive: true })
  const settings = {
    extraPaths: [join(CLIENT, 'src')],
    pythonVersion: '3.10',
    typeCheckingMode: 'strict',
  }
  writeFileSync(join(folder, 'pyrightconfig.json'), JSON.stringify(settings))
  const typed = globSync('tests/typing/*.py', { cwd: CLIENT }).map((path) => join(CLIENT, path))
  const title = `${programs.size} programs, the reference, tests/typing`
  report(`pyright, ${title}`, withoutMistakes(check(folder), typed))
  const found = checkWithMypy(typed)
  if (found === null) console.log('mypy is not installed.')
  else report('mypy, the client, tests/typing', withoutMistakes(found, typed))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
