// One process in which commands of the program run one after the other, each with an environment of its
// own: the program is loaded once, and all the rest is as in a process of its own, its end too.

import { setTimeout as sleep } from 'node:timers/promises'
import { runCommandLine } from '#commands/command-line.ts'
import type { HostedCommand } from './command-host.ts'

const USUAL_MASK = 0o022
/** A process of its own would end by now, or be held up by what its command left open. */
const QUIET_MS_MAX = 10_000
const LOOK_MS = 5
const LEFT_OPEN = 70

/** What ends the output of a command, with its exit code, on both streams. */
const { COMMAND_HOST_MARK: mark = '', NODE_COMPILE_CACHE: cache = '' } = process.env

async function run({ args, env }: HostedCommand): Promise<void> {
  process.exitCode = undefined
  process.umask(USUAL_MASK)
  for (const name of Object.keys(process.env)) delete process.env[name]
  // As `main.mjs` does: threads look for it here.
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

/** What keeps the process alive beyond what did so before. */
async function findLeftOpen(count: number): Promise<string[]> {
  const endMs = performance.now() + QUIET_MS_MAX
  for (;;) {
    const open = process.getActiveResourcesInfo()
    if (open.length <= count) return []
    if (performance.now() > endMs) return open
    // Itself one of them, unless it does not count.
    await sleep(LOOK_MS, undefined, { ref: false })
  }
}

process.on('message', (command: HostedCommand) => void run(command))
