// One process that runs the commands of a test file one after the other, each with its own environment and folder.
// The program is loaded once; everything else is as in a process of its own.

import { runCommandLine } from '#command-line.ts'

export type HostedCommand = {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

/** Ends the output of a command, with its exit code, on both streams. */
const { CLI_HOST_MARK: mark = '', CLI_HOST_COMMANDS: given } = process.env
// Each command adds its own exit listeners.
for (const emitter of [process, process.stdout, process.stderr]) emitter.setMaxListeners(0)

async function run({ args, env, cwd }: HostedCommand): Promise<void> {
  process.exitCode = undefined
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  await runCommandLine([process.execPath, 'mailroom', ...args])
  const end = `${mark} ${process.exitCode ?? 0}\n`
  process.stdout.write(end)
  process.stderr.write(end)
}

if (given === undefined) process.on('message', (command: HostedCommand) => void run(command))
else for (const command of JSON.parse(given) as HostedCommand[]) await run(command)
