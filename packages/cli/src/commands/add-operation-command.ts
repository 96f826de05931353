// Builds commands from operations, and options from fields of the contract.

import { type ClientOperationId, operationOf } from '@mailroom/contract/operations.ts'
import { Argument, type Command, Option } from 'commander'
import { arrange, type Field, isSeveral } from './fields.ts'
import type { Group, OperationCommand } from './resources.ts'

export function addOperationCommand(parent: Command, spec: OperationCommand): Command {
  const command = parent.command(spec.name, { isDefault: spec.isDefault === true })
  describeBy(command, spec.operation)
  if (spec.alias !== undefined) command.alias(spec.alias)
  const fields = arrange(spec)
  for (const { field, name } of fields.arguments) {
    const isRequired = field.place === 'path' || field.isRequired
    const argument = new Argument(isRequired ? `<${name}>` : `[${name}]`, sentenceOf(field))
    if (field.words !== null) argument.choices(field.words)
    command.addArgument(argument)
  }
  if (fields.ofInbox !== null) addInboxOption(command, fields.ofInbox.sentence)
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
  const sentence = 'Refuse the change unless the resource still has this ETag.'
  return command.option('--if-match <etag>', sentence, quoted)
}

/** Adds the quotation marks of an ETag, which shells remove. */
function quoted(etag: string): string {
  return etag === '*' || etag.startsWith('"') ? etag : `"${etag}"`
}

export function addLeaseOption(command: Command): Command {
  return command.option(
    '--lease-token <token>',
    'The leaseToken of the claim on the thread. Defaults to MAILROOM_LEASE_TOKEN or your stored claim.',
  )
}

export function addKeyOption(command: Command): Command {
  return command.option(
    '--idempotency-key <key>',
    'Retrying with the same key never sends twice. Generated and printed by default.',
  )
}

/** Command lists show the operation's summary; the command's own help also shows its notes. */
export function describeBy(command: Command, id: ClientOperationId): Command {
  const { summary, notes } = operationOf(id)
  return command
    .summary(summary)
    .description(notes === undefined ? summary : `${summary}\n\n${notes}`)
}

export function addInboxOption(command: Command, sentence: string): Command {
  return command.option(
    '--inbox <inbox>',
    `${sentence} Defaults to the inbox chosen with "mailroom use", or the only inbox.`,
  )
}

export function addFieldOption(command: Command, field: Field): Command {
  const { flag, isRequired } = field
  const sentence = sentenceOf(field)
  if (field.form === 'boolean' && !field.isList) {
    return command
      .option(`--${flag}`, sentence)
      .option(`--no-${flag}`, `The opposite of --${flag}.`)
  }
  const value = field.named ?? field.placeholder
  const option = new Option(`--${flag} <${value}>`, sentence)
  if (isRequired) option.makeOptionMandatory()
  if (isSeveral(field)) return command.addOption(option.argParser(collect))
  if (field.words !== null) option.choices(field.words)
  return command.addOption(option)
}

/** For options that may be repeated or contain comma-separated values. */
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').map((one) => one.trim())].filter((one) => one !== '')
}

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

function sentenceOf({ sentence, named, isNullable, isList, place }: Field): string {
  const more = [
    ...(named === 'inbox' ? ['The address of the inbox is accepted too.'] : []),
    ...(named === 'domain' ? ['The name of the domain is accepted too.'] : []),
    ...(isList ? ['Can be repeated.'] : []),
    ...(isNullable && !isList && place === 'body' ? ['An empty value means null.'] : []),
  ]
  return [sentence, ...more].join(' ').trim()
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
