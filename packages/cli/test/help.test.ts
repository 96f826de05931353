import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Command, CommanderError } from 'commander'
import { describeProgram } from '#command-line.ts'
import { pathOf } from '#commands/own-help.ts'
import { examplesOf } from '#texts/examples.ts'

function leavesOf(command: Command): Command[] {
  if (command.commands.length === 0) return [command]
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((below) => command.commands.includes(below))
    .flatMap(leavesOf)
}

const leaves = leavesOf(describeProgram())
const named = leaves.map((leaf) => [pathOf(leaf), leaf] as const)

/** Words of the API that a reader of the help need not know. */
const OF_THE_API = /\b(?!clientId)[a-z]+[A-Z]\w*|multipart|\bnull\b|\bRFC \d|\bfree plan\b/

suite('the help of a command', () => {
  test('begins with at most two lines, and one to three examples', () => {
    for (const [path, leaf] of named) {
      const [about = '', examples = '', usage = ''] = leaf.helpInformation().split('\n\n')
      assert.ok(about.split('\n').length <= 2, `${path}: ${about}`)
      assert.match(examples, /^Examples:(\n {2}.+){1,3}/, path)
      assert.match(usage, new RegExp(`^Usage: mailroom ${path}`), path)
    }
  })

  test('does not use the words of the API', () => {
    for (const [path, leaf] of named) {
      const texts = [
        ...leaf.registeredArguments.map((argument) => argument.description),
        ...leaf.options.filter(({ hidden }) => !hidden).map((option) => option.description),
        leaf.description(),
      ]
      for (const text of texts) assert.doesNotMatch(text, OF_THE_API, path)
    }
  })
})

test('every example is a command with existing options and all that it needs', async () => {
  for (const [path] of named) {
    for (const line of examplesOf(path)) {
      const parsed = await parse(wordsOf(line))
      assert.equal(parsed, path, line)
    }
  }
})

/** The words of the program's call in a line of a shell. */
function wordsOf(line: string): string[] {
  const [, call = ''] =
    /mailroom (.*?)\)?(?: (?:\||>>?|<) .*)?$/.exec(line.replaceAll(/\\\n */g, '')) ?? []
  return [...call.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double),
  )
}

/** Parses a call without running its command. Returns the command's path. */
async function parse(words: readonly string[]): Promise<string> {
  const program = describeProgram()
  let found = ''
  for (const leaf of leavesOf(program)) {
    leaf.action(() => {
      found = pathOf(leaf)
    })
  }
  try {
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.message
  }
  return found
}
