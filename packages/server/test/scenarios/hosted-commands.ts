// One process that runs commands of the program one after the other, each with its own environment. The program is
// loaded once; everything else, including the end, is as in a process of its own.

import { setTimeout as sleep } from 'node:timers/promises'
import { runCommandLine } from '#commands/command-line.ts'
import type { HostedCommand } from './command-host.ts'

const USUAL_MASK = 0o022
/** A process of its own would have ended by now, or something that its command left open keeps it alive. */
const QUIET_MS_MAX = 10_000
const LOOK_MS = 5
const LEFT_OPEN = 70

/** Ends the output of a command, with its exit code, on both streams. */
const { COMMAND_HOST_MARK: mark = '', NODE_COMPILE_CACHE: cache = '' } = process.env

async function run({ args, env }: HostedCommand): Promise<void> {
  process.exitCode = undefined
  process.umask(USUAL_MASK)
  for (const name of Object.keys(process.env)) delete process.env[name]
  // Threads read it here, as after `main.mjs`.
  Object.assign(process.env, { NODE_COMPILE_CACHE: cache, ...env })
  const before = process.getActiveResourcesInfo()
  await runCommandLine([process.execPath, 'mailroom', ...args])
  const open = await findLeftOpen(before.length)
  if (open.length > 0) {
    process.stderr.write(
      `Something was left open: ${open.join(', ')}, before: ${before.join(', ')}\n`,
    )
    process.exitCode = LEFT_OPEN
  }
  const end = `${mark} ${process.exitCode ?? 0}\n`
  process.stdout.write(end)
  process.stderr.write(end)
}

/** What keeps the process alive, where more than `count` resources do. */
async function findLeftOpen(count: number): Promise<string[]> {
  const endMs = performance.now() + QUIET_MS_MAX
  for (;;) {
    const open = process.getActiveResourcesInfo()
    if (open.length <= count) return []
    if (performance.now() > endMs) return open
    // Without `ref: false` this timer would be one of them.
    await sleep(LOOK_MS, undefined, { ref: false })
  }
}

process.on('message', (command: HostedCommand) => void run(command))
