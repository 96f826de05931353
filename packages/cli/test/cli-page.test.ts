import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Command } from 'commander'
import { describeProgram } from '#command-line.ts'
import { REFERENCE_MARK, renderReference } from '#reference.ts'

const page = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8')
const program = describeProgram()

test('the reference is current', () => {
  const at = page.indexOf(REFERENCE_MARK)
  assert.notEqual(at, -1, 'docs/cli.md has no mark')
  const told = 'docs/cli.md is not current: npm run mailroom -- reference --write'
  assert.equal(page.slice(at), renderReference(program), told)
})

test('every example names an existing command and existing options', () => {
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text = '']) => text)
  const examples = blocks.join('').matchAll(/(?:^|[|(] ?)(?:npx )?mailroom ([^|)\n#]*)/gm)
  let count = 0
  for (const [, line = ''] of examples) {
    checkExample(line.trim())
    count += 1
  }
  assert.ok(count > 10)
})

function checkExample(line: string): void {
  const words = line.split(/\s+/)
  let command: Command = program
  while (words.length > 0) {
    const below = command.commands.find((one) => one.name() === words[0])
    if (below === undefined) break
    command = below
    words.shift()
  }
  assert.notEqual(command, program, `there is no command "mailroom ${line}"`)
  const flags = words.filter((word) => /^-{1,2}[a-z]/.test(word)).map((word) => word.split('=')[0])
  for (const flag of flags) {
    const isKnown = command.options.some(({ long, short }) => long === flag || short === flag)
    assert.ok(isKnown, `mailroom ${line}: there is no ${flag}`)
  }
}
