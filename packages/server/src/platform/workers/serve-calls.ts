import { parentPort } from 'node:worker_threads'
import { WORKER_READY } from './guarded-worker.ts'
import type { Call } from './worker-pool.ts'

type Functions = Readonly<Record<string, (...args: never[]) => unknown>>

/** Answers the calls of a pool in its thread, one at a time. */
export function serveCalls(functions: Functions): void {
  const port = parentPort
  if (port === null) throw new Error('This module is started as a worker thread.')
  port.on('message', async ({ name, args }: Call) => {
    const answer = await functions[name]?.(...(args as never[]))
    // Freed immediately, because an idle thread collects no garbage.
    for (const arg of args) if (arg instanceof Uint8Array) (arg.buffer as ArrayBuffer).transfer(0)
    port.postMessage(answer, contentsOf(answer))
  })
  port.postMessage(WORKER_READY)
}

/** The memory of attachments is moved instead of copied. */
function contentsOf(answer: unknown): ArrayBuffer[] {
  return [answer].flat().flatMap((one) => {
    const { content } = (one ?? {}) as { content?: unknown }
    return content instanceof Uint8Array ? [content.buffer as ArrayBuffer] : []
  })
}
