// A process of its own as a guarded worker, for input that would exhaust the memory of this one. It has no environment,
// so no secret, may read nothing but the program, and writes and starts nothing.

import { fork, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { WorkerHost } from './guarded-worker.ts'
import { cpuMsOf, watchMemory } from './process-usage.ts'

/** Of the package with this file: the program is in it and beside it. */
const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url))
/** Octets that one message of the channel holds, so that writing it takes little time. */
const PIECE_BYTES = 256 * 1024

/** What a request with octets is sent as: its octets in pieces, then the rest of it. */
export type PieceMessage = { readonly kind: 'piece'; readonly piece: Uint8Array }

/** `heapMib`: its JavaScript heap; `memoryMib`: all its memory, which is known on Linux alone. */
export function openProcessHost<Request extends { readonly content: Uint8Array }>(
  entry: URL,
  { heapMib, memoryMib }: { heapMib: number; memoryMib: number },
): WorkerHost<Request> {
  const child = fork(fileURLToPath(entry), [], {
    execArgv: [
      `--max-old-space-size=${heapMib}`,
      '--permission',
      `--allow-fs-read=${ROOT}packages/`,
      `--allow-fs-read=${ROOT}node_modules/`,
      `--allow-fs-read=${ROOT}package.json`,
      '--disable-warning=ExperimentalWarning',
      '--disable-warning=SecurityWarning',
    ],
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const { pid } = child
  // Everything else of the service goes first.
  if (pid !== undefined)
    ignoreFailure(() => setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL))
  let end: (cause: unknown) => void = () => {}
  let endWatch = () => {}
  const endGuard = pid === undefined ? () => {} : guardProcess(pid)
  const stop = (cause: unknown) => {
    endWatch()
    endGuard()
    end(cause)
    child.kill('SIGKILL')
  }
  return {
    listen({ onMessage, onEnd }) {
      end = onEnd
      child.on('message', onMessage)
      child.on('error', stop)
      child.on('exit', (code, signal) => stop(signal ?? `exit ${code}`))
    },
    async post({ content, ...request }) {
      for (let start = 0; start < content.length; start += PIECE_BYTES) {
        const piece = content.subarray(start, start + PIECE_BYTES)
        if (!(await send(child, { kind: 'piece', piece } satisfies PieceMessage))) return
      }
      await send(child, request)
    },
    cpuMs: () => cpuMsOf(pid),
    hold(isHeld) {
      endWatch()
      if (!isHeld) {
        child.unref()
        child.channel?.unref()
        return
      }
      child.ref()
      child.channel?.ref()
      endWatch = watchMemory(pid, { memoryMib, onExceeded: () => stop(MEMORY_EXCEEDED) })
    },
    terminate: () => stop('closed'),
  }
}

/**
 * Kills the process once this one is gone: while it reads a file it does not notice that, and nobody bounds its time and
 * memory any more. A shell waits for the end of a pipe, which the kernel closes. Returns how to end the shell.
 */
function guardProcess(pid: number): () => void {
  const guard = spawn('/bin/sh', ['-c', 'read -r _; kill -KILL "$0"', String(pid)], {
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // A machine without a shell has no guard.
  guard.on('error', () => {})
  guard.stdin.on('error', () => {})
  guard.unref()
  ;(guard.stdin as Socket).unref()
  return () => void guard.kill('SIGKILL')
}

/** The cause of the end of a process that needed too much memory. */
export const MEMORY_EXCEEDED = 'memory'

/** False once the process has ended. */
function send(child: ReturnType<typeof fork>, message: object): Promise<boolean> {
  return new Promise((resolve) => {
    if (!child.connected) resolve(false)
    else child.send(message, (error) => resolve(error === null))
  })
}

function ignoreFailure(run: () => void): void {
  try {
    run()
  } catch {
    // Its priority is a courtesy.
  }
}
