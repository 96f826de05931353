// Generates the reference in docs/cli.md: every command with its arguments and options, and the
// exit codes.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command, Help } from 'commander'
import { exitCodes } from '#base/failure.ts'

const page = fileURLToPath(new URL('../../../docs/cli.md', import.meta.url))

/** Prints the reference, or writes it into the page after the marker. */
export function printReference(program: Command, { write = false }: { write?: boolean }): void {
  const reference = renderReference(program)
  if (!write) {
    process.stdout.write(reference)
    return
  }
  const [byHand = ''] = readFileSync(page, 'utf8').split(REFERENCE_MARK)
  writeFileSync(page, byHand + reference)
  process.stdout.write('wrote docs/cli.md\n')
}

/** The page above this marker is written by hand. */
export const REFERENCE_MARK =
  '<!-- Generated from the commands: npm run mailroom -- reference --write -->'

/** Options of every command, which the page describes once, by hand. */
const EVERYWHERE: ReadonlySet<string> = new Set(['help', 'json', 'profile', 'url', 'color'])

export function renderReference(program: Command): string {
  const help = program.createHelp()
  const groups = Map.groupBy(help.visibleCommands(program), (command) => command.helpGroup())
  const sections = [...groups]
    .filter(([heading]) => heading !== undefined && heading !== '')
    .map(([heading = '', commands]) =>
      [
        `## ${heading.replace(/:$/, '')}`,
        ...commands.flatMap((command) => leaves(command, help)),
      ].join('\n\n'),
    )
  return [REFERENCE_MARK, exitCodesTable(), ...sections].join('\n\n').concat('\n')
}

function exitCodesTable(): string {
  const rows = Object.values(exitCodes).map(({ code, meaning }) => `| ${code} | ${meaning} |`)
  return ['## Exit codes', '', '| Code | Meaning |', '| ---- | ------------ |', ...rows].join('\n')
}

/** Executable commands; groups only contain them. */
function leaves(command: Command, help: Help): string[] {
  const below = help.visibleCommands(command).filter((one) => command.commands.includes(one))
  return below.length > 0
    ? below.flatMap((one) => leaves(one, help))
    : [renderCommand(command, help)]
}

function renderCommand(command: Command, help: Help): string {
  const words: string[] = []
  for (let at: Command | null = command; at !== null; at = at.parent) words.unshift(at.name())
  const given = command.registeredArguments.map((argument) => help.argumentTerm(argument))
  const terms = command.registeredArguments.map(({ required, variadic }, at) => {
    const name = `${given[at]}${variadic ? '…' : ''}`
    return required ? `<${name}>` : `[${name}]`
  })
  const options = help
    .visibleOptions(command)
    .filter((option) => !EVERYWHERE.has(option.name()) && option.long !== '--no-color')
    .filter((option) => !option.description.startsWith('The opposite of --'))
  return [
    `### \`${[...words, ...terms].join(' ')}\``,
    oneParagraph(command.description()),
    [
      ...command.registeredArguments.map((argument, at) =>
        item(terms[at] ?? '', help.argumentDescription(argument)),
      ),
      ...options.map((option) => item(help.optionTerm(option), help.optionDescription(option))),
    ].join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function item(term: string, description: string): string {
  return `- \`${term}\`: ${oneParagraph(description)}`
}

function oneParagraph(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').trim()
}
