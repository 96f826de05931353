// A guarded worker in a process without environment variables, and therefore without secrets. It
// can read only the program, and cannot write files or start processes.

import { fork, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { WorkerHost } from './guarded-worker.ts'
import { cpuMsOf, watchMemory } from './process-usage.ts'

/** The root of the package, which holds the program and its dependencies. */
const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url))
/** Small messages keep each write to the channel short. */
const PIECE_BYTES = 256 * 1024

/** A request is sent as pieces of its content, then the rest. */
export type PieceMessage = { readonly kind: 'piece'; readonly piece: Uint8Array }

/** `heapMib` bounds the JavaScript heap, `memoryMib` all memory (on Linux only). */
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
  // The service itself has priority.
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

/** Kills the process once this process has ended. A shell waits until the kernel closes a pipe. */
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

export const MEMORY_EXCEEDED = 'memory'

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
    // A failure is ignored, because the lower priority is only a courtesy.
  }
}
