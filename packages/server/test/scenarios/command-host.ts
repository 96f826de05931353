// Commands of the program, run one after the other in one lasting process, because loading the program costs more
// than most of them do. A command that ends the process is followed by a new process.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'

export type HostedCommand = {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export type CommandEnd = {
  code: number | null
  /** All output, unchanged. */
  output: string
  stdout: string
  stderr: string
}

const HOST = fileURLToPath(import.meta.resolve('#test/scenarios/hosted-commands.ts'))

export class CommandHost {
  readonly #mark = randomUUID()
  #child: ChildProcess | null = null
  #last: Promise<unknown> = Promise.resolve()

  /** With only these settings. */
  run(command: HostedCommand): Promise<CommandEnd> {
    const ended = this.#last.then(() => this.#runNext(command))
    this.#last = ended.catch(() => {})
    return ended
  }

  async #runNext(command: HostedCommand): Promise<CommandEnd> {
    this.#child ??= this.#start()
    const child = this.#child
    setKeepsAlive(child, true)
    try {
      return await this.#collect(child, command)
    } finally {
      setKeepsAlive(child, false)
      for (const stream of [child.stdout, child.stderr]) stream?.removeAllListeners('data')
      child.removeAllListeners('close')
    }
  }

  #collect(child: ChildProcess, command: HostedCommand): Promise<CommandEnd> {
    return new Promise((resolve) => {
      const end = new RegExp(`${this.#mark} (\\d+)\\n`, 'g')
      const texts = { output: '', stdout: '', stderr: '' }
      const take = (name: 'stdout' | 'stderr', text: string) => {
        texts.output += text
        texts[name] += text
        const ends = [...texts.output.matchAll(end)]
        if (ends.length < 2) return
        const [output = '', stdout = '', stderr = ''] = [
          texts.output,
          texts.stdout,
          texts.stderr,
        ].map((text) => text.replaceAll(end, ''))
        resolve({ code: Number(ends[0]?.[1]), output, stdout, stderr })
      }
      child.stdout?.on('data', (text: string) => take('stdout', text))
      child.stderr?.on('data', (text: string) => take('stderr', text))
      child.once('close', (code) => {
        this.#child = null
        resolve({ code, ...texts })
      })
      child.send(command)
    })
  }

  #start(): ChildProcess {
    const { NODE_COMPILE_CACHE = '', PATH = '' } = process.env
    const child = spawn(process.execPath, [HOST], {
      // Not in the checkout, whose `.env` would be read.
      cwd: tmpdir(),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { PATH, NODE_COMPILE_CACHE, COMMAND_HOST_MARK: this.#mark },
    })
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8')
    return child
  }
}

/** Shared by all tests of this process: each command is given its settings. */
export const sharedCommands = new CommandHost()

type Referable = { ref(): unknown; unref(): unknown }

/** Between commands the child does not keep the process of the tests alive, and ends with it. */
function setKeepsAlive(child: ChildProcess, keeps: boolean): void {
  for (const handle of [child, child.channel, child.stdout, child.stderr]) {
    if (!isReferable(handle)) continue
    if (keeps) handle.ref()
    else handle.unref()
  }
}

function isReferable(handle: unknown): handle is Referable {
  return typeof handle === 'object' && handle !== null && 'ref' in handle && 'unref' in handle
}
