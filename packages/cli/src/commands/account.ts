// Commands about the account and the connection to the service.

import { Argument, type Command } from 'commander'
import { NAME_KINDS, type NameKind, SHELLS } from '#completion.ts'
import {
  addGroup,
  addOperationCommand,
  addServiceOptions,
  addSessionOptions,
  describeBy,
} from './add-operation-command.ts'
import { accountGroups, usage, whoami } from './resources.ts'

export function addAccountCommands(program: Command): void {
  addLogin(program)
  addLogout(program)
  addOperationCommand(program, whoami)
  addOperationCommand(program, usage)
  addStatus(program)
  for (const group of accountGroups) {
    const command = addGroup(program, group)
    if (group.name === 'domains') addVerify(command)
  }
  addApi(program)
  addMcp(program)
  addCompletion(program)
}

function addLogin(program: Command): void {
  const summary = 'Sign in to a service: store a key that only you can read.'
  const login = program
    .command('login')
    .summary(summary)
    .description(
      `${summary}\n\nAsks for the key without showing it. Without a key, press Enter and approve this terminal in the console of the service.`,
    )
    .option(
      '--key <key>',
      'The key; "-" reads it from standard input, which keeps it out of process lists.',
    )
    .option('--pair', 'Skip the prompt and ask for approval in the console.')
  addServiceOptions(login).action(async () => {
    const { login: run } = await import('#actions/login.ts')
    await run(login.opts())
  })
}

function addLogout(program: Command): void {
  const logout = program
    .command('logout')
    .summary('Forget the stored key.')
    .description(
      'Forget the stored key. The key itself stays valid; "mailroom keys delete" revokes it.',
    )
  addServiceOptions(logout).action(async () => {
    const { logout: run } = await import('#actions/login.ts')
    await run(logout.opts())
  })
}

function addStatus(program: Command): void {
  const status = program
    .command('status')
    .description(
      'Show whether the service is up and ready, how fast it answers, and which account the key belongs to.',
    )
  addSessionOptions(status).action(async () => {
    const { showStatus } = await import('#actions/show-status.ts')
    await showStatus(status.opts())
  })
}

function addVerify(domains: Command): void {
  const verify = describeBy(domains.command('verify'), 'domains.verify')
    .argument('<domain>', 'The id or the name of a domain.')
    .option('--wait', 'Keep checking until the domain is verified. Exits with 124 on timeout.')
    .option('--timeout <time>', 'With --wait: how long to wait.', '15m')
    .option('--interval <time>', 'With --wait: time between two checks.', '10s')
  addSessionOptions(verify).action(async (domain: string) => {
    const { verifyDomain } = await import('#actions/verify-domain.ts')
    await verifyDomain(domain, verify.opts())
  })
}

function addApi(program: Command): void {
  const api = program
    .command('api')
    .summary('Call any operation of the API.')
    .description(
      'Call any operation of the API.\n\nname=value sets a path or query parameter or a field of the body; name:=value does the same with a JSON value. "mailroom api --list" lists the operations; "mailroom api <operation> --describe" shows the values of one.',
    )
    .argument('[operation]', 'The name of the operation, such as inboxes.list.')
    .argument('[values...]', 'name=value or name:=JSON. Repeat it for each entry of a list.')
    .option('--list', 'List the operations.')
    .option('--describe', 'Show the values that the operation accepts.')
    .option(
      '--body <body>',
      'The body: JSON, "@" and the path of a file, or "-" for standard input.',
    )
    .option('--content-type <type>', 'Content type of the body, if it is not JSON.')
    .option(
      '--idempotency-key <key>',
      'Key for operations that need one. Generated and printed by default.',
    )
  addSessionOptions(api).action(async (operation: string | undefined, values: string[]) => {
    const { callApi } = await import('#actions/call-api.ts')
    await callApi(operation, values, api.opts())
  })
}

function addMcp(program: Command): void {
  const summary = 'Serve the account to a model over MCP, on standard input and output.'
  const mcp = program
    .command('mcp')
    .summary(summary)
    .description(`${summary} MCP clients start this command.`)
    .option(
      '--inbox <inbox>',
      'Restrict access to this inbox, by its id or address (or MAILROOM_MCP_INBOX).',
    )
    .option(
      '--tools <tools>',
      'Offer only these tools: core, or names with commas between them (or MAILROOM_MCP_TOOLS).',
    )
    .option(
      '--read-only',
      'Do not allow sending or changing anything (or MAILROOM_MCP_READ_ONLY=true).',
    )
  addServiceOptions(mcp).action(async () => {
    const { serveMcp } = await import('#actions/serve-mcp.ts')
    await serveMcp(mcp.opts())
  })
}

function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('Print a completion script. Source it in the startup file of your shell.')
    .addArgument(new Argument('<shell>', 'Your shell.').choices(SHELLS))
    .action(async (shell: (typeof SHELLS)[number]) => {
      const { printCompletion } = await import('#completion.ts')
      printCompletion(program, shell)
    })
  const names = program
    .command('complete', { hidden: true })
    .description('Print the names that the completion offers, one a line.')
    .addArgument(new Argument('<kind>', 'What to name.').choices(NAME_KINDS))
  addServiceOptions(names).action(async (kind: NameKind) => {
    const { printNames } = await import('#actions/print-names.ts')
    await printNames(kind, names.opts())
  })
}
