// Replaces the commands of the complete repository in the packed program with messages that explain
// where to run them.

import type { Command } from 'commander'
import { Failure } from '#base/failure.ts'

/** Names of these commands, filled in by the build. */
declare const REPOSITORY_COMMANDS: readonly string[]

/** Replaces the function of `commands/repository.ts` in the build. @public */
export function addRepositoryCommands(program: Command): void {
  for (const name of REPOSITORY_COMMANDS) {
    const sentence = `"mailroom ${name}" is only available in the full repository, on the server of the service.`
    program
      .command(name, { hidden: true })
      .description(sentence)
      .argument('[anything...]')
      .allowUnknownOption()
      .action(() => {
        const fix = `Run it on that machine: "npx mailroom ${name} …" in the checkout.`
        throw new Failure('failed', sentence, fix)
      })
  }
  program.addHelpText(
    'after',
    '\nThe commands "serve" and "admin" are only available in the full repository.',
  )
}
