// Commands that need the complete repository: those of the service, and those for contributors.

import { addOperatorCommands } from '@mailroom/server/commands/command-line.ts'
import type { Command } from 'commander'

export function addRepositoryCommands(program: Command): void {
  addOperatorCommands(program)
  addReference(program)
}

/** A command for contributors. A test fails if the page is out of date. */
function addReference(program: Command): void {
  const reference = program
    .command('reference', { hidden: true })
    .description('Print the generated part of docs/cli.md.')
    .option('--write', 'Write the reference into the page.')
  reference.action(async () => {
    const { printReference } = await import('#reference.ts')
    printReference(program, reference.opts())
  })
}
