// The commands and their words. Each loads what it needs when it is called, so that `serve` starts
// quickly and `--help` at once.

import { Command, Option } from 'commander'
import { PLANS, type Plan } from '#model/account.ts'
import { CommandFailure } from './command-failure.ts'

/** Reads `argv` and runs the command; sets the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function runCommandLine(argv: string[]): Promise<void> {
  try {
    await describeCommands().parseAsync(argv)
  } catch (error) {
    const text = error instanceof CommandFailure ? error.message : describe(error)
    process.stderr.write(`mailroom: ${text}\n`)
    process.exitCode = 1
  }
}

/** What these write belongs to the checkout, which other users may run. */
const FOR_CONTRIBUTORS: ReadonlySet<string> = new Set(['generate', 'warm-up'])

function describeCommands(): Command {
  const program = new Command('mailroom')
    .description('Email infrastructure for software agents.')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError()
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  addOperatorCommands(program)
  return program
}

/** Adds the operator's commands to a program that may have others. */
export function addOperatorCommands(program: Command): void {
  const others = new Set(program.commands)
  addServiceCommands(program)
  addAccountCommands(program)
  addDkimCommands(program)
  addPostmasterCommands(program)
  for (const command of program.commands) {
    if (others.has(command) || FOR_CONTRIBUTORS.has(command.name())) continue
    // Whatever is written in a data directory or a backup is mail, or opens it.
    command.hook('preAction', () => void process.umask(0o077))
  }
}

function addServiceCommands(program: Command): void {
  program
    .command('serve')
    .description('run the service in the foreground until SIGTERM or SIGINT')
    .action(async () => {
      const { serve } = await import('./serve.ts')
      await serve()
    })
  program
    .command('migrate')
    .description('create or update the database schema, then exit')
    .option(
      '--check',
      'only tell what would be applied, and whether running processes survive it; exits 0 when nothing would, 3 when they do, 4 when they do not, 5 when this program may not use the database',
    )
    .action(async (options: { check?: boolean }) => {
      const { migrateDatabase } = await import('./migrate-database.ts')
      await migrateDatabase(options)
    })
  program
    .command('health')
    .description('ask the service of this data directory whether it answers; exits 1 when not')
    .option('--ready', 'whether it can take requests and mail now, not only whether it runs')
    .action(async (options: { ready?: boolean }) => {
      const { checkHealth } = await import('./check-health.ts')
      await checkHealth(options)
    })
  program
    .command('backup')
    .description('write a consistent copy of the database and stored messages, also while serving')
    .argument('<folder>', 'a folder that does not exist yet or is empty')
    .option('--no-bucket', 'leave large messages that lie in an S3 bucket there')
    .action(async (folder: string, options: { bucket: boolean }) => {
      const { backUp } = await import('./back-up.ts')
      await backUp(folder, options)
    })
  program
    .command('dns')
    .description('print the DNS records to publish for this service')
    .option('--zone', 'as lines of a zone file')
    .action(async (options: { zone?: boolean }) => {
      const { printDns } = await import('./print-dns.ts')
      await printDns(options)
    })
  program
    .command('doctor')
    .description('check this machine as a mail host; exits 1 when something is wrong')
    .option('--json', 'for programs')
    .option('--ntp <server>', 'compare the clock with a time server, such as pool.ntp.org')
    .action(async (options: { json?: boolean; ntp?: string }) => {
      const { doctor } = await import('./doctor.ts')
      await doctor(options)
    })
  program
    .command('generate', { hidden: true })
    .description('write the generated files of the repository')
    .action(async () => {
      const { generate } = await import('./generate.ts')
      generate()
    })
  program
    .command('warm-up', { hidden: true })
    .description('compile what the service loads, so that its first start is as quick as the next')
    .action(async () => {
      const { warmUp } = await import('./warm-up.ts')
      await warmUp()
    })
}

function addAccountCommands(program: Command): void {
  const account = program.command('account').description('accounts of this service')
  account
    .command('create')
    .description('make an account with its default pod and print its first key, this once')
    .requiredOption('--name <name>', 'for people')
    .addOption(new Option('--plan <plan>', 'what it may use').choices(PLANS).default('free'))
    .action(async (options: { name: string; plan: Plan }) => {
      const { createAccountCommand } = await import('./accounts.ts')
      await createAccountCommand(options)
    })
  account
    .command('list')
    .description('list accounts, newest first')
    .action(async () => {
      const { listAccountsCommand } = await import('./accounts.ts')
      await listAccountsCommand()
    })
  account
    .command('create-inbox')
    .description(
      'make an inbox on the domain of the service; the name may be a reserved one, such as admin',
    )
    .requiredOption('--account <id>', 'the account it belongs to')
    .requiredOption('--name <name>', 'what stands before the @')
    .option('--pod <pod>', 'the id or clientId of a pod; the default pod when left out')
    .action(async (options: { account: string; name: string; pod?: string }) => {
      const { createInboxCommand } = await import('./accounts.ts')
      await createInboxCommand(options)
    })
  const key = program.command('key').description('API keys of an account')
  key
    .command('create')
    .description('make a key and print it, this once')
    .requiredOption('--account <id>', 'the account it belongs to')
    .option('--name <name>', 'for people')
    .action(async (options: { account: string; name?: string }) => {
      const { createKeyCommand } = await import('./accounts.ts')
      await createKeyCommand(options)
    })
  key
    .command('revoke')
    .description('end a key; the service refuses it from its next request on')
    .argument('<id>', 'the id of the key')
    .action(async (id: string) => {
      const { revokeKeyCommand } = await import('./accounts.ts')
      await revokeKeyCommand(id)
    })
}

function addDkimCommands(program: Command): void {
  const dkim = program.command('dkim').description('keys that sign the mail of the domains')
  dkim
    .command('list')
    .description('list keys with their states, also while serving')
    .action(async () => {
      const { listDkimCommand } = await import('./dkim.ts')
      await listDkimCommand()
    })
  dkim
    .command('rotate')
    .description('sign with the next key of a domain, if DNS has had it for a day')
    .argument('[domain]', 'the inbox domain unless given')
    .option(
      '--now',
      'in an emergency, such as a stolen key: as soon as DNS has it. For a day mail may not be believed where the record before is still kept',
    )
    .action(async (domain: string | undefined, options: { now?: boolean }) => {
      const { rotateDkimCommand } = await import('./dkim.ts')
      await rotateDkimCommand(domain, options)
    })
}

function addPostmasterCommands(program: Command): void {
  const postmaster = program.command('postmaster').description('mail to postmaster of this service')
  postmaster
    .command('list')
    .description('list messages, newest first, a thousand at a time')
    .option('--before <id>', 'go on after this message of an earlier list')
    .action(async (options: { before?: string }) => {
      const { listPostmasterCommand } = await import('./postmaster.ts')
      await listPostmasterCommand(options)
    })
  postmaster
    .command('show')
    .description('print a message as it came over the wire')
    .argument('<id>', 'the id from the list')
    .action(async (id: string) => {
      const { showPostmasterCommand } = await import('./postmaster.ts')
      await showPostmasterCommand(id)
    })
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
