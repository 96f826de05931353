// A command that holds others.

import type { Command } from 'commander'
import { addOperationCommand } from './add-operation-command.ts'
import type { Group } from './resources.ts'

/** Adds the group with its operations, and gives it back for those that are more than one. */
export function addGroup(program: Command, group: Group): Command {
  const command = program.command(group.name).summary(group.summary).description(group.summary)
  for (const spec of group.commands) {
    addOperationCommand(command, spec)
    if (spec.isDefault) {
      command.addHelpText('after', `\n"${spec.name}" is the default command.`)
    }
  }
  return command
}
