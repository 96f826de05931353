// The program with all its commands. Sets the exit code; the code of a command is loaded on use.

import { readFileSync } from 'node:fs'
import { editDistance, findNearest } from '@mailroom/server/config/nearest.ts'
import { Command, CommanderError, type Help } from 'commander'
import type { Called } from '#base/describe-error.ts'
import { exitCodes, Failure } from '#base/failure.ts'
import { endWithReader } from '#base/output.ts'
import { plainLine } from '#base/plain-text.ts'
import { addAccountCommands } from '#commands/account.ts'
import {
  addServiceOptions,
  jsonOption,
  noColorOption,
  serviceOptions,
} from '#commands/add-operation-command.ts'
import { addMailCommands } from '#commands/mail.ts'
import { OwnHelp } from '#commands/own-help.ts'
import { addRepositoryCommands } from '#commands/repository.ts'

/** Parses `argv` and runs the command; sets the exit code. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  endWithReader()
  const program = describeProgram()
  let ran: Command | null = null
  program.hook('preAction', (_program, command) => {
    ran = command
    handDown(command)
    // These commands handle SIGINT themselves.
    if (isOfTheMachine(command) || command.name() === 'work') return
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
    const { describeError } = await import('#base/describe-error.ts')
    const { text, exitCode } = describeError(error, await serviceOf(ran))
    process.stderr.write(text)
    process.exitCode = exitCode
  }
}

async function serviceOf(command: Command | null): Promise<Called | null> {
  if (command === null || isOfTheMachine(command)) return null
  const { findService, readLeaseToken } = await import('#base/session.ts')
  const hasLeaseToken = readLeaseToken(command.opts()) !== undefined
  const found = await findService(command.opts()).catch(() => null)
  return found === null ? null : { ...found, hasLeaseToken }
}

const MACHINE = 'This machine:'

/** Builds the commands with their help texts, without running one. */
export function describeProgram(): Command {
  const program = new Program('mailroom')
    .enablePositionalOptions()
    .description('Email infrastructure for software agents: your mail, your account, this machine.')
    .version(readVersion(), '-V, --version', 'Print the version.')
    .helpOption('-h, --help', 'Show help for a command.')
    .helpCommand('help [command]', 'Show help for a command.')
    .showHelpAfterError('(see --help)')
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error:/, 'mailroom:')),
    })
    .exitOverride()
  program.addHelpText('after', exitCodesHelp())
  program.commandsGroup('Your mail:')
  addMailCommands(program)
  program.commandsGroup('Account:')
  addAccountCommands(program)
  program.commandsGroup(MACHINE)
  addRepositoryCommands(program)
  for (const command of program.commands) takeEverywhere(command)
  addServiceOptions(program).addOption(jsonOption())
  return program
}

/** Options before a command's name, or between a group and its command, apply to the command. */
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

/** Every command accepts --no-color, and every group accepts the options of its commands. */
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

  override createHelp(): Help {
    return Object.assign(new OwnHelp(), this.configureHelp())
  }

  /** Replaces the suggestions of the library, which often have little in common with the name. */
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

/** A typing error is a wrong, missing or extra letter, or two transposed letters. */
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
