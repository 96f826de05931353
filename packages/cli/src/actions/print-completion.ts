// The completion of a shell, made of the commands as they are.

import type { Command } from 'commander'
import { bashScript } from '#completion/bash-script.ts'
import { nodesOf } from '#completion/command-tree.ts'
import { fishScript } from '#completion/fish-script.ts'
import type { Shell } from '#completion/shells.ts'
import { zshScript } from '#completion/zsh-script.ts'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }

export function printCompletion(program: Command, shell: Shell): void {
  process.stdout.write(scripts[shell](nodesOf(program)))
}
