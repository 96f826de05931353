// The commands. Modules are loaded when called, so that `serve` and `--help` start quickly.

import { type Plan, plans } from '@mailroom/contract/vocabulary.ts'
import { Command, Option } from 'commander'
import { CommandFailure } from './command.ts'
import type { PolicyOptions } from './policy.ts'

/** Sets the exit code: 0 for success, 1 for a failure, 2 for wrong usage. */
export async function runCommandLine(argv: string[]): Promise<void> {
  try {
    await describeCommands().parseAsync(argv)
  } catch (error) {
    const text = error instanceof CommandFailure ? error.message : describe(error)
    process.stderr.write(`mailroom: ${text}\n`)
    process.exitCode = 1
  }
}

function describeCommands(): Command {
  const program = new Command('mailroom')
    .description('Email infrastructure for software agents.')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError()
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  addOperatorCommands(program)
  return program
}

/** Adds `serve` and `admin`; the former names of the commands of `admin` still work. */
export function addOperatorCommands(program: Command): void {
  const serve = program
    .command('serve')
    .description('Run the service in the foreground until SIGTERM or SIGINT.')
    .action(async () => {
      const { serve } = await import('./serve.ts')
      await serve()
    })
  const admin = program
    .command('admin')
    .description('Accounts, keys, DNS, backups and checks, on the machine of the service.')
  addAdminCommands(admin)
  for (const command of [serve, admin]) keepPrivate(command)
  addFormerNames(program)
  addContributorCommands(program)
}

/** Data directories and backups contain mail or keys, so only their owner may read them. */
function keepPrivate(command: Command): void {
  command.hook('preAction', () => void process.umask(0o077))
}

function addAdminCommands(admin: Command): void {
  addAccountCommands(admin)
  addKeyCommands(admin)
  addApproverCommands(admin)
  addDkimCommands(admin)
  addPostmasterCommands(admin)
  addServiceCommands(admin)
}

/** Before they were commands of `admin`, the commands were in the program itself. */
function addFormerNames(program: Command): void {
  const former = program.createCommand().copyInheritedSettings(program)
  addAdminCommands(former)
  for (const command of former.commands) {
    program.addCommand(command, { hidden: true })
    keepPrivate(command)
    command.hook('preAction', (_, run) => {
      const words = run === command ? run.name() : `${command.name()} ${run.name()}`
      process.stderr.write(`"mailroom ${words}" is now "mailroom admin ${words}".\n`)
    })
  }
}

function addServiceCommands(program: Command): void {
  program
    .command('migrate')
    .description('Create or update the database schema, then exit.')
    .option(
      '--check',
      'Only show what would be applied and whether running processes survive it. Exits with 0 if nothing would be applied, 3 if they survive, 4 if they do not, 5 if this version may not use the database.',
    )
    .action(async (options: { check?: boolean }) => {
      const { migrateDatabase } = await import('./migrate-database.ts')
      await migrateDatabase(options)
    })
  program
    .command('health')
    .description('Check whether the service of this data directory answers; exits with 1 if not.')
    .option('--ready', 'Check whether it can take requests and mail, not only whether it runs.')
    .action(async (options: { ready?: boolean }) => {
      const { checkHealth } = await import('./check-health.ts')
      await checkHealth(options)
    })
  program
    .command('backup')
    .description(
      'Write a consistent copy of the database and the stored messages, even while the service runs.',
    )
    .argument('<folder>', 'A new or empty folder.')
    .option('--no-bucket', 'Do not copy large messages from the S3 bucket.')
    .action(async (folder: string, options: { bucket: boolean }) => {
      const { backUp } = await import('./back-up.ts')
      await backUp(folder, options)
    })
  program
    .command('dns')
    .description('Print the DNS records to publish for this service.')
    .option('--zone', 'Print them as lines of a zone file.')
    .action(async (options: { zone?: boolean }) => {
      const { printDns } = await import('./dns.ts')
      await printDns(options)
    })
  program
    .command('doctor')
    .description('Check this machine as a mail host; exits with 1 if something is wrong.')
    .option('--json', 'Print JSON.')
    .option('--ntp <server>', 'Compare the clock with a time server, such as pool.ntp.org.')
    .action(async (options: { json?: boolean; ntp?: string }) => {
      const { doctor } = await import('./doctor.ts')
      await doctor(options)
    })
}

/** Commands that write files of the checkout, which other users may run. */
function addContributorCommands(program: Command): void {
  program
    .command('generate', { hidden: true })
    .description('Write the generated files of the repository.')
    .action(async () => {
      const { generate } = await import('./generate.ts')
      generate()
    })
  program
    .command('warm-up', { hidden: true })
    .description('Compile the service ahead of its first start.')
    .action(async () => {
      const { warmUp } = await import('./warm-up.ts')
      await warmUp()
    })
}

function addAccountCommands(program: Command): void {
  const account = program.command('account').description('Accounts of this service.')
  account
    .command('create')
    .description('Create an account with its default pod and print its API key once.')
    .requiredOption('--name <name>', 'A name for people.')
    .addOption(new Option('--plan <plan>', 'Plan of the account.').choices(plans).default('free'))
    .action(async (options: { name: string; plan: Plan }) => {
      const { createAccountCommand } = await import('./accounts.ts')
      await createAccountCommand(options)
    })
  account
    .command('list')
    .description('List accounts, newest first.')
    .action(async () => {
      const { listAccountsCommand } = await import('./accounts.ts')
      await listAccountsCommand()
    })
  account
    .command('set-plan')
    .description('Change the plan of an account, which sets its limits.')
    .requiredOption('--account <id>', 'The id of the account.')
    .addOption(
      new Option('--plan <plan>', 'The new plan.').choices(plans).makeOptionMandatory(true),
    )
    .action(async (options: { account: string; plan: Plan }) => {
      const { setPlanCommand } = await import('./accounts.ts')
      await setPlanCommand(options)
    })
  account
    .command('create-inbox')
    .description('Create an inbox on the domain of the service, even with a reserved name.')
    .requiredOption('--account <id>', 'The id of the account.')
    .requiredOption('--name <name>', 'The part before the @, such as admin.')
    .option('--pod <pod>', 'The id or client id of a pod; the default pod if omitted.')
    .action(async (options: { account: string; name: string; pod?: string }) => {
      const { createInboxCommand } = await import('./accounts.ts')
      await createInboxCommand(options)
    })
  addPolicyCommands(account)
}

function addKeyCommands(program: Command): void {
  const key = program.command('key').description('API keys of any account of this service.')
  key
    .command('create')
    .description('Create an API key and print it once.')
    .requiredOption('--account <id>', 'The id of the account.')
    .option('--name <name>', 'A name for people.')
    .action(async (options: { account: string; name?: string }) => {
      const { createKeyCommand } = await import('./accounts.ts')
      await createKeyCommand(options)
    })
  key
    .command('revoke')
    .description('Revoke a key, effective on the next request.')
    .argument('<id>', 'The id of the key.')
    .action(async (id: string) => {
      const { revokeKeyCommand } = await import('./accounts.ts')
      await revokeKeyCommand(id)
    })
}

function addPolicyCommands(account: Command): void {
  const add = (name: string, description: string) =>
    account
      .command(name)
      .description(description)
      .requiredOption('--account <id>', 'The id of the account.')
      .option('--pod <pod>', 'The policy of this pod, by its id or client id.')
      .option('--inbox <id>', 'The policy of this inbox.')
  add('show-policy', 'Print a policy as JSON: of the account, a pod or an inbox.').action(
    async (options: PolicyOptions) => {
      const { showPolicyCommand } = await import('./policy.ts')
      await showPolicyCommand(options)
    },
  )
  add(
    'put-policy',
    'Replace the policy by that in a JSON file, even where otherwise only an approver may.',
  )
    .argument('<path>', 'The file; "-" reads standard input.')
    .action(async (path: string, options: PolicyOptions) => {
      const { putPolicyCommand } = await import('./policy.ts')
      await putPolicyCommand(path, options)
    })
}

type NewApproverOptions = { account: string; name: string; email?: string; webhookUrl?: string }

function addApproverCommands(program: Command): void {
  const approver = program
    .command('approver')
    .description('People who decide about mail that a policy holds back, of any account.')
  approver
    .command('create')
    .description('Create an approver and print the token once, even while the service runs.')
    .requiredOption('--account <id>', 'The id of the account.')
    .requiredOption('--name <name>', 'A name for people.')
    .option('--email <address>', 'The address that is notified of held mail.')
    .option('--webhook-url <url>', 'The URL that events of reviews are posted to.')
    .action(async (options: NewApproverOptions) => {
      const { createApproverCommand } = await import('./accounts.ts')
      await createApproverCommand(options)
    })
  approver
    .command('list')
    .description('List the approvers of an account, newest first.')
    .requiredOption('--account <id>', 'The id of the account.')
    .action(async (options: { account: string }) => {
      const { listApproversCommand } = await import('./accounts.ts')
      await listApproversCommand(options)
    })
  approver
    .command('delete')
    .description('Delete an approver, even the last one, effective on the next request.')
    .argument('<id>', 'The id of the approver.')
    .action(async (id: string) => {
      const { deleteApproverCommand } = await import('./accounts.ts')
      await deleteApproverCommand(id)
    })
}

function addDkimCommands(program: Command): void {
  const dkim = program.command('dkim').description('DKIM keys of the domains.')
  dkim
    .command('list')
    .description('List DKIM keys with their states, even while the service runs.')
    .action(async () => {
      const { listDkimCommand } = await import('./dns.ts')
      await listDkimCommand()
    })
  dkim
    .command('rotate')
    .description('Switch a domain to its next key, if DNS has had it for a day.')
    .argument('[domain]', 'A domain; the inbox domain by default.')
    .option(
      '--now',
      'For an emergency, such as a stolen key: switch as soon as DNS has the next key. For up to a day, receivers that cached the old record may reject the mail.',
    )
    .action(async (domain: string | undefined, options: { now?: boolean }) => {
      const { rotateDkimCommand } = await import('./dns.ts')
      await rotateDkimCommand(domain, options)
    })
}

function addPostmasterCommands(program: Command): void {
  const postmaster = program
    .command('postmaster')
    .description('Mail to the postmaster of this service.')
  postmaster
    .command('list')
    .description('List messages, newest first, a thousand at a time.')
    .option('--before <id>', 'Continue after this message of an earlier list.')
    .action(async (options: { before?: string }) => {
      const { listPostmasterCommand } = await import('./postmaster.ts')
      await listPostmasterCommand(options)
    })
  postmaster
    .command('show')
    .description('Print a message as it was received.')
    .argument('<id>', 'The id from the list.')
    .action(async (id: string) => {
      const { showPostmasterCommand } = await import('./postmaster.ts')
      await showPostmasterCommand(id)
    })
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
