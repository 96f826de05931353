// The whole command line: the commands of mail, of the account and of the machine in one program, and
// how each of them ends. Every command loads what it needs when it is called.

import { readFileSync } from 'node:fs'
import { addOperatorCommands } from '@mailroom/server/commands/command-line.ts'
import { editDistance, findNearest } from '@mailroom/server/config/find-nearest.ts'
import { Command, CommanderError } from 'commander'
import { exitCodes } from '#base/exit-codes.ts'
import { Failure } from '#base/failure.ts'
import { endWithReader } from '#base/output.ts'
import { plainLine } from '#base/plain-text.ts'
import { addAccountCommands, addReference } from '#commands/account.ts'
import {
  addServiceOptions,
  jsonOption,
  noColorOption,
  serviceOptions,
} from '#commands/add-operation-command.ts'
import { addMailCommands } from '#commands/mail.ts'
import type { FoundService } from '#session/find-service.ts'

/** Reads `argv` and runs the command; sets the exit code. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  endWithReader()
  const program = describeProgram()
  let ran: Command | null = null
  program.hook('preAction', (_program, command) => {
    ran = command
    handDown(command)
    if (isOfTheMachine(command)) return
    // Whoever serves has a way of its own to end.
    process.once('SIGINT', () => {
      if (process.stderr.isTTY) process.stderr.write('\n')
      process.exit(exitCodes.interrupted.code)
    })
  })
  try {
    await program.parseAsync(argv)
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? exitCodes.ok.code : exitCodes.usage.code
      return
    }
    const { describeError } = await import('#session/describe-error.ts')
    const { text, exitCode } = describeError(error, await spokenBy(ran))
    process.stderr.write(text)
    process.exitCode = exitCode
  }
}

async function spokenBy(command: Command | null): Promise<FoundService | null> {
  if (command === null || isOfTheMachine(command)) return null
  const { findService } = await import('#session/find-service.ts')
  return findService(command.opts()).catch(() => null)
}

const MACHINE = 'This machine:'

/** The commands with their words, without running any. */
export function describeProgram(): Command {
  const program = new Program('mailroom')
    .enablePositionalOptions()
    .description('Email infrastructure for software agents: your mail, your account, this machine.')
    .version(readVersion(), '-V, --version', 'Print the version.')
    .helpOption('-h, --help', 'Show help for a command.')
    .helpCommand('help [command]', 'Show help for a command.')
    .showHelpAfterError('(see --help)')
    .exitOverride()
  program.addHelpText('after', exitCodesHelp())
  program.commandsGroup('Your mail:')
  addMailCommands(program)
  program.commandsGroup('Account:')
  addAccountCommands(program)
  program.commandsGroup(MACHINE)
  addOperatorCommands(program)
  addReference(program)
  for (const command of program.commands) takeEverywhere(command)
  addServiceOptions(program).addOption(jsonOption())
  return program
}

/** Options that stand before the name of a command, or between a group and its command, count there. */
function handDown(command: Command): void {
  for (let above = command.parent; above !== null; above = above.parent) {
    for (const { long } of above.options) {
      const name = long?.replace(/^--(no-)?/, '') ?? ''
      if (above.getOptionValueSource(name) !== 'cli') continue
      if (!command.options.some((option) => option.long === long)) {
        throw new Failure('usage', `"${command.name()}" has no option ${long}.`)
      }
      if (command.getOptionValueSource(name) === 'cli') continue
      command.setOptionValueWithSource(name, above.getOptionValue(name), 'cli')
    }
  }
}

/** So that nobody has to know which commands show colours, or where in a line an option may stand. */
function takeEverywhere(command: Command): void {
  const isGroup = command.commands.length > 0
  for (const option of isGroup ? [...serviceOptions(), jsonOption()] : [noColorOption()]) {
    const isThere = command.options.some(({ long }) => long === option.long)
    if (!isThere) command.addOption(option.hideHelp())
  }
  for (const below of command.commands) takeEverywhere(below)
}

class Program extends Command {
  override createCommand(name?: string): Command {
    return new Program(name)
  }

  /** Called by the library, which suggests names that have little in common with the one given. */
  unknownCommand(): void {
    const [given = ''] = this.args
    const names = this.createHelp()
      .visibleCommands(this)
      .map((command) => command.name())
    const near = findNearest(given, names)
    const isNear = editDistance(given, near) <= Math.min(TYPING_ERRORS_MAX, given.length / 2)
    const hint = isNear ? `(Did you mean ${near}?)` : `Commands: ${names.join(', ')}`
    this.error(`error: unknown command '${plainLine(given)}'\n${hint}`, {
      code: 'commander.unknownCommand',
    })
  }
}

/** Of a name: one letter wrong, missing, or too many, or two letters in the wrong order. */
const TYPING_ERRORS_MAX = 2

function isOfTheMachine(command: Command): boolean {
  let top = command
  while (top.parent?.parent) top = top.parent
  return top.helpGroup() === MACHINE || top.name() === 'mcp'
}

function readVersion(): string {
  const manifest = new URL('../package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  return version
}

function exitCodesHelp(): string {
  const lines = Object.values(exitCodes).map(
    ({ code, meaning }) => `  ${String(code).padEnd(4)}${meaning}`,
  )
  return `\nExit codes:\n${lines.join('\n')}`
}
