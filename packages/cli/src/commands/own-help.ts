// The help of a command: what it does, examples, then usage, arguments, options and details.

import { type Command, Help } from 'commander'
import { examplesOf } from '#texts/examples.ts'

export class OwnHelp extends Help {
  /** The first paragraph of the description is above the usage, the others are below the options. */
  override formatHelp(command: Command, helper: Help): string {
    const width = helper.helpWidth ?? 80
    const [about = '', ...details] = command.description().split('\n\n')
    const examples = examplesOf(pathOf(command)).map((line) => `  ${line}`)
    const parts = [
      helper.boxWrap(about, width),
      ...(examples.length > 0 ? [['Examples:', ...examples].join('\n')] : []),
      super.formatHelp(command, helper).trimEnd(),
      ...details.map((text) => helper.boxWrap(text, width)),
    ]
    return `${parts.join('\n\n')}\n`
  }

  override commandDescription(): string {
    return ''
  }
}

/** The names of the command and of those above it, without the program's. */
export function pathOf(command: Command): string {
  const names: string[] = []
  for (let at = command; at.parent !== null; at = at.parent) names.unshift(at.name())
  return names.join(' ')
}
