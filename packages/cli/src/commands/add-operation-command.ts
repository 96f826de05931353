// Builds commands from operations, and options from fields of the contract.

import { type ClientOperationId, operationOf } from '@mailroom/contract/operations.ts'
import { Argument, type Command, Option } from 'commander'
import { aboutOf } from '#texts/texts.ts'
import { arrange, attributeOf, type Field, isAppended, isSeveral } from './fields.ts'
import type { Group, OperationCommand } from './resources.ts'

export function addOperationCommand(parent: Command, spec: OperationCommand): Command {
  const command = parent.command(spec.name, { isDefault: spec.isDefault === true })
  describeBy(command, spec.operation)
  if (spec.alias !== undefined) command.alias(spec.alias)
  const fields = arrange(spec)
  for (const { field, name } of fields.arguments) {
    const isRequired = field.place === 'path' || field.isRequired
    const argument = new Argument(isRequired ? `<${name}>` : `[${name}]`, field.sentence)
    if (field.words !== null) argument.choices(field.words)
    command.addArgument(argument)
  }
  if (fields.ofInbox !== null) addInboxOption(command, 'The inbox.')
  for (const field of fields.options) addFieldOption(command, field)
  if (spec.needsConfirmation) {
    const { needsConfirmation: when } = spec
    const of = when === true ? '' : `With --${when}: `
    command.option('-y, --yes', `${of}Do not ask for confirmation. Required without a terminal.`)
  }
  const { takesIfMatch, takesLeaseToken, needsIdempotencyKey } = operationOf(spec.operation)
  if (takesIfMatch) addIfMatchOption(command)
  if (needsIdempotencyKey) addKeyOption(command)
  if (takesLeaseToken) addLeaseOption(command)
  addSessionOptions(command)
  return command.action(async (...given: unknown[]) => {
    const { runOperation } = await import('#actions/run-operation.ts')
    await runOperation(spec, given.slice(0, -2) as (string | undefined)[], command.opts())
  })
}

export function addIfMatchOption(command: Command): Command {
  const sentence = 'Change nothing unless the current ETag is this one.'
  return command.option('--if-match <etag>', sentence, quoted)
}

/** Adds the quotation marks of an ETag, which shells remove. */
function quoted(etag: string): string {
  return etag === '*' || etag.startsWith('"') ? etag : `"${etag}"`
}

export function addLeaseOption(command: Command): Command {
  return command.option(
    '--lease-token <token>',
    'The token of the claim on the thread. Defaults to MAILROOM_LEASE_TOKEN or your stored claim.',
  )
}

export function addKeyOption(command: Command): Command {
  return command.option(
    '--idempotency-key <key>',
    'Repeating a command with the same key never sends twice. By default a new key, which is printed.',
  )
}

/** Lists of commands show the first sentence. */
export function describeBy(command: Command, id: ClientOperationId): Command {
  const about = aboutOf(id)
  return command.summary(about.split(/(?<=\.)\s/)[0] ?? about).description(about)
}

export function addInboxOption(command: Command, sentence: string): Command {
  return command.option(
    '--inbox <inbox>',
    `${sentence} Defaults to the inbox chosen with "mailroom use", or the only inbox.`,
  )
}

export function addFieldOption(command: Command, field: Field): Command {
  const { flag, formerFlag } = field
  addOptionOf(command, field, { flag, isHidden: false })
  if (formerFlag !== null) {
    addOptionOf(command, { ...field, isRequired: false }, { flag: formerFlag, isHidden: true })
    command.hook('preAction', () => useFormer(command, formerFlag, flag))
  }
  return command
}

function addOptionOf(
  command: Command,
  field: Field,
  { flag, isHidden }: { flag: string; isHidden: boolean },
): void {
  const { sentence, form, byDefault } = field
  if (form === 'boolean' && !field.isList) {
    command.addOption(new Option(`--${flag}`, sentence).hideHelp(isHidden))
    command.addOption(new Option(`--no-${flag}`, `The opposite of --${flag}.`).hideHelp(isHidden))
    return
  }
  const value = field.named ?? field.placeholder
  const several = form === 'files' ? '...' : ''
  const option = new Option(`--${flag} <${value}${several}>`, sentence).hideHelp(isHidden)
  if (field.isRequired) option.makeOptionMandatory()
  if (byDefault !== null && !isHidden) option.default(byDefault)
  if (form !== 'files' && isSeveral(field)) option.argParser(isAppended(form) ? append : collect)
  else if (field.words !== null) option.choices(field.words)
  command.addOption(option)
}

/** Takes the value of an option by its former name, with a notice. */
function useFormer(command: Command, former: string, flag: string): void {
  const value: unknown = command.getOptionValue(attributeOf(former))
  if (value === undefined) return
  process.stderr.write(`--${former} is now --${flag}.\n`)
  command.setOptionValueWithSource(attributeOf(flag), value, 'cli')
}

/** For options that may be repeated. */
export function append(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

/** For options that may be repeated or contain values separated by commas. */
export function collect(text: string, before: readonly string[] = []): string[] {
  const values = text.match(UNTIL_COMMA) ?? []
  return [...before, ...values.map((one) => one.trim())].filter((one) => one !== '')
}

/** A comma in a quoted name, as in "Doe, Ann" <ann@example.com>, separates nothing. */
const UNTIL_COMMA = /(?:"(?:\\.|[^"\\])*"|[^,])+/g

export function addSessionOptions(command: Command): Command {
  return addServiceOptions(command).addOption(jsonOption())
}

export function addServiceOptions(command: Command): Command {
  for (const option of serviceOptions()) command.addOption(option)
  return command
}

const EVERYWHERE = 'Everywhere:'

export function jsonOption(): Option {
  return new Option('--json', 'Print the response of the API as JSON.').helpGroup(EVERYWHERE)
}

export function noColorOption(): Option {
  return new Option('--no-color', 'Print without colours.').helpGroup(EVERYWHERE)
}

export function serviceOptions(): Option[] {
  return [
    new Option('--profile <name>', 'Use this profile instead of the default one.').helpGroup(
      EVERYWHERE,
    ),
    new Option('--url <url>', 'Use the service at this URL instead of the profile’s.').helpGroup(
      EVERYWHERE,
    ),
    noColorOption(),
  ]
}

/** Adds the group with its operations; returns it so that other commands can be added. */
export function addGroup(program: Command, group: Group): Command {
  const command = program.command(group.name).summary(group.summary).description(group.summary)
  for (const spec of group.commands) {
    addOperationCommand(command, { ...spec, arguments: { ...group.arguments, ...spec.arguments } })
    if (spec.isDefault) {
      command.addHelpText('after', `\n"${spec.name}" is the default command.`)
    }
  }
  return command
}
